#include "pjrt/facts.h"

#include "identity/create_options.h"
#include "pjrt/error.h"
#include "pjrt/extensions.h"
#include "pjrt/named_value.h"

enum { TEXT_MAX_BYTES = 1 << 20 };

void rk_facts_cleanup(rk_facts *facts) {
    rk_buf_cleanup(&facts->attributes);
    rk_buf_cleanup(&facts->topology_fingerprint);
    rk_buf_cleanup(&facts->topology_devices);
    rk_components_cleanup(&facts->create_options);
}

static void add_value(rk_buf *out, const PJRT_NamedValue *value) {
    switch (value->type) {
    case PJRT_NamedValue_kString:
        rk_buf_add(out, value->string_value, value->value_size);
        break;
    case PJRT_NamedValue_kInt64:
        rk_buf_add_format(out, "%lld", (long long)value->int64_value);
        break;
    case PJRT_NamedValue_kInt64List:
        for (size_t i = 0; i < value->value_size; i++)
            rk_buf_add_format(out, "%s%lld", i ? "," : "", (long long)value->int64_array_value[i]);
        break;
    case PJRT_NamedValue_kFloat:
        rk_buf_add_format(out, "%a", (double)value->float_value);
        break;
    case PJRT_NamedValue_kBool:
        rk_buf_add_text(out, value->bool_value ? "true" : "false");
        break;
    }
}

// Appends one line "name=value" per value.
static void add_values(rk_buf *out, const PJRT_NamedValue *values, size_t count) {
    for (; count > 0; count--, values = rk_named_value_next(values)) {
        rk_buf_add(out, values->name, values->name_size);
        rk_buf_add_byte(out, '=');
        add_value(out, values);
        rk_buf_add_byte(out, '\n');
    }
}

rk_err *rk_facts_gather_options(const PJRT_Client_Create_Args *args, rk_facts *out_facts) {
    const PJRT_Extension_Base *extension = rk_extensions_unknown(args->extension_start);
    if (extension)
        return rk_error(RK_UNIMPLEMENTED,
                        "it was created with an extension that rekindle does not know (type %d)",
                        (int)extension->type);
    const PJRT_NamedValue *option = args->create_options;
    for (size_t left = args->num_options; left > 0; left--, option = rk_named_value_next(option)) {
        if ((unsigned)option->type > PJRT_NamedValue_kBool)
            return rk_error(RK_UNIMPLEMENTED, "it was created with an option of an unknown kind");
        RK_AUTO(rk_buf) value = {0};
        add_value(&value, option);
        RK_TRY(rk_buf_status(&value));
        RK_TRY(rk_create_option_add(&out_facts->create_options,
                                    rk_span_of(option->name, option->name_size),
                                    rk_buf_span(&value)));
    }
    out_facts->facts.create_options = &out_facts->create_options;
    return NULL;
}

static void gather_attributes(const PJRT_Api *api, rk_buf *out) {
    if (!RK_PJRT_HAS(api, PJRT_Plugin_Attributes))
        return;
    PJRT_Plugin_Attributes_Args args = {.struct_size = PJRT_Plugin_Attributes_Args_STRUCT_SIZE};
    PJRT_Error *error = api->PJRT_Plugin_Attributes(&args);
    if (error)
        rk_pjrt_error_drop(api, error);
    else
        add_values(out, args.attributes, args.num_attributes);
}

// Appends the first of these that is available: the API's own fingerprint (0.101), or the digest of
// the serialized topology, which the header offers "for use in cache keys".
static void gather_fingerprint(const PJRT_Api *api, const PJRT_TopologyDescription *topology,
                               rk_buf *out) {
    PJRT_Error *error = NULL;
    rk_pjrt_any_fn *fingerprint = rk_pjrt_later(api, RK_PJRT_TOPOLOGY_FINGERPRINT);
    if (fingerprint) {
        rk_pjrt_topology_fingerprint_args print = {.struct_size = sizeof print,
                                                   .topology = topology};
        error = fingerprint(&print);
        if (!error) {
            rk_buf_add_format(out, "%016llx", (unsigned long long)print.fingerprint);
            return;
        }
        rk_pjrt_error_drop(api, error);
    }
    if (!RK_PJRT_HAS(api, PJRT_TopologyDescription_Serialize))
        return;
    PJRT_TopologyDescription_Serialize_Args bytes = {
        .struct_size = PJRT_TopologyDescription_Serialize_Args_STRUCT_SIZE,
        .topology = (PJRT_TopologyDescription *)(uintptr_t)topology}; // the header lacks a const
    error = api->PJRT_TopologyDescription_Serialize(&bytes);
    if (error) {
        rk_pjrt_error_drop(api, error);
        return;
    }
    rk_digest digest;
    rk_digest_of(rk_span_of(bytes.serialized_bytes, bytes.serialized_bytes_size), &digest);
    rk_buf_add_hex(out, rk_digest_span(&digest));
    if (bytes.serialized_topology_deleter)
        bytes.serialized_topology_deleter(bytes.serialized_topology);
}

