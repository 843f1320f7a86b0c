#include "pjrt/named_value.h"

const PJRT_NamedValue *rk_named_value_next(const PJRT_NamedValue *value) {
    size_t size =
        value->struct_size >= PJRT_NamedValue_STRUCT_SIZE ? value->struct_size : sizeof *value;
    size_t stride = (size + 7) & ~(size_t)7;
    return (const PJRT_NamedValue *)(const void *)((const char *)value + stride);
}

static void add_value(rk_json *json, const PJRT_NamedValue *value) {
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
    default:
        rk_json_null(json);
    }
}

void rk_named_values_to_json(rk_json *json, const PJRT_NamedValue *values, size_t count) {
    rk_json_begin_object(json);
    for (; count > 0; count--, values = rk_named_value_next(values)) {
        rk_json_key_text(json, rk_span_of(values->name, values->name_size));
        add_value(json, values);
    }
    rk_json_end_object(json);
}
