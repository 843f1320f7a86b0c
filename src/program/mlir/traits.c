// Finds traits in MLIR bytecode (llvm-project mlir/lib/Bytecode/Encoding.h,
// mlir/docs/BytecodeFormat.md). Reads only strings and integers among the attributes, never
// constants, which are blobs.
#include "program/traits.h"

#include "base/alloc.h"
#include "program/mlir/magic.h"

enum {
    SECTION_STRING = 0,
    SECTION_DIALECT = 1,
    SECTION_ATTR_TYPE = 2,
    SECTION_ATTR_TYPE_OFFSET = 3,
    SECTION_COUNT = 9,
    MAX_DIALECTS = 64,
};

// Attribute codes in the dialects' encodings: stablehlo VhloBytecode.cpp and MLIR's
// BuiltinDialectBytecode.td.
enum {
    VHLO_INTEGER = 9,
    VHLO_STRING = 14,
    BUILTIN_STRING = 2,
    BUILTIN_TYPED_STRING = 3,
    BUILTIN_INTEGER = 8,
};

typedef enum dialect { DIALECT_OTHER, DIALECT_BUILTIN, DIALECT_VHLO } dialect;

typedef struct reader {
    rk_span sections[SECTION_COUNT];
    uint64_t version;
    rk_span *strings; // owned
    size_t string_count;
    dialect dialects[MAX_DIALECTS];
    size_t dialect_count;
    rk_traits *traits;
} reader;

static void reader_cleanup(reader *r) {
    rk_free(r->strings);
}

static void skip(rk_span *data, size_t len) {
    if (len) // a missing section has a NULL address: do not add to it
        *data = rk_span_of(data->data + len, data->len - len);
}

static bool take_byte(rk_span *data, uint8_t *out_byte) {
    if (!data->len)
        return false;
    *out_byte = data->data[0];
    skip(data, 1);
    return true;
}

// The number of trailing zero bits of the first byte is the number of bytes that follow; eight if
// the byte is zero.
static inline bool take_varint(rk_span *data, uint64_t *out_value) {
    uint8_t first;
    if (data->len && data->data[0] & 1) {
        *out_value = data->data[0] >> 1;
        *data = rk_span_of(data->data + 1, data->len - 1);
        return true;
    }
    if (!take_byte(data, &first))
        return false;
    unsigned more = first ? (unsigned)__builtin_ctz(first) : 8;
    if (data->len < more)
        return false;
    uint64_t value = 0;
    for (unsigned i = 0; i < more; i++)
        value |= (uint64_t)data->data[i] << (8 * i);
    skip(data, more);
    *out_value = more == 8 ? value : (value << 8 | first) >> (more + 1);
    return true;
}

static bool take_span(rk_span *data, uint64_t len, rk_span *out_span) {
    if (len > data->len)
        return false;
    *out_span = rk_span_of(data->data, (size_t)len);
    skip(data, (size_t)len);
    return true;
}

// A section: id (high bit: aligned), length; if aligned, the alignment and padding; the payload.
static bool take_section(rk_span code, rk_span *rest, uint8_t *out_id, rk_span *out_payload) {
    uint8_t id;
    uint64_t len, alignment;
    if (!take_byte(rest, &id) || !take_varint(rest, &len))
        return false;
    if (id & 0x80) {
        if (!take_varint(rest, &alignment) || !alignment)
            return false;
        uint64_t over = (uint64_t)(rest->data - code.data) % alignment;
        rk_span padding;
        if (over && !take_span(rest, alignment - over, &padding))
            return false;
    }
    *out_id = id & 0x7F;
    return take_span(rest, len, out_payload);
}

static bool read_sections(reader *r, rk_span code) {
    rk_span rest = rk_span_of(code.data + RK_MLIR_MAGIC_BYTES, code.len - RK_MLIR_MAGIC_BYTES);
    if (!take_varint(&rest, &r->version))
        return false;
    const uint8_t *end = rest.len ? memchr(rest.data, 0, rest.len) : NULL; // of the producer's name
    if (!end)
        return false;
    skip(&rest, (size_t)(end - rest.data) + 1);
    while (rest.len) {
        uint8_t id;
        rk_span payload;
        if (!take_section(code, &rest, &id, &payload) || id >= SECTION_COUNT)
            return false;
        r->sections[id] = payload;
    }
    return true;
}

// First the sizes, last string first. Then the strings in order, each with its NUL.
static rk_err *read_strings(reader *r, bool *out_good) {
    rk_span rest = r->sections[SECTION_STRING];
    uint64_t count;
    *out_good = false;
    if (!take_varint(&rest, &count) || count > rest.len)
        return NULL;
    r->strings = rk_calloc(count ? (size_t)count : 1, sizeof *r->strings);
    if (!r->strings)
        return rk_err_no_memory();
    r->string_count = (size_t)count;
    for (size_t i = r->string_count; i-- > 0;) {
        uint64_t len;
        if (!take_varint(&rest, &len) || !len || len > r->sections[SECTION_STRING].len)
            return NULL;
        r->strings[i].len = (size_t)len;
    }
    for (size_t i = 0; i < r->string_count; i++) {
        if (!take_span(&rest, r->strings[i].len, &r->strings[i]))
            return NULL;
        r->strings[i].len--; // the NUL
    }
    *out_good = true;
    return NULL;
}

