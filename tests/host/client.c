// Words for clients and devices.
#include "host/host.h"

#include <stdlib.h>

PJRT_Client *host_current_client(const host *h) {
    if (h->client >= h->client_count || !h->clients[h->client])
        host_usage("there is no client");
    return h->clients[h->client];
}

// Makes the calls that a framework makes on a new client. Stops at the first error.
static PJRT_Error *describe(const host *h, PJRT_Client *client, rk_json *json) {
    PJRT_Client_PlatformName_Args name = HOST_ARGS(PJRT_Client_PlatformName_Args, .client = client);
    PJRT_Error *error = h->api->PJRT_Client_PlatformName(&name);
    if (error)
        return error;
    rk_json_member_text(json, "platform", rk_span_of(name.platform_name, name.platform_name_size));
    PJRT_Client_PlatformVersion_Args version =
        HOST_ARGS(PJRT_Client_PlatformVersion_Args, .client = client);
    error = h->api->PJRT_Client_PlatformVersion(&version);
    if (error)
        return error;
    rk_json_member_text(json, "version",
                        rk_span_of(version.platform_version, version.platform_version_size));
    PJRT_Client_Devices_Args devices = HOST_ARGS(PJRT_Client_Devices_Args, .client = client);
    error = h->api->PJRT_Client_Devices(&devices);
    if (error)
        return error;
    rk_json_member_uint(json, "devices", devices.num_devices);
    PJRT_Client_AddressableDevices_Args here =
        HOST_ARGS(PJRT_Client_AddressableDevices_Args, .client = client);
    error = h->api->PJRT_Client_AddressableDevices(&here);
    if (error || here.num_addressable_devices == 0)
        return error;
    PJRT_Device_GetDescription_Args of =
        HOST_ARGS(PJRT_Device_GetDescription_Args, .device = here.addressable_devices[0]);
    error = h->api->PJRT_Device_GetDescription(&of);
    if (error)
        return error;
    PJRT_DeviceDescription_Kind_Args kind =
        HOST_ARGS(PJRT_DeviceDescription_Kind_Args, .device_description = of.device_description);
    error = h->api->PJRT_DeviceDescription_Kind(&kind);
    if (!error)
        rk_json_member_text(json, "kind", rk_span_of(kind.device_kind, kind.device_kind_size));
    return error;
}

// Parses "NAME=VALUE". VALUE is a number, true, false, or text.
static PJRT_NamedValue read_option(const char *text) {
    size_t len = strcspn(text, "=");
    const char *value = text[len] ? text + len + 1 : "";
    PJRT_NamedValue option = HOST_ARGS(PJRT_NamedValue, .name = text, .name_size = len);
    char *end;
    option.type = PJRT_NamedValue_kInt64;
    option.int64_value = strtoll(value, &end, 10);
    option.value_size = 1;
    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0) {
        option.type = PJRT_NamedValue_kBool;
        option.bool_value = *value == 't';
    } else if (end == value || *end) {
        option.type = PJRT_NamedValue_kString;
        option.string_value = value;
        option.value_size = strlen(value);
    }
    return option;
}

void host_option(host *h, const char *value) {
    if (h->option_count == HOST_MAX_OPTIONS)
        host_usage("at most %d options", HOST_MAX_OPTIONS);
    h->options[h->option_count++] = value;
}

void host_client(host *h, const char *value) {
    (void)value;
    PJRT_NamedValue options[HOST_MAX_OPTIONS];
    for (size_t i = 0; i < h->option_count; i++)
        options[i] = read_option(h->options[i]);
    PJRT_Extension_Base extension = {.struct_size = sizeof extension};
    if (h->extensions[2])
        extension.type = (PJRT_Extension_Type)strtol(h->extensions[2], NULL, 10);
    host_line line;
    host_begin(&line, h, "client");
    if (h->client_count >= HOST_MAX_CLIENTS)
        host_usage("at most %d clients", HOST_MAX_CLIENTS);
    PJRT_Client_Create_Args create = HOST_ARGS(
        PJRT_Client_Create_Args, .create_options = options, .num_options = h->option_count,
        .extension_start = h->extensions[2] ? &extension : NULL);
    PJRT_Error *error = HOST_CALL(h, PJRT_Client_Create, &create);
    if (!error) {
        h->client = h->client_count;
        h->clients[h->client_count++] = create.client;
        rk_json_member_uint(&line.json, "client", h->client);
        error = describe(h, create.client, &line.json);
    }
    (void)host_end(&line, h, error);
}

void host_use_client(host *h, const char *value) {
    h->client = strtoul(value, NULL, 10);
    (void)host_current_client(h);
}

void host_destroy_client(host *h, const char *value) {
    if (*value)
        host_use_client(h, value);
    host_line line;
    host_begin(&line, h, "destroy-client");
    PJRT_Client_Destroy_Args args =
        HOST_ARGS(PJRT_Client_Destroy_Args, .client = host_current_client(h));
    h->clients[h->client] = NULL;
    (void)host_end(&line, h, h->api->PJRT_Client_Destroy(&args));
}

static host *ends; // its current client is destroyed at exit

static void destroy_ours(void) {
    host_destroy_client(ends, "");
}

void host_destroy_at_exit(host *h, const char *value) {
    (void)value;
    ends = h;
    (void)atexit(destroy_ours);
}

void host_topology(host *h, const char *value) {
    host_line line;
    host_begin(&line, h, "topology");
    PJRT_TopologyDescription_Create_Args create =
        HOST_ARGS(PJRT_TopologyDescription_Create_Args, .topology_name = value,
                  .topology_name_size = strlen(value));
    PJRT_Error *error = h->api->PJRT_TopologyDescription_Create(&create);
    if (!error) {
        h->topology = create.topology;
        PJRT_TopologyDescription_GetDeviceDescriptions_Args devices = HOST_ARGS(
            PJRT_TopologyDescription_GetDeviceDescriptions_Args, .topology = create.topology);
        error = h->api->PJRT_TopologyDescription_GetDeviceDescriptions(&devices);
        if (!error)
            rk_json_member_uint(&line.json, "devices", devices.num_descriptions);
    }
    (void)host_end(&line, h, error);
}

void host_destroy_topology(host *h, const char *value) {
    (void)value;
    host_line line;
    host_begin(&line, h, "destroy-topology");
    PJRT_TopologyDescription_Destroy_Args args =
        HOST_ARGS(PJRT_TopologyDescription_Destroy_Args, .topology = h->topology);
    h->topology = NULL;
    (void)host_end(&line, h, h->api->PJRT_TopologyDescription_Destroy(&args));
}
