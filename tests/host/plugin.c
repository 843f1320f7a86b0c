// Words that open the plugin and inspect its table.
#include "host/host.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "fake_plugin/entries.h"
#include "fake_plugin/fake_extension.h"

typedef const PJRT_Api *get_pjrt_api_fn(void);

// dlsym returns an object pointer. ISO C has no cast from it to a function pointer.
static get_pjrt_api_fn *find_get_pjrt_api(void *handle) {
    void *symbol = dlsym(handle, "GetPjrtApi");
    get_pjrt_api_fn *function = NULL;
    memcpy(&function, &symbol, sizeof function);
    return function;
}

void host_lib(host *h, const char *value) {
    host_line line;
    host_begin(&line, h, "lib");
    h->path = value;
    h->handle = dlopen(value, RTLD_NOW | RTLD_LOCAL);
    if (!h->handle) {
        host_end_failed(&line, h, dlerror());
        return;
    }
    get_pjrt_api_fn *get_pjrt_api = find_get_pjrt_api(h->handle);
    h->api = get_pjrt_api ? get_pjrt_api() : NULL;
    if (!get_pjrt_api)
        host_end_failed(&line, h, "no symbol GetPjrtApi");
    else if (!h->api)
        host_end_failed(&line, h, "GetPjrtApi gave NULL");
    else
        (void)host_end(&line, h, NULL);
}

// Looks up the table a second time. A framework may do this and must get the same table.
void host_again(host *h, const char *value) {
    (void)value;
    host_line line;
    host_begin(&line, h, "again");
    get_pjrt_api_fn *get_pjrt_api = find_get_pjrt_api(h->handle);
    const PJRT_Api *api = get_pjrt_api ? get_pjrt_api() : NULL;
    rk_json_member_bool(&line.json, "same", api == h->api);
    (void)host_end(&line, h, NULL);
}

void host_dlclose(host *h, const char *value) {
    (void)value;
    host_line line;
    host_begin(&line, h, "dlclose");
    rk_json_member_bool(&line.json, "closed", dlclose(h->handle) == 0);
    h->handle = NULL;
    h->api = NULL;
    (void)host_end(&line, h, NULL);
}

void host_init(host *h, const char *value) {
    (void)value;
    host_line line;
    host_begin(&line, h, "init");
    PJRT_Plugin_Initialize_Args args = HOST_NO_ARGS(PJRT_Plugin_Initialize_Args);
    (void)host_end(&line, h, h->api->PJRT_Plugin_Initialize(&args));
}

static void add_named_value(rk_json *json, const PJRT_NamedValue *value) {
    char name[128] = "";
    if (value->name_size < sizeof name)
        memcpy(name, value->name, value->name_size);
    rk_json_key(json, name);
    switch (value->type) {
    case PJRT_NamedValue_kString:
        rk_json_text(json, rk_span_of(value->string_value, value->value_size));
        break;
    case PJRT_NamedValue_kInt64:
        rk_json_int(json, value->int64_value);
        break;
    case PJRT_NamedValue_kInt64List:
        rk_json_begin_array(json);
        for (size_t i = 0; i < value->value_size; i++)
            rk_json_int(json, value->int64_array_value[i]);
        rk_json_end_array(json);
        break;
    case PJRT_NamedValue_kFloat:
        rk_json_double(json, (double)value->float_value);
        break;
    case PJRT_NamedValue_kBool:
        rk_json_bool(json, value->bool_value);
        break;
    }
}

void host_attributes(host *h, const char *value) {
    (void)value;
    host_line line;
    host_begin(&line, h, "attributes");
    PJRT_Plugin_Attributes_Args args = HOST_NO_ARGS(PJRT_Plugin_Attributes_Args);
    PJRT_Error *error = HOST_CALL(h, PJRT_Plugin_Attributes, &args);
    if (!error) {
        rk_json_key(&line.json, "attributes");
        rk_json_begin_object(&line.json);
        for (size_t i = 0; i < args.num_attributes; i++)
            add_named_value(&line.json, &args.attributes[i]);
        rk_json_end_object(&line.json);
    }
    (void)host_end(&line, h, error);
}

// The table.

static const struct {
    const char *name;
    size_t offset;
} entries[] = {
#define HOST_ENTRY(name) {#name, offsetof(PJRT_Api, name)},
    FAKE_PJRT_ENTRIES(HOST_ENTRY)
#undef HOST_ENTRY
};

// The fake plugin's own extension node; NULL if this is another plugin or its chain was changed.
static const fake_extension *find_fake_extension(const PJRT_Api *api) {
    const PJRT_Extension_Base *node = api->extension_start;
    for (; node; node = node->next) {
        const fake_extension *found = (const fake_extension *)node;
        if (node->type == PJRT_Extension_Type_Example && node->struct_size == sizeof *found &&
            found->magic == FAKE_EXTENSION_MAGIC)
            return found;
    }
    return NULL;
}

static const char *slot_of(const PJRT_Api *api, size_t offset) {
    return (const char *)api + offset;
}