static void gather_client_topology(const PJRT_Api *api, PJRT_Client *client, rk_buf *out) {
    if (!RK_PJRT_HAS(api, PJRT_Client_TopologyDescription))
        return;
    PJRT_Client_TopologyDescription_Args args = {
        .struct_size = PJRT_Client_TopologyDescription_Args_STRUCT_SIZE, .client = client};
    PJRT_Error *error = api->PJRT_Client_TopologyDescription(&args);
    rk_pjrt_error_drop(api, error);
    if (!error && args.topology)
        gather_fingerprint(api, args.topology, out);
}

// The devices of a client or a topology as text: one line "<count> <kind>" for each run of devices
// of the same kind.
typedef struct device_text {
    rk_buf *out;
    rk_span kind;
    size_t count;
} device_text;

static void end_run(device_text *text) {
    if (text->count == 0)
        return;
    rk_buf_add_format(text->out, "%zu ", text->count);
    rk_buf_add_span(text->out, text->kind);
    rk_buf_add_byte(text->out, '\n');
    text->count = 0;
}

static void add_device(const PJRT_Api *api, PJRT_DeviceDescription *description,
                       device_text *text) {
    PJRT_DeviceDescription_Kind_Args args = {.struct_size =
                                                 PJRT_DeviceDescription_Kind_Args_STRUCT_SIZE,
                                             .device_description = description};
    rk_span kind = rk_span_text("unknown");
    if (description) {
        PJRT_Error *error = api->PJRT_DeviceDescription_Kind(&args);
        rk_pjrt_error_drop(api, error);
        if (!error)
            kind = rk_span_of(args.device_kind, args.device_kind_size);
    }
    if (!rk_span_equal(kind, text->kind))
        end_run(text);
    text->kind = kind;
    text->count++;
}

static void end_devices(device_text *text, size_t addressable) {
    end_run(text);
    rk_buf_add_format(text->out, "addressable %zu\n", addressable);
}

static PJRT_DeviceDescription *describe(const PJRT_Api *api, PJRT_Device *device) {
    PJRT_Device_GetDescription_Args args = {
        .struct_size = PJRT_Device_GetDescription_Args_STRUCT_SIZE, .device = device};
    PJRT_Error *error = api->PJRT_Device_GetDescription(&args);
    rk_pjrt_error_drop(api, error);
    return error ? NULL : args.device_description;
}

static void gather_client_devices(const PJRT_Api *api, PJRT_Client *client, rk_facts *facts) {
    PJRT_Client_Devices_Args all = {.struct_size = PJRT_Client_Devices_Args_STRUCT_SIZE,
                                    .client = client};
    PJRT_Error *error = api->PJRT_Client_Devices(&all);
    if (error) {
        rk_pjrt_error_drop(api, error);
        return;
    }
    facts->device_count = all.num_devices;
    device_text text = {.out = &facts->topology_devices};
    for (size_t i = 0; i < all.num_devices; i++)
        add_device(api, describe(api, all.devices[i]), &text);
    PJRT_Client_AddressableDevices_Args ours = {
        .struct_size = PJRT_Client_AddressableDevices_Args_STRUCT_SIZE, .client = client};
    error = api->PJRT_Client_AddressableDevices(&ours);
    if (error)
        rk_pjrt_error_drop(api, error);
    else
        facts->addressable_device_count = ours.num_addressable_devices;
    end_devices(&text, facts->addressable_device_count);
}

static int process_of(const PJRT_Api *api, PJRT_DeviceDescription *description) {
    PJRT_DeviceDescription_ProcessIndex_Args args = {
        .struct_size = PJRT_DeviceDescription_ProcessIndex_Args_STRUCT_SIZE,
        .device_description = description};
    PJRT_Error *error = api->PJRT_DeviceDescription_ProcessIndex(&args);
    rk_pjrt_error_drop(api, error);
    return error ? 0 : args.process_index;
}

// The devices of the first device's process count as addressable. A client of any process reports
// the same number, since each process has equally many devices.
static void gather_described_devices(const PJRT_Api *api, const PJRT_TopologyDescription *topology,
                                     rk_facts *facts) {
    PJRT_TopologyDescription_GetDeviceDescriptions_Args all = {
        .struct_size = PJRT_TopologyDescription_GetDeviceDescriptions_Args_STRUCT_SIZE,
        .topology = topology};
    PJRT_Error *error = api->PJRT_TopologyDescription_GetDeviceDescriptions(&all);
    if (error) {
        rk_pjrt_error_drop(api, error);
        return;
    }
    facts->device_count = all.num_descriptions;
    device_text text = {.out = &facts->topology_devices};
    int first_process = all.num_descriptions ? process_of(api, all.descriptions[0]) : 0;
    for (size_t i = 0; i < all.num_descriptions; i++) {
        add_device(api, all.descriptions[i], &text);
        facts->addressable_device_count += process_of(api, all.descriptions[i]) == first_process;
    }
    end_devices(&text, facts->addressable_device_count);
}

