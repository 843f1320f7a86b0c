#include "pjrt/facts.h"

#include "pjrt/error.h"

enum { TEXT_MAX_BYTES = 1 << 20 };

void rk_facts_cleanup(rk_facts *facts) {
    rk_buf_cleanup(&facts->attributes);
    rk_buf_cleanup(&facts->topology_fingerprint);
    rk_buf_cleanup(&facts->topology_devices);
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

// One "name=value" a line. The array's stride is the plugin's own struct size.
static void add_values(rk_buf *out, const PJRT_NamedValue *values, size_t count) {
    const char *at = (const char *)values;
    for (size_t i = 0; i < count; i++) {
        const PJRT_NamedValue *value = (const PJRT_NamedValue *)(const void *)at;
        size_t stride =
            value->struct_size >= PJRT_NamedValue_STRUCT_SIZE ? value->struct_size : sizeof *value;
        rk_buf_add(out, value->name, value->name_size);
        rk_buf_add_byte(out, '=');
        add_value(out, value);
        rk_buf_add_byte(out, '\n');
        at += (stride + 7) & ~(size_t)7;
    }
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

// The API's own fingerprint (0.101), else the topology serialized, which the header says is "for
// use in cache keys", else nothing.
static void gather_topology(const PJRT_Api *api, PJRT_Client *client, rk_buf *out) {
    if (!RK_PJRT_HAS(api, PJRT_Client_TopologyDescription))
        return;
    PJRT_Client_TopologyDescription_Args args = {
        .struct_size = PJRT_Client_TopologyDescription_Args_STRUCT_SIZE, .client = client};
    PJRT_Error *error = api->PJRT_Client_TopologyDescription(&args);
    if (error || !args.topology) {
        rk_pjrt_error_drop(api, error);
        return;
    }
    rk_pjrt_any_fn *fingerprint = rk_pjrt_later(api, RK_PJRT_TOPOLOGY_FINGERPRINT);
    if (fingerprint) {
        rk_pjrt_topology_fingerprint_args print = {.struct_size = sizeof print,
                                                   .topology = args.topology};
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
        .topology = args.topology};
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

static rk_span device_kind(const PJRT_Api *api, PJRT_Device *device) {
    PJRT_Device_GetDescription_Args description = {
        .struct_size = PJRT_Device_GetDescription_Args_STRUCT_SIZE, .device = device};
    PJRT_Error *error = api->PJRT_Device_GetDescription(&description);
    if (!error) {
        PJRT_DeviceDescription_Kind_Args kind = {
            .struct_size = PJRT_DeviceDescription_Kind_Args_STRUCT_SIZE,
            .device_description = description.device_description};
        error = api->PJRT_DeviceDescription_Kind(&kind);
        if (!error)
            return rk_span_of(kind.device_kind, kind.device_kind_size);
    }
    rk_pjrt_error_drop(api, error);
    return rk_span_text("unknown");
}

// "<count> <kind>" a line, for each run of devices of one kind.
static void add_devices(const PJRT_Api *api, PJRT_Device *const *devices, size_t count,
                        rk_buf *out) {
    for (size_t i = 0; i < count;) {
        rk_span kind = device_kind(api, devices[i]);
        size_t end = i + 1;
        while (end < count && rk_span_equal(device_kind(api, devices[end]), kind))
            end++;
        rk_buf_add_format(out, "%zu ", end - i);
        rk_buf_add_span(out, kind);
        rk_buf_add_byte(out, '\n');
        i = end;
    }
}

static void gather_devices(const PJRT_Api *api, PJRT_Client *client, rk_facts *facts) {
    PJRT_Client_Devices_Args all = {.struct_size = PJRT_Client_Devices_Args_STRUCT_SIZE,
                                    .client = client};
    PJRT_Error *error = api->PJRT_Client_Devices(&all);
    if (error) {
        rk_pjrt_error_drop(api, error);
        return;
    }
    facts->device_count = all.num_devices;
    add_devices(api, all.devices, all.num_devices, &facts->topology_devices);
    PJRT_Client_AddressableDevices_Args ours = {
        .struct_size = PJRT_Client_AddressableDevices_Args_STRUCT_SIZE, .client = client};
    error = api->PJRT_Client_AddressableDevices(&ours);
    if (error)
        rk_pjrt_error_drop(api, error);
    else
        facts->addressable_device_count = ours.num_addressable_devices;
    rk_buf_add_format(&facts->topology_devices, "addressable %zu\n",
                      facts->addressable_device_count);
}

static bool is_host_platform(rk_span name) {
    return rk_span_is(name, "cpu") || rk_span_is(name, "host") || rk_span_is(name, "interpreter");
}

static rk_err *gather_platform(const PJRT_Api *api, PJRT_Client *client, rk_plugin_facts *facts) {
    PJRT_Client_PlatformName_Args name = {.struct_size = PJRT_Client_PlatformName_Args_STRUCT_SIZE,
                                          .client = client};
    RK_TRY(rk_pjrt_error_take(api, api->PJRT_Client_PlatformName(&name)));
    facts->platform_name = rk_span_of(name.platform_name, name.platform_name_size);
    PJRT_Client_PlatformVersion_Args version = {
        .struct_size = PJRT_Client_PlatformVersion_Args_STRUCT_SIZE, .client = client};
    RK_TRY(rk_pjrt_error_take(api, api->PJRT_Client_PlatformVersion(&version)));
    facts->platform_version = rk_span_of(version.platform_version, version.platform_version_size);
    facts->generates_host_code = is_host_platform(facts->platform_name);
    return NULL;
}

rk_err *rk_facts_gather(const PJRT_Api *api, PJRT_Client *client, rk_facts *out_facts) {
    *out_facts = (rk_facts){
        .attributes = RK_BUF_INIT(TEXT_MAX_BYTES),
        .topology_fingerprint = RK_BUF_INIT(TEXT_MAX_BYTES),
        .topology_devices = RK_BUF_INIT(TEXT_MAX_BYTES),
    };
    rk_plugin_facts *facts = &out_facts->facts;
    facts->code_address = (const void *)(uintptr_t)api->PJRT_Client_Compile;
    facts->api_major = api->pjrt_api_version.major_version;
    facts->api_minor = api->pjrt_api_version.minor_version;
    RK_TRY(gather_platform(api, client, facts));
    gather_attributes(api, &out_facts->attributes);
    gather_topology(api, client, &out_facts->topology_fingerprint);
    gather_devices(api, client, out_facts);
    RK_TRY(rk_buf_status(&out_facts->attributes));
    RK_TRY(rk_buf_status(&out_facts->topology_fingerprint));
    RK_TRY(rk_buf_status(&out_facts->topology_devices));
    facts->attributes = rk_buf_span(&out_facts->attributes);
    facts->topology_fingerprint = rk_buf_span(&out_facts->topology_fingerprint);
    facts->topology_devices = rk_buf_span(&out_facts->topology_devices);
    return NULL;
}