static rk_span string_at(const reader *r, uint64_t index) {
    return index < r->string_count ? r->strings[index] : (rk_span){0};
}

static bool read_dialects(reader *r) {
    rk_span rest = r->sections[SECTION_DIALECT], payload;
    uint64_t count, name;
    if (!take_varint(&rest, &count) || count > MAX_DIALECTS)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        uint8_t id;
        if (!take_varint(&rest, &name))
            return false;
        bool has_version = r->version >= 1 && (name & 1);
        // Dialect versions are not aligned, so the base of the alignment does not matter.
        if (has_version && !take_section(rest, &rest, &id, &payload))
            return false;
        rk_span text = string_at(r, r->version >= 1 ? name >> 1 : name);
        r->dialects[i] = rk_span_is(text, "vhlo")      ? DIALECT_VHLO
                         : rk_span_is(text, "builtin") ? DIALECT_BUILTIN
                                                       : DIALECT_OTHER;
    }
    r->dialect_count = (size_t)count;
    return true;
}

static bool has_vhlo(const reader *r) {
    for (size_t i = 0; i < r->dialect_count; i++)
        if (r->dialects[i] == DIALECT_VHLO)
            return true;
    return false;
}

// VHLO names its operations custom_call_v1, …; StableHLO custom_call. Only a custom call has a
// configuration: without one, no number can be an address.
static bool has_custom_call(const reader *r) {
    rk_span strings = r->sections[SECTION_STRING];
    return strings.len && memmem(strings.data, strings.len, "custom_call", 11);
}

static void see_string(reader *r, rk_span rest, bool configs) {
    uint64_t index;
    if (!take_varint(&rest, &index))
        return;
    rk_traits_see_name(r->traits, string_at(r, index));
    if (configs)
        rk_traits_see_config(r->traits, string_at(r, index));
}

// The type, then the value: one raw byte for up to 8 bits, else a zigzag varint of the
// zero-extended bits. Values of fewer than five bytes are below 2^32: never an address.
static void see_integer(reader *r, rk_span rest) {
    uint64_t type, value;
    if (!take_varint(&rest, &type) || rest.len < 5 || !take_varint(&rest, &value))
        return;
    rk_traits_see_number(r->traits, (value >> 1) ^ (0 - (value & 1)));
}

static void see_attribute(reader *r, dialect owner, rk_span encoded, bool configs) {
    uint64_t code;
    if (!take_varint(&encoded, &code))
        return;
    if (owner == DIALECT_VHLO ? code == VHLO_STRING
                              : code == BUILTIN_STRING || code == BUILTIN_TYPED_STRING)
        see_string(r, encoded, configs);
    else if (configs && code == (owner == DIALECT_VHLO ? VHLO_INTEGER : BUILTIN_INTEGER))
        see_integer(r, encoded);
}

// Groups: a dialect, a count, and a size for each entry (low bit: encoded by the dialect, else
// text).
static void read_attributes(reader *r, bool configs) {
    rk_span offsets = r->sections[SECTION_ATTR_TYPE_OFFSET], data = r->sections[SECTION_ATTR_TYPE];
    uint64_t attributes, types, owner, count, size;
    // In a VHLO program the builtin attributes are locations and shardings, never configurations.
    bool builtin_configs = configs && !has_vhlo(r);
    if (!take_varint(&offsets, &attributes) || !take_varint(&offsets, &types))
        return;
    while (attributes) {
        if (!take_varint(&offsets, &owner) || !take_varint(&offsets, &count) ||
            owner >= r->dialect_count || count > attributes || !count)
            return;
        attributes -= count;
        for (; count; count--) {
            rk_span entry;
            if (!take_varint(&offsets, &size) || !take_span(&data, size >> 1, &entry))
                return;
            if (!(size & 1))
                rk_traits_see_text(r->traits, entry);
            else if (r->dialects[owner] != DIALECT_OTHER)
                see_attribute(r, r->dialects[owner], entry,
                              r->dialects[owner] == DIALECT_VHLO ? configs : builtin_configs);
        }
    }
}

rk_err *rk_traits_read_bytecode(rk_span code, rk_traits *traits) {
    __attribute__((cleanup(reader_cleanup))) reader r = {.traits = traits};
    bool good;
    if (!read_sections(&r, code))
        return NULL;
    RK_TRY(read_strings(&r, &good));
    if (good && read_dialects(&r))
        read_attributes(&r, has_custom_call(&r));
    return NULL;
}
