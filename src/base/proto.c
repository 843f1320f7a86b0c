#include "base/proto.h"

enum { VARINT_MAX_BYTES = 10 };

bool rk_proto_take_varint(rk_span *data, uint64_t *out_value) {
    uint64_t value = 0;
    for (size_t i = 0; i < data->len && i < VARINT_MAX_BYTES; i++) {
        uint8_t byte = data->data[i];
        if (i == VARINT_MAX_BYTES - 1 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7F) << (7 * i);
        if (!(byte & 0x80)) {
            data->data += i + 1;
            data->len -= i + 1;
            *out_value = value;
            return true;
        }
    }
    return false;
}

static bool take_fixed(rk_span *data, size_t width, uint64_t *out_value) {
    if (data->len < width)
        return false;
    *out_value = width == 4 ? rk_load_u32le(data->data) : rk_load_u64le(data->data);
    data->data += width;
    data->len -= width;
    return true;
}

static bool take_bytes(rk_span *data, rk_span *out_bytes) {
    uint64_t len;
    if (!rk_proto_take_varint(data, &len) || len > data->len)
        return false;
    *out_bytes = rk_span_of(data->data, (size_t)len);
    data->data += len;
    data->len -= (size_t)len;
    return true;
}

static bool take_value(rk_span *data, rk_proto_field *field) {
    switch (field->wire) {
    case RK_PROTO_VARINT:
        return rk_proto_take_varint(data, &field->value);
    case RK_PROTO_FIXED64:
        return take_fixed(data, 8, &field->value);
    case RK_PROTO_FIXED32:
        return take_fixed(data, 4, &field->value);
    case RK_PROTO_BYTES:
        return take_bytes(data, &field->bytes);
    case RK_PROTO_GROUP_START:
    case RK_PROTO_GROUP_END:
        break;
    }
    return false;
}

bool rk_proto_next(rk_span *message, rk_proto_field *out_field, bool *out_bad) {
    *out_bad = false;
    if (message->len == 0)
        return false;
    rk_span rest = *message;
    uint64_t tag;
    *out_field = (rk_proto_field){0};
    *out_bad = true;
    if (!rk_proto_take_varint(&rest, &tag) || tag > UINT32_MAX || tag >> 3 == 0)
        return false;
    out_field->number = (uint32_t)(tag >> 3);
    out_field->wire = (rk_proto_wire)(tag & 7);
    if (!take_value(&rest, out_field))
        return false;
    out_field->whole = rk_span_of(message->data, message->len - rest.len);
    *message = rest;
    *out_bad = false;
    return true;
}

void rk_proto_add_varint(rk_buf *out, uint64_t value) {
    while (value >= 0x80) {
        rk_buf_add_byte(out, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    rk_buf_add_byte(out, (uint8_t)value);
}

void rk_proto_add_tag(rk_buf *out, uint32_t number, rk_proto_wire wire) {
    rk_proto_add_varint(out, (uint64_t)number << 3 | (uint64_t)wire);
}

void rk_proto_add_bytes_field(rk_buf *out, uint32_t number, rk_span bytes) {
    rk_proto_add_tag(out, number, RK_PROTO_BYTES);
    rk_proto_add_varint(out, bytes.len);
    rk_buf_add_span(out, bytes);
}

void rk_proto_add_varint_field(rk_buf *out, uint32_t number, uint64_t value) {
    rk_proto_add_tag(out, number, RK_PROTO_VARINT);
    rk_proto_add_varint(out, value);
}
