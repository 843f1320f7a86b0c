#include "versions.h"

#include <string.h>

#include <pjrt_c_api.h>

#include "fake_extension.h"

// Measured from the STRUCT_SIZE constants of pjrt_c_api.h in versions 0.31, 0.54, 0.55, 0.57, 0.60,
// 0.67, 0.68, 0.75, 0.78, 0.81, 0.90, 0.97, 0.98, 0.103, 0.106, 0.110, 0.113 and 0.114. The API's
// change log gives the exact version between two of these. If the log is silent (0.69, 0.107,
// 0.111), this table uses the earliest possible version.
static const struct {
    const char *name;
    int since;
    size_t declared;
    size_t real; // 0: equals `declared`
} steps[] = {
    {"PJRT_Plugin_Attributes", 0, 24, 32},
    {"PJRT_Plugin_Attributes", 69, 32, 0},
    {"PJRT_Client_Create", 0, 72, 0},
    {"PJRT_Client_Create", 61, 88, 0},
    {"PJRT_Client_CreateViewOfDeviceBuffer", 0, 104, 0},
    {"PJRT_Client_CreateViewOfDeviceBuffer", 66, 112, 0},
    {"PJRT_Client_CreateErrorBuffer", 82, 96, 0},
    {"PJRT_Client_CreateErrorBuffer", 103, 112, 0},
    {"PJRT_Device_AddressableMemories", 0, 32, 40},
    {"PJRT_Device_AddressableMemories", 46, 40, 0},
    {"PJRT_Device_MemoryStats", 0, 185, 0},
    {"PJRT_Device_MemoryStats", 111, 201, 0},
    {"PJRT_Device_PoisonExecution", 85, 49, 0},
    {"PJRT_Device_PoisonExecution", 100, 72, 0},
    {"PJRT_Executable_GetCompiledMemoryStats", 40, 64, 0},
    {"PJRT_Executable_GetCompiledMemoryStats", 43, 104, 0},
    {"PJRT_Executable_GetCompiledMemoryStats", 72, 112, 0},
    {"PJRT_Executable_GetCompiledMemoryStats", 90, 120, 0},
    {"PJRT_Executable_GetCompiledMemoryStats", 104, 144, 0},
    {"PJRT_Executable_DeserializeAndLoad", 0, 48, 0},
    {"PJRT_Executable_DeserializeAndLoad", 71, 64, 0},
    {"PJRT_Executable_DeserializeAndLoad", 111, 72, 0},
    {"PJRT_ExecuteOptions", 0, 52, 72},
    {"PJRT_ExecuteOptions", 46, 72, 0},
    {"PJRT_ExecuteOptions", 64, 80, 0},
    {"PJRT_ExecuteOptions", 76, 88, 0},
    {"PJRT_ExecuteOptions", 78, 112, 0},
    {"PJRT_ExecuteOptions", 97, 120, 0},
    {"PJRT_ExecuteOptions", 107, 121, 0},
    {"PJRT_ExecuteOptions", 111, 144, 0},
};

size_t pjrt_struct_declared(const char *name, int minor, size_t header_size) {
    size_t size = header_size;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (steps[i].since <= minor && strcmp(steps[i].name, name) == 0)
            size = steps[i].declared;
    return size;
}

size_t pjrt_struct_real(const char *name, int minor, size_t header_size) {
    size_t size = header_size;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (steps[i].since <= minor && strcmp(steps[i].name, name) == 0)
            size = steps[i].real ? steps[i].real : steps[i].declared;
    return size;
}

// The end of the table from each version on. Sources: as above, and the table of a plugin of 0.117.
static const struct {
    int minor;
    size_t size;
} ends[] = {
#define END(name) offsetof(PJRT_Api, name) + sizeof(void *)
    {40, END(PJRT_Executable_GetCompiledMemoryStats)},
    {48, END(PJRT_Memory_Kind_Id)},
    {52, END(PJRT_ExecuteContext_Destroy)},
    {56, END(PJRT_Buffer_CopyRawToHost)},
    {60, END(PJRT_Client_CreateBuffersForAsyncHostToDevice)},
    {62, END(PJRT_AsyncHostToDeviceTransferManager_AddMetadata)},
    {67, END(PJRT_Client_DmaUnmap)},
    {69, END(PJRT_Client_CreateUninitializedBuffer)},
    {73, END(PJRT_Client_UpdateGlobalProcessInfo)},
    {75, END(PJRT_TopologyDescription_Deserialize)},
    {77, END(PJRT_Client_FulfillAliasBuffer)},
    {79, END(PJRT_LoadedExecutable_GetDeviceAssignment)},
#undef END
#define END(slots) offsetof(fake_long_table, extra) + (slots) * sizeof(void *)
    {82, END(1)},
    {83, END(2)},
    {84, END(3)},
    {85, END(4)},
    {86, END(6)},
    {87, END(7)},
    {88, END(8)},
    {89, END(10)},
    {92, END(11)},
    {95, END(12)},
    {96, END(13)},
    {98, END(14)},
    {99, END(15)},
    {101, END(16)},
    {102, END(17)},
    {106, END(18)},
    {110, END(20)},
#undef END
};

size_t pjrt_table_real(int minor) {
    size_t size = 0;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0] && ends[i].minor <= minor; i++)
        size = ends[i].size;
    return size;
}

// Before 0.57, struct_size was not increased when entries were added.
size_t pjrt_table_declared(int minor) {
    if (minor < 57)
        return offsetof(PJRT_Api, PJRT_Client_TopologyDescription) + sizeof(void *);
    return pjrt_table_real(minor);
}
