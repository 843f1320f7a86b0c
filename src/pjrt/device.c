// The properties of one device, as the plugin reports them.
#include "pjrt/error.h"
#include "pjrt/facts.h"
#include "pjrt/named_value.h"

static void add_attributes(const PJRT_Api *api, PJRT_DeviceDescription *description, rk_buf *out) {
    enum { ATTRIBUTES_MAX = 256 };
    PJRT_DeviceDescription_Attributes_Args args = {
        .struct_size = PJRT_DeviceDescription_Attributes_Args_STRUCT_SIZE,
        .device_description = description};
    PJRT_Error *error = api->PJRT_DeviceDescription_Attributes(&args);
    rk_pjrt_error_drop(api, error);
    if (error || args.num_attributes == 0 || args.num_attributes > ATTRIBUTES_MAX)
        return;
    rk_json json = rk_json_on(out);
    rk_named_values_to_json(&json, args.attributes, args.num_attributes);
    rk_err *err = rk_buf_status(out);
    if (err) {
        rk_buf_clear(out);
        rk_err_drop(err, "attributes are optional");
    }
}

void rk_facts_gather_device(const PJRT_Api *api, PJRT_Device *device, rk_device_facts *out_facts,
                            rk_buf *out_attributes) {
    *out_facts = (rk_device_facts){.id = -1};
    PJRT_Device_GetDescription_Args get = {
        .struct_size = PJRT_Device_GetDescription_Args_STRUCT_SIZE, .device = device};
    PJRT_Error *error = api->PJRT_Device_GetDescription(&get);
    rk_pjrt_error_drop(api, error);
    if (error || !get.device_description)
        return;
    PJRT_DeviceDescription_Id_Args id = {.struct_size = PJRT_DeviceDescription_Id_Args_STRUCT_SIZE,
                                         .device_description = get.device_description};
    error = api->PJRT_DeviceDescription_Id(&id);
    rk_pjrt_error_drop(api, error);
    if (!error)
        out_facts->id = id.id;
    PJRT_DeviceDescription_ToString_Args name = {
        .struct_size = PJRT_DeviceDescription_ToString_Args_STRUCT_SIZE,
        .device_description = get.device_description};
    error = api->PJRT_DeviceDescription_ToString(&name);
    rk_pjrt_error_drop(api, error);
    if (!error)
        out_facts->name = rk_span_of(name.to_string, name.to_string_size);
    PJRT_DeviceDescription_Kind_Args kind = {.struct_size =
                                                 PJRT_DeviceDescription_Kind_Args_STRUCT_SIZE,
                                             .device_description = get.device_description};
    error = api->PJRT_DeviceDescription_Kind(&kind);
    rk_pjrt_error_drop(api, error);
    if (!error)
        out_facts->kind = rk_span_of(kind.device_kind, kind.device_kind_size);
    add_attributes(api, get.device_description, out_attributes);
}
