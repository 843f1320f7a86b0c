// The bridge between API versions, with entries that check sizes as a plugin does. Also compares
// the table of structs with the header.
#include "support/cmocka.h"

#include <limits.h>
#include <stdio.h>

#include "pjrt/bridge_explain.h"
#include "pjrt/error.h"

// A plugin whose entries require at least `demanded` bytes, or exactly that many if `strict`.
static struct {
    const char *name;
    size_t demanded;
    bool strict;
    size_t calls, refusals;
    unsigned char seen[RK_STRUCT_MAX_BYTES]; // the last accepted struct
} plugin;

// A plugin's error, which is opaque to the bridge.
typedef struct plugin_error {
    const void *something;
    char message[200];
} plugin_error;

static PJRT_Error *refusal_of(size_t expected, size_t got) {
    plugin_error *error = test_calloc(1, sizeof *error);
    (void)snprintf(error->message, sizeof error->message,
                   "Unexpected %s size: expected %zu, got %zu. Check installed software versions.",
                   plugin.name, expected, got);
    return (PJRT_Error *)(void *)error;
}

static void error_message(PJRT_Error_Message_Args *args) {
    const plugin_error *error = (const plugin_error *)(const void *)args->error;
    args->message = error->message;
    args->message_size = strlen(error->message);
}

static void error_destroy(PJRT_Error_Destroy_Args *args) {
    test_free(args->error);
}

static PJRT_Error *entry(void *args) {
    size_t got = *(const size_t *)args;
    plugin.calls++;
    if (got < plugin.demanded || (plugin.strict && got > plugin.demanded)) {
        plugin.refusals++;
        return refusal_of(plugin.demanded, got);
    }
    memset(plugin.seen, 0, sizeof plugin.seen);
    memcpy(plugin.seen, args, got);
    memset((unsigned char *)args + 24, 0x77, plugin.demanded - 24); // the results
    return NULL;
}

static rk_bridge bridge;

static void open_bridge(int minor, const char *name, size_t demanded, bool strict) {
    static PJRT_Api api;
    api = (PJRT_Api){.struct_size = sizeof api,
                     .pjrt_api_version = {.minor_version = minor},
                     .PJRT_Error_Message = error_message,
                     .PJRT_Error_Destroy = error_destroy};
    memset(&plugin, 0, sizeof plugin);
    plugin.name = name;
    plugin.demanded = demanded;
    plugin.strict = strict;
    rk_bridge_open(&bridge, &api);
}

// A caller's struct, followed by marker bytes.
typedef struct callers {
    size_t struct_size;
    unsigned char bytes[RK_STRUCT_MAX_BYTES];
} callers;

static callers struct_of(size_t size) {
    callers args = {.struct_size = size};
    memset(args.bytes, 0x11, size - sizeof(size_t));
    memset(args.bytes + size - sizeof(size_t), 0xc5, 16);
    return args;
}

static void check_callers(const callers *args, size_t size, size_t written) {
    assert_int_equal(args->struct_size, size);
    const unsigned char *bytes = (const unsigned char *)args;
    for (size_t i = 24; i < written; i++)
        assert_int_equal(bytes[i], 0x77);
    for (size_t i = size; i < size + 16; i++)
        assert_int_equal(bytes[i], 0xc5);
}

static void a_struct_that_fits_is_passed_on(void **state) {
    (void)state;
    open_bridge(81, "PJRT_Client_Create_Args", 88, false);
    callers args = struct_of(96); // longer than the plugin's struct
    assert_null(rk_bridge_call(&bridge, RK_STRUCT_CLIENT_CREATE, entry, &args));
    assert_int_equal(plugin.calls, 1);
    check_callers(&args, 96, 88);
}

static void a_short_struct_is_lengthened_at_once(void **state) {
    (void)state;
    open_bridge(81, "PJRT_Client_Create_Args", 88, false);
    callers args = struct_of(72);
    memset((unsigned char *)&args + offsetof(PJRT_Client_Create_Args, kv_get_callback), 0,
           sizeof(void *));
    assert_null(rk_bridge_call(&bridge, RK_STRUCT_CLIENT_CREATE, entry, &args));
    assert_int_equal(plugin.calls, 1); // the API version determines the size
    check_callers(&args, 72, 72);
    assert_int_equal(*(size_t *)(void *)plugin.seen, 88);
    for (size_t i = 8; i < 88; i++)
        assert_int_equal(plugin.seen[i], i < 72 && i / 8 != 4 ? 0x11 : 0);
}

