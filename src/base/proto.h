// Reader and writer for fields in the protobuf wire format, without schemas.
// Source: https://protobuf.dev/programming-guides/encoding/
#pragma once

#include "base/buf.h"

typedef enum rk_proto_wire {
    RK_PROTO_VARINT = 0,
    RK_PROTO_FIXED64 = 1,
    RK_PROTO_BYTES = 2, // strings, bytes, messages, packed repeated fields
    RK_PROTO_GROUP_START = 3,
    RK_PROTO_GROUP_END = 4,
    RK_PROTO_FIXED32 = 5,
} rk_proto_wire;

typedef struct rk_proto_field {
    uint32_t number;
    rk_proto_wire wire;
    uint64_t value; // varint, fixed32, fixed64
    rk_span bytes;  // RK_PROTO_BYTES; borrowed from the message
    rk_span whole;  // tag and value as on the wire; borrowed from the message
} rk_proto_field;

// Takes the next field off the front of `*message`. False at the end of the message (`*out_bad`
// false), and if the bytes are not protobuf (`*out_bad` true). Groups count as bad bytes: no
// message that rekindle reads contains a group.
RK_NODISCARD bool rk_proto_next(rk_span *message, rk_proto_field *out_field, bool *out_bad);

// Takes a varint off the front of `*data`. False if the bytes are not a varint.
RK_NODISCARD bool rk_proto_take_varint(rk_span *data, uint64_t *out_value);

void rk_proto_add_varint(rk_buf *out, uint64_t value);
void rk_proto_add_tag(rk_buf *out, uint32_t number, rk_proto_wire wire);
void rk_proto_add_bytes_field(rk_buf *out, uint32_t number, rk_span bytes);
void rk_proto_add_varint_field(rk_buf *out, uint32_t number, uint64_t value);