static void add_entries(rk_json *json, const PJRT_Api *api, const PJRT_Api *bare) {
    static const void *const absent = NULL;
    rk_json_key(json, "absent");
    rk_json_begin_array(json);
    for (size_t i = 0; i < RK_ARRAY_LEN(entries); i++) {
        if (entries[i].offset + sizeof absent > api->struct_size ||
            memcmp(slot_of(api, entries[i].offset), &absent, sizeof absent) == 0)
            rk_json_string(json, entries[i].name);
    }
    rk_json_end_array(json);
    rk_json_key(json, "replaced");
    rk_json_begin_array(json);
    for (size_t i = 0; bare && i < RK_ARRAY_LEN(entries); i++) {
        size_t offset = entries[i].offset;
        if (offset + sizeof absent <= api->struct_size &&
            memcmp(slot_of(api, offset), slot_of(bare, offset), sizeof absent) != 0)
            rk_json_string(json, entries[i].name);
    }
    rk_json_end_array(json);
}

static void add_extra_slots(rk_json *json, const PJRT_Api *api, const PJRT_Api *bare) {
    rk_json_key(json, "replaced_extra");
    rk_json_begin_array(json);
    for (size_t i = 0; bare && i < FAKE_EXTRA_SLOTS; i++) {
        size_t offset = offsetof(fake_long_table, extra) + i * sizeof(void *);
        if (offset + sizeof(void *) <= api->struct_size &&
            memcmp(slot_of(api, offset), slot_of(bare, offset), sizeof(void *)) != 0)
            rk_json_uint(json, i);
    }
    rk_json_end_array(json);
}

// Adds [type, struct_size] for each node.
static void add_extensions(rk_json *json, const PJRT_Api *api) {
    rk_json_key(json, "extensions");
    rk_json_begin_array(json);
    for (const PJRT_Extension_Base *node = api->extension_start; node; node = node->next) {
        rk_json_begin_array(json);
        rk_json_uint(json, (uint64_t)node->type);
        rk_json_uint(json, node->struct_size);
        rk_json_end_array(json);
    }
    rk_json_end_array(json);
}

void host_table(host *h, const char *value) {
    (void)value;
    host_line line;
    host_begin(&line, h, "table");
    const fake_extension *extension = find_fake_extension(h->api);
    const PJRT_Api *bare = extension ? extension->bare_table : NULL;
    rk_json_member_uint(&line.json, "address", (uintptr_t)h->api);
    rk_json_member_uint(&line.json, "struct_size", h->api->struct_size);
    rk_json_member_uint(&line.json, "major", (uint64_t)h->api->pjrt_api_version.major_version);
    rk_json_member_uint(&line.json, "minor", (uint64_t)h->api->pjrt_api_version.minor_version);
    rk_json_member_uint(&line.json, "extension_start", (uintptr_t)h->api->extension_start);
    rk_json_member_bool(&line.json, "fake", bare != NULL);
    if (bare) {
        rk_json_member_bool(&line.json, "is_bare", bare == h->api);
        rk_json_member_uint(&line.json, "bare_struct_size", bare->struct_size);
        rk_json_member_uint(&line.json, "bare_extension_start", (uintptr_t)bare->extension_start);
    }
    add_extensions(&line.json, h->api);
    add_entries(&line.json, h->api, bare);
    add_extra_slots(&line.json, h->api, bare);
    (void)host_end(&line, h, NULL);
}

void host_transform(host *h, const char *value) {
    (void)value;
    host_line line;
    host_begin(&line, h, "transform");
    const PJRT_Extension_Base *node = h->api->extension_start;
    while (node && (int)node->type != FAKE_EXTENSION_XLA_TRANSFORM)
        node = node->next;
    if (node)
        (void)host_end(&line, h,
                       ((const fake_transform *)(const void *)node)->register_transform(NULL));
    else
        host_end_failed(&line, h, "the plugin has no such extension");
}

// Calls a slot after the end of the header's table, as a newer framework would.
void host_extra(host *h, const char *value) {
    host_line line;
    host_begin(&line, h, "extra");
    size_t slot = strtoul(value, NULL, 10);
    size_t offset = offsetof(fake_long_table, extra) + slot * sizeof(void *);
    if (slot >= FAKE_EXTRA_SLOTS || offset + sizeof(void *) > h->api->struct_size) {
        host_end_failed(&line, h, "the table does not reach so far");
        return;
    }
    // The structs of two slots grew between versions. The other slots take fake_extra_args.
    const char *name = slot == FAKE_EXTRA_CREATE_ERROR_BUFFER ? "PJRT_Client_CreateErrorBuffer"
                       : slot == FAKE_EXTRA_POISON_EXECUTION  ? "PJRT_Device_PoisonExecution"
                                                              : "extra_slot";
    fake_extra_args args = {.struct_size = sizeof args, .slot = -1};
    host_entry *entry = ((const fake_long_table *)h->api)->extra[slot];
    PJRT_Error *error = host_call(h, name, entry, &args, sizeof args);
    rk_json_key(&line.json, "slot");
    rk_json_int(&line.json, args.slot);
    (void)host_end(&line, h, error);
}