static int complaints;

static PJRT_Error *complain(PJRT_Error_Code code, const char *message, size_t size) {
    assert_int_equal(code, PJRT_Error_Code_UNIMPLEMENTED);
    assert_int_equal(strlen(message), size);
    assert_non_null(strstr(message, "PJRT_KeyValueTryGetCallback"));
    complaints++;
    return NULL;
}

// JAX 0.4.38 passes a key-value store in every job, without the callback that 0.61 added.
static void an_older_key_value_store_gets_a_substitute(void **state) {
    (void)state;
    open_bridge(81, "PJRT_Client_Create_Args", 88, false);
    callers args = struct_of(72); // has a key-value store
    assert_null(rk_bridge_call(&bridge, RK_STRUCT_CLIENT_CREATE, entry, &args));
    check_callers(&args, 72, 72);
    PJRT_KeyValueTryGetCallback try_get = NULL;
    memcpy(&try_get, plugin.seen + offsetof(PJRT_Client_Create_Args, kv_try_get_callback),
           sizeof try_get);
    assert_non_null(try_get);
    PJRT_CallbackError on_error = complain;
    PJRT_KeyValueTryGetCallback_Args asked = {.struct_size = sizeof asked,
                                              .callback_error = &on_error};
    assert_null(try_get(&asked));
    assert_int_equal(complaints, 1);
}

// A framework that has the field sets it itself.
static void a_newer_key_value_store_is_left_alone(void **state) {
    (void)state;
    open_bridge(81, "PJRT_Client_Create_Args", 88, true);
    callers args = struct_of(88);
    memset((unsigned char *)&args + 72, 0, 16);
    assert_null(rk_bridge_call(&bridge, RK_STRUCT_CLIENT_CREATE, entry, &args));
    for (size_t i = 72; i < 88; i++)
        assert_int_equal(plugin.seen[i], 0);
}

static void what_no_table_says_is_learned(void **state) {
    (void)state;
    open_bridge(130, "PJRT_Buffer_ToHostBuffer", 200, false); // some messages omit "_Args"
    for (int i = 0; i < 3; i++) {
        callers args = struct_of(56);
        assert_null(rk_bridge_call(&bridge, RK_STRUCT_BUFFER_TO_HOST_BUFFER, entry, &args));
        check_callers(&args, 56, 56);
    }
    assert_int_equal(plugin.refusals, 1);
    assert_int_equal(plugin.calls, 4);
}

static void a_long_struct_is_shortened_where_it_must_be(void **state) {
    (void)state;
    open_bridge(60, "PJRT_Client_Create_Args", 72, true);
    for (int i = 0; i < 2; i++) {
        callers args = struct_of(88);
        memset((unsigned char *)&args + 72, 0, 16);
        assert_null(rk_bridge_call(&bridge, RK_STRUCT_CLIENT_CREATE, entry, &args));
        assert_int_equal(args.struct_size, 88);
        assert_int_equal(((unsigned char *)&args)[71], 0x77);
        assert_int_equal(((unsigned char *)&args)[72], 0);
    }
    assert_int_equal(plugin.refusals, 1);
}

static void what_cannot_be_said_to_it_is_named(void **state) {
    (void)state;
    open_bridge(60, "PJRT_Client_Create_Args", 72, true);
    callers args = struct_of(88);
    PJRT_Error *error = rk_bridge_call(&bridge, RK_STRUCT_CLIENT_CREATE, entry, &args);
    assert_true(rk_pjrt_error_is_ours(error));
    const char *message;
    size_t size;
    rk_pjrt_error_message(error, &message, &size);
    assert_non_null(strstr(message, "plugin has PJRT API 0.60"));
    assert_non_null(strstr(message, "framework has 0.61 or newer"));
    rk_pjrt_error_destroy(error);
    check_callers(&args, 88, 24);
}

static void results_may_be_longer(void **state) {
    (void)state;
    open_bridge(60, "PJRT_Executable_GetCompiledMemoryStats_Args", 104, true);
    callers args = struct_of(144); // the field after the end is never read
    assert_null(
        rk_bridge_call(&bridge, RK_STRUCT_EXECUTABLE_GET_COMPILED_MEMORY_STATS, entry, &args));
    check_callers(&args, 144, 104);
}