static bool is_host_platform(rk_span name) {
    return rk_span_is(name, "cpu") || rk_span_is(name, "host") || rk_span_is(name, "interpreter");
}

static rk_err *gather_client_platform(const PJRT_Api *api, PJRT_Client *client,
                                      rk_plugin_facts *facts) {
    PJRT_Client_PlatformName_Args name = {.struct_size = PJRT_Client_PlatformName_Args_STRUCT_SIZE,
                                          .client = client};
    RK_TRY(rk_pjrt_error_take(api, api->PJRT_Client_PlatformName(&name)));
    facts->platform_name = rk_span_of(name.platform_name, name.platform_name_size);
    PJRT_Client_PlatformVersion_Args version = {
        .struct_size = PJRT_Client_PlatformVersion_Args_STRUCT_SIZE, .client = client};
    RK_TRY(rk_pjrt_error_take(api, api->PJRT_Client_PlatformVersion(&version)));
    facts->platform_version = rk_span_of(version.platform_version, version.platform_version_size);
    return NULL;
}

static rk_err *gather_described_platform(const PJRT_Api *api,
                                         const PJRT_TopologyDescription *topology,
                                         rk_plugin_facts *facts) {
    PJRT_TopologyDescription_PlatformName_Args name = {
        .struct_size = PJRT_TopologyDescription_PlatformName_Args_STRUCT_SIZE,
        .topology = topology};
    RK_TRY(rk_pjrt_error_take(api, api->PJRT_TopologyDescription_PlatformName(&name)));
    facts->platform_name = rk_span_of(name.platform_name, name.platform_name_size);
    PJRT_TopologyDescription_PlatformVersion_Args version = {
        .struct_size = PJRT_TopologyDescription_PlatformVersion_Args_STRUCT_SIZE,
        .topology = (PJRT_TopologyDescription *)(uintptr_t)topology}; // the header lacks a const
    RK_TRY(rk_pjrt_error_take(api, api->PJRT_TopologyDescription_PlatformVersion(&version)));
    facts->platform_version = rk_span_of(version.platform_version, version.platform_version_size);
    return NULL;
}

static void begin(const PJRT_Api *api, rk_facts *out_facts) {
    *out_facts = (rk_facts){
        .attributes = RK_BUF_INIT(TEXT_MAX_BYTES),
        .topology_fingerprint = RK_BUF_INIT(TEXT_MAX_BYTES),
        .topology_devices = RK_BUF_INIT(TEXT_MAX_BYTES),
    };
    rk_plugin_facts *facts = &out_facts->facts;
    facts->code_address = (const void *)(uintptr_t)api->PJRT_Client_Compile;
    facts->api_major = api->pjrt_api_version.major_version;
    facts->api_minor = api->pjrt_api_version.minor_version;
    gather_attributes(api, &out_facts->attributes);
}

static rk_err *end(rk_facts *out_facts) {
    rk_plugin_facts *facts = &out_facts->facts;
    RK_TRY(rk_buf_status(&out_facts->attributes));
    RK_TRY(rk_buf_status(&out_facts->topology_fingerprint));
    RK_TRY(rk_buf_status(&out_facts->topology_devices));
    facts->attributes = rk_buf_span(&out_facts->attributes);
    facts->topology_fingerprint = rk_buf_span(&out_facts->topology_fingerprint);
    facts->topology_devices = rk_buf_span(&out_facts->topology_devices);
    facts->generates_host_code = is_host_platform(facts->platform_name);
    return NULL;
}

rk_err *rk_facts_gather(const PJRT_Api *api, PJRT_Client *client, rk_facts *out_facts) {
    begin(api, out_facts);
    RK_TRY(gather_client_platform(api, client, &out_facts->facts));
    gather_client_topology(api, client, &out_facts->topology_fingerprint);
    gather_client_devices(api, client, out_facts);
    return end(out_facts);
}

rk_err *rk_facts_gather_described(const PJRT_Api *api, const PJRT_TopologyDescription *topology,
                                  rk_facts *out_facts) {
    begin(api, out_facts);
    RK_TRY(gather_described_platform(api, topology, &out_facts->facts));
    gather_fingerprint(api, topology, &out_facts->topology_fingerprint);
    gather_described_devices(api, topology, out_facts);
    return end(out_facts);
}