static void a_field_has_its_default(void **state) {
    (void)state;
    open_bridge(113, "PJRT_ExecuteOptions", 144, false);
    callers options = struct_of(112);
    assert_null(rk_bridge_call(&bridge, RK_STRUCT_EXECUTE_OPTIONS, entry, &options));
    for (size_t i = 112; i < 144; i++)
        assert_int_equal(plugin.seen[i], i == 120);
}

static void a_plugin_that_cannot_be_pleased_has_the_last_word(void **state) {
    (void)state;
    open_bridge(81, "PJRT_Client_Create_Args", RK_STRUCT_MAX_BYTES + 8, false);
    callers args = struct_of(88);
    PJRT_Error *error = rk_bridge_call(&bridge, RK_STRUCT_CLIENT_CREATE, entry, &args);
    assert_non_null(error);
    assert_int_equal(plugin.calls, 1);
    error_destroy(&(PJRT_Error_Destroy_Args){.error = error});
    // A refusal of another struct is returned unchanged.
    open_bridge(81, "PJRT_NamedValue", 120, false);
    error = rk_bridge_call(&bridge, RK_STRUCT_CLIENT_CREATE, entry, &args);
    assert_non_null(error);
    assert_int_equal(plugin.calls, 1);
    error_destroy(&(PJRT_Error_Destroy_Args){.error = error});
}

static void refusals_are_read(void **state) {
    (void)state;
    rk_refusal refusal;
    const char *text = "Unexpected PJRT_ExecuteOptions size: expected 112, got 80. The plugin";
    assert_true(rk_refusal_parse(text, strlen(text), &refusal));
    assert_int_equal(refusal.id, RK_STRUCT_EXECUTE_OPTIONS);
    assert_int_equal(refusal.expected, 112);
    assert_int_equal(refusal.got, 80);
    for (size_t len = 0; len < strlen("Unexpected PJRT_ExecuteOptions size: expected 112, got ");
         len++)
        assert_false(rk_refusal_parse(text, len, &refusal));
    static const char *const others[] = {
        "",
        "Unexpected end of input",
        "Unexpected X size: expected , got 1",
        "Unexpected X size: expected 1, got ",
        "Unexpected X size: expected 99999999999999999999, got 1",
        "something Unexpected X size: expected 1, got 2",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(others); i++)
        assert_false(rk_refusal_parse(others[i], strlen(others[i]), &refusal));
    assert_false(rk_refusal_parse(NULL, 0, &refusal));
    static const char unknown[] = "Unexpected PJRT_New_Args size: expected 48, got 40";
    assert_true(rk_refusal_parse(unknown, strlen(unknown), &refusal));
    assert_int_equal(refusal.id, RK_STRUCT_NONE);
}

static void refusals_are_explained(void **state) {
    (void)state;
    open_bridge(81, "", 0, false);
    static const char text[] = "Unexpected PJRT_New_Args size: expected 48, got 40";
    const char *explained = rk_bridge_explain(&bridge, text, strlen(text));
    assert_non_null(explained);
    assert_memory_equal(explained, text, strlen(text));
    assert_non_null(strstr(explained, "framework has PJRT API 0.80 or older, this plugin 0.81"));
    assert_ptr_equal(rk_bridge_explain(&bridge, text, strlen(text)), explained); // stored once
    static const char options[] = "Unexpected PJRT_ExecuteOptions size: expected 112, got 80";
    explained = rk_bridge_explain(&bridge, options, strlen(options));
    assert_non_null(strstr(explained, "0.64 to 0.75"));
    assert_null(rk_bridge_explain(&bridge, "no", 2));
    for (int i = 0; i < 200; i++) { // more than the bridge stores
        char one[80];
        int len = snprintf(one, sizeof one, "Unexpected PJRT_%d_Args size: expected 48, got 40", i);
        explained = rk_bridge_explain(&bridge, one, (size_t)len);
        assert_true(!explained || strncmp(explained, one, (size_t)len) == 0);
    }
}

static void the_table_agrees_with_the_header(void **state) {
    (void)state;
    static const struct {
        rk_struct_id id;
        size_t size;
    } header[] = {
        {RK_STRUCT_PLUGIN_ATTRIBUTES, PJRT_Plugin_Attributes_Args_STRUCT_SIZE},
        {RK_STRUCT_CLIENT_CREATE, PJRT_Client_Create_Args_STRUCT_SIZE},
        {RK_STRUCT_CLIENT_DESTROY, PJRT_Client_Destroy_Args_STRUCT_SIZE},
        {RK_STRUCT_CLIENT_COMPILE, PJRT_Client_Compile_Args_STRUCT_SIZE},
        {RK_STRUCT_CLIENT_BUFFER_FROM_HOST_BUFFER,
         PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE},
        {RK_STRUCT_CLIENT_CREATE_VIEW_OF_DEVICE_BUFFER,
         PJRT_Client_CreateViewOfDeviceBuffer_Args_STRUCT_SIZE},
        {RK_STRUCT_DEVICE_ADDRESSABLE_MEMORIES, PJRT_Device_AddressableMemories_Args_STRUCT_SIZE},
        {RK_STRUCT_DEVICE_MEMORY_STATS, PJRT_Device_MemoryStats_Args_STRUCT_SIZE},
        {RK_STRUCT_EXECUTABLE_GET_COMPILED_MEMORY_STATS,
         PJRT_Executable_GetCompiledMemoryStats_Args_STRUCT_SIZE},
        {RK_STRUCT_EXECUTABLE_DESERIALIZE_AND_LOAD,
         PJRT_Executable_DeserializeAndLoad_Args_STRUCT_SIZE},
        {RK_STRUCT_LOADED_EXECUTABLE_DESTROY, PJRT_LoadedExecutable_Destroy_Args_STRUCT_SIZE},
        {RK_STRUCT_LOADED_EXECUTABLE_DELETE, PJRT_LoadedExecutable_Delete_Args_STRUCT_SIZE},
        {RK_STRUCT_LOADED_EXECUTABLE_EXECUTE, PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE},
        {RK_STRUCT_EXECUTE_OPTIONS, PJRT_ExecuteOptions_STRUCT_SIZE},
        {RK_STRUCT_BUFFER_TO_HOST_BUFFER, PJRT_Buffer_ToHostBuffer_Args_STRUCT_SIZE},
        {RK_STRUCT_BUFFER_COPY_RAW_TO_HOST, PJRT_Buffer_CopyRawToHost_Args_STRUCT_SIZE},
        {RK_STRUCT_TRANSFER_DATA,
         PJRT_AsyncHostToDeviceTransferManager_TransferData_Args_STRUCT_SIZE},
    };
    if (PJRT_API_MINOR != 81) // the build uses a header of another version
        skip();
    for (size_t i = 0; i < RK_ARRAY_LEN(header); i++) {
        assert_int_equal(rk_struct_size_demanded(header[i].id, PJRT_API_MINOR), header[i].size);
        rk_minor_range range = rk_struct_minors(header[i].id, header[i].size);
        assert_true(range.from <= PJRT_API_MINOR && range.to >= PJRT_API_MINOR);
    }
    assert_int_equal(rk_struct_minors(RK_STRUCT_PLUGIN_ATTRIBUTES, 24).to, INT_MAX);
    for (int id = 0; id < RK_STRUCT_COUNT; id++) {
        const rk_struct_facts *facts = &rk_structs[id];
        assert_non_null(facts->name);
        assert_int_equal(rk_struct_named(facts->name, strlen(facts->name)), id);
        for (int i = 1; i < RK_STRUCT_STEPS && facts->steps[i].size; i++) {
            assert_true(facts->steps[i].size > facts->steps[i - 1].size);
            assert_true(facts->steps[i].since_minor > facts->steps[i - 1].since_minor);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_struct_that_fits_is_passed_on),
        cmocka_unit_test(a_short_struct_is_lengthened_at_once),
        cmocka_unit_test(an_older_key_value_store_gets_a_substitute),
        cmocka_unit_test(a_newer_key_value_store_is_left_alone),
        cmocka_unit_test(what_no_table_says_is_learned),
        cmocka_unit_test(a_long_struct_is_shortened_where_it_must_be),
        cmocka_unit_test(what_cannot_be_said_to_it_is_named),
        cmocka_unit_test(results_may_be_longer),
        cmocka_unit_test(a_field_has_its_default),
        cmocka_unit_test(a_plugin_that_cannot_be_pleased_has_the_last_word),
        cmocka_unit_test(refusals_are_read),
        cmocka_unit_test(refusals_are_explained),
        cmocka_unit_test(the_table_agrees_with_the_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
