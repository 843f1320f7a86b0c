#include "program/mlir/bytecode.h"

#include <endian.h>

#include "base/alloc.h"
#include "program/mlir/magic.h"

enum {
    MAX_DIALECTS = 1024, // the maximum of rk_bytecode_entry.dialect
    MAX_VERSION = 6,
    ALIGNED = 0x80,
    VERSION_DIALECT_VERSIONS = 1,
    VERSION_OP_COUNT = 4,
    VERSION_PROPERTIES = 5,
};

static const char *const SECTION_NAMES[RK_SECTION_COUNT] = {
    "String",   "Dialect",        "AttrType",        "AttrTypeOffset", "IR",
    "Resource", "ResourceOffset", "DialectVersions", "Properties",
};

uint64_t rk_cursor_long_varint(rk_cursor *cursor) {
    size_t left = rk_cursor_left(cursor);
    uint8_t first = left ? *cursor->at : 0;
    unsigned more = first ? (unsigned)__builtin_ctz(first) : 8;
    if (left < more + 1u) {
        cursor->bad = true;
        cursor->at = cursor->end;
        return 0;
    }
    if (more == 1) {
        cursor->at += 2;
        return (uint64_t)(cursor->at[-2] | cursor->at[-1] << 8) >> 2;
    }
    uint64_t value = 0;
    if (more == 8)
        memcpy(&value, cursor->at + 1, sizeof value);
    else
        memcpy(&value, cursor->at, more + 1u);
    cursor->at += more + 1u;
    return more == 8 ? le64toh(value) : le64toh(value) >> (more + 1);
}

void rk_cursor_skip_padding(rk_cursor *cursor, const uint8_t *start, uint64_t alignment) {
    if (!alignment || (alignment & (alignment - 1))) {
        cursor->bad = true;
        return;
    }
    uint64_t over = (uint64_t)(cursor->at - start) & (alignment - 1);
    if (over)
        (void)rk_cursor_span(cursor, alignment - over);
}

void rk_bytecode_fail(rk_bytecode *file, const char *section, const uint8_t *at, const char *why) {
    if (file->failed)
        return;
    file->failed = true;
    rk_buf_add_format(file->reason, "%s: section %s, byte %zu", why, section,
                      (size_t)(at - file->code.data));
}

static bool fail_in(rk_bytecode *file, unsigned section, const rk_cursor *at, const char *why) {
    rk_bytecode_fail(file, SECTION_NAMES[section], at->at, why);
    return false;
}

void *rk_bytecode_allocate(rk_bytecode *file, uint64_t count, size_t item_bytes) {
    size_t bytes;
    if (__builtin_mul_overflow(count ? count : 1, item_bytes, &bytes) ||
        bytes > file->model->budget_bytes) {
        file->model->out_of_memory = file->failed = true;
        return NULL;
    }
    file->model->budget_bytes -= bytes;
    void *memory = rk_calloc(1, bytes);
    if (!memory)
        file->model->out_of_memory = file->failed = true;
    return memory;
}

bool rk_bytecode_grow(rk_bytecode *file, void **array, uint32_t *capacity, size_t item_bytes) {
    uint32_t wanted = *capacity ? *capacity * 2 : 64;
    size_t more = (size_t)(wanted - *capacity) * item_bytes;
    void *grown = NULL;
    if (wanted < UINT32_MAX / 4 && more <= file->model->budget_bytes)
        grown = rk_realloc(*array, (size_t)wanted * item_bytes);
    if (!grown) {
        file->model->out_of_memory = file->failed = true;
        return false;
    }
    file->model->budget_bytes -= more;
    *array = grown;
    *capacity = wanted;
    return true;
}

rk_span rk_bytecode_gathered(rk_bytecode *file) {
    if (file->ints.failed)
        file->model->out_of_memory = file->failed = true;
    return rk_buf_span(&file->ints);
}

void rk_bytecode_fail_entry(rk_bytecode *file, uint32_t index, const char *why) {
    const uint8_t *at = rk_bytecode_entry_bytes(file, &file->entries[index]).data;
    rk_bytecode_fail(file, SECTION_NAMES[RK_SECTION_ATTR_TYPE], at, why);
}

void rk_bytecode_push_entry(rk_bytecode *file, uint32_t index) {
    if (file->stack_count == file->stack_capacity) {
        void *array = file->stack;
        if (!rk_bytecode_grow(file, &array, &file->stack_capacity, sizeof *file->stack))
            return;
        file->stack = array;
    }
    file->stack[file->stack_count++] = index;
}

void rk_bytecode_cleanup(rk_bytecode *file) {
    rk_free(file->dialects);
    rk_free(file->op_names);
    rk_free(file->entries);
    rk_free(file->properties);
    rk_free(file->resources);
    rk_free(file->stack);
    rk_buf_cleanup(&file->ints);
}

bool rk_bytecode_take_section(rk_bytecode *file, rk_cursor *cursor, uint8_t *out_id,
                              rk_span *out_payload) {
    uint8_t id = rk_cursor_byte(cursor);
    uint64_t len = rk_cursor_varint(cursor);
    if (id & ALIGNED)
        rk_cursor_skip_padding(cursor, file->code.data, rk_cursor_varint(cursor));
    *out_id = id & (uint8_t)~ALIGNED;
    *out_payload = rk_cursor_span(cursor, len);
    return !cursor->bad;
}

static bool open_head(rk_bytecode *file, rk_cursor *cursor) {
    if (!rk_mlir_is_bytecode(file->code)) {
        rk_bytecode_fail(file, "head", file->code.data, "not MLIR bytecode");
        return false;
    }
    (void)rk_cursor_span(cursor, RK_MLIR_MAGIC_BYTES);
    file->version = rk_cursor_varint(cursor);
    if (file->version > MAX_VERSION) {
        rk_bytecode_fail(file, "head", cursor->at, "a bytecode version newer than 6");
        return false;
    }
    const uint8_t *end = memchr(cursor->at, 0, rk_cursor_left(cursor));
    if (cursor->bad || !end) {
        rk_bytecode_fail(file, "head", cursor->at, "the producer's name is not terminated");
        return false;
    }
    rk_span producer = rk_cursor_span(cursor, (uint64_t)(end - cursor->at) + 1);
    producer = rk_model_keep(file->model, producer);
    file->model->producer = producer.data ? (const char *)producer.data : "";
    return true;
}

static bool open_sections(rk_bytecode *file) {
    rk_cursor cursor = rk_cursor_over(file->code);
    if (!open_head(file, &cursor))
        return false;
    while (cursor.at < cursor.end) {
        const uint8_t *at = cursor.at;
        uint8_t id;
        rk_span payload;
        const char *why = NULL;
        if (!rk_bytecode_take_section(file, &cursor, &id, &payload))
            why = "a section is longer than the file";
        else if (id >= RK_SECTION_COUNT || id == RK_SECTION_DIALECT_VERSIONS)
            why = "a section of an unknown kind";
        else if (file->has_section[id])
            why = "a section occurs twice";
        if (why) {
            rk_bytecode_fail(file, "head", at, why);
            return false;
        }
        file->has_section[id] = true;
        file->sections[id] = payload;
    }
    for (unsigned id = RK_SECTION_STRING; id <= RK_SECTION_IR; id++)
        if (!file->has_section[id])
            return fail_in(file, id, &cursor, "a section is missing");
    if (file->has_section[RK_SECTION_RESOURCE] != file->has_section[RK_SECTION_RESOURCE_OFFSET])
        return fail_in(file, RK_SECTION_RESOURCE, &cursor, "a section is missing");
    return true;
}

// First the sizes, each with its NUL, last string first. Then the strings in order.
static bool open_strings(rk_bytecode *file) {
    rk_cursor cursor = rk_cursor_over(file->sections[RK_SECTION_STRING]);
    rk_model *model = file->model;
    uint64_t count = rk_cursor_count(&cursor);
    file->first_string = model->strings.count;
    for (uint64_t i = 0; i < count; i++)
        if (rk_model_add_string(model, (rk_span){0}) == RK_NO_ID) {
            file->failed = true;
            return false;
        }
    file->string_count = (uint32_t)count;
    rk_span *strings = model->strings.items + file->first_string;
    for (uint64_t i = count; i-- > 0;)
        strings[i].len = (size_t)rk_cursor_varint(&cursor);
    for (uint64_t i = 0; i < count; i++) {
        rk_span string = rk_cursor_span(&cursor, strings[i].len);
        if (!string.len || string.data[string.len - 1])
            return fail_in(file, RK_SECTION_STRING, &cursor, "a string is not terminated");
        strings[i] = rk_span_of(string.data, string.len - 1);
    }
    return rk_cursor_done(&cursor) ||
           fail_in(file, RK_SECTION_STRING, &cursor, "strings do not fill their section");
}

static rk_dialect_kind dialect_kind(rk_span name) {
    static const struct {
        const char *name;
        rk_dialect_kind kind;
    } known[] = {{"builtin", RK_DIALECT_BUILTIN},
                 {"vhlo", RK_DIALECT_VHLO},
                 {"stablehlo", RK_DIALECT_STABLEHLO},
                 {"chlo", RK_DIALECT_CHLO},
                 {"sdy", RK_DIALECT_SDY}};
    for (size_t i = 0; i < RK_ARRAY_LEN(known); i++)
        if (rk_span_is(name, known[i].name))
            return known[i].kind;
    return RK_DIALECT_OTHER;
}

static bool open_dialects(rk_bytecode *file, rk_cursor *cursor) {
    uint64_t count = rk_cursor_count(cursor);
    if (count > MAX_DIALECTS)
        return fail_in(file, RK_SECTION_DIALECT, cursor, "too many dialects");
    file->dialects = rk_bytecode_allocate(file, count, sizeof *file->dialects);
    if (!file->dialects)
        return false;
    for (file->dialect_count = 0; file->dialect_count < count; file->dialect_count++) {
        bool has_version = false;
        uint8_t id;
        rk_span versions;
        uint64_t name = file->version < VERSION_DIALECT_VERSIONS
                            ? rk_cursor_varint(cursor)
                            : rk_cursor_flagged(cursor, &has_version);
        if (has_version && !rk_bytecode_take_section(file, cursor, &id, &versions))
            return fail_in(file, RK_SECTION_DIALECT, cursor, "a dialect's version is truncated");
        if (name >= file->string_count)
            return fail_in(file, RK_SECTION_DIALECT, cursor, "a dialect has no name");
        uint32_t string = file->first_string + (uint32_t)name;
        file->dialects[file->dialect_count] =
            (rk_dialect){string, dialect_kind(rk_model_string(file->model, string))};
    }
    return true;
}

static bool open_op_names(rk_bytecode *file, rk_cursor *cursor) {
    uint32_t capacity = 0;
    uint64_t promised = file->version >= VERSION_OP_COUNT ? rk_cursor_varint(cursor) : 0;
    while (cursor->at < cursor->end) {
        uint64_t dialect = rk_cursor_varint(cursor), count = rk_cursor_count(cursor);
        if (dialect >= file->dialect_count)
            return fail_in(file, RK_SECTION_DIALECT, cursor, "an operation has no dialect");
        for (; count; count--) {
            bool registered = true;
            uint64_t name = file->version < VERSION_PROPERTIES
                                ? rk_cursor_varint(cursor)
                                : rk_cursor_flagged(cursor, &registered);
            void *array = file->op_names;
            if (name >= file->string_count)
                return fail_in(file, RK_SECTION_DIALECT, cursor, "an operation has no name");
            if (file->op_name_count == capacity) {
                if (!rk_bytecode_grow(file, &array, &capacity, sizeof *file->op_names))
                    return false;
                file->op_names = array;
            }
            file->op_names[file->op_name_count++] =
                (rk_op_name){.dialect = (uint32_t)dialect,
                             .text = file->first_string + (uint32_t)name,
                             .name = RK_NO_ID,
                             .is_registered = registered};
        }
    }
    if (cursor->bad || (file->version >= VERSION_OP_COUNT && promised != file->op_name_count))
        return fail_in(file, RK_SECTION_DIALECT, cursor, "the number of operation names is wrong");
    return true;
}

// Groups: a dialect, a count, and a size for each entry (flag: encoded by the dialect, else text).
static bool open_entry_groups(rk_bytecode *file, rk_cursor *cursor, uint64_t *offset, uint32_t from,
                              uint32_t to) {
    while (from < to) {
        uint64_t dialect = rk_cursor_varint(cursor), count = rk_cursor_count(cursor);
        if (dialect >= file->dialect_count || count > to - from || cursor->bad)
            return fail_in(file, RK_SECTION_ATTR_TYPE_OFFSET, cursor, "a damaged group");
        rk_bytecode_entry entry = {
            .dialect = dialect & (MAX_DIALECTS - 1), .node = RK_NO_ID, .other = RK_NO_ID};
        for (uint64_t end = from + count; from < end; from++) {
            uint64_t size = rk_cursor_varint(cursor);
            entry.offset = *offset & (((uint64_t)1 << 40) - 1);
            entry.is_binary = size & 1;
            file->entries[from] = entry;
            *offset += size >> 1;
            if (*offset > file->sections[RK_SECTION_ATTR_TYPE].len)
                return fail_in(file, RK_SECTION_ATTR_TYPE_OFFSET, cursor,
                               "attributes and types are longer than their section");
        }
    }
    return true;
}

static bool open_entries(rk_bytecode *file) {
    rk_cursor cursor = rk_cursor_over(file->sections[RK_SECTION_ATTR_TYPE_OFFSET]);
    uint64_t attrs = rk_cursor_count(&cursor), types = rk_cursor_count(&cursor), offset = 0;
    if (cursor.bad || attrs + types >= RK_NO_ID ||
        file->sections[RK_SECTION_ATTR_TYPE].len >= (uint64_t)1 << 40)
        return fail_in(file, RK_SECTION_ATTR_TYPE_OFFSET, &cursor, "too many attributes");
    file->attr_count = (uint32_t)attrs;
    file->type_count = (uint32_t)types;
    uint32_t total = file->attr_count + file->type_count;
    file->entries = rk_bytecode_allocate(file, (uint64_t)total + 1, sizeof *file->entries);
    if (!file->entries || !open_entry_groups(file, &cursor, &offset, 0, file->attr_count) ||
        !open_entry_groups(file, &cursor, &offset, file->attr_count, total))
        return false;
    // Almost all programs need less. Growing later would copy the arrays; unused pages are never
    // touched.
    rk_model_reserve_nodes(file->model, 2 * (size_t)total, 3 * (size_t)total);
    file->entries[total].offset = offset & (((uint64_t)1 << 40) - 1);
    return rk_cursor_done(&cursor) || fail_in(file, RK_SECTION_ATTR_TYPE_OFFSET, &cursor,
                                              "the groups do not fill their section");
}

static bool open_properties(rk_bytecode *file) {
    rk_cursor cursor = rk_cursor_over(file->sections[RK_SECTION_PROPERTIES]);
    uint64_t count = cursor.at < cursor.end ? rk_cursor_count(&cursor) : 0;
    file->properties = rk_bytecode_allocate(file, count, sizeof *file->properties);
    if (!file->properties)
        return false;
    for (; file->property_count < count; file->property_count++) {
        rk_span bytes = rk_cursor_span(&cursor, rk_cursor_varint(&cursor));
        file->properties[file->property_count] =
            (rk_properties){.bytes = bytes, .op_name = RK_NO_ID, .content_name = RK_NO_ID};
    }
    return rk_cursor_done(&cursor) || fail_in(file, RK_SECTION_PROPERTIES, &cursor,
                                              "the properties do not fill their section");
}

static bool open_words(rk_bytecode *file) {
    if (!rk_mlir_add_words(file->model)) {
        file->failed = true;
        return false;
    }
    rk_node i64 = {.kind = RK_NODE_TYPE, .name = RK_WORD_i64};
    rk_node f64 = {.kind = RK_NODE_TYPE, .name = RK_WORD_f64};
    file->i64_type = rk_model_add_node(file->model, i64);
    file->f64_type = rk_model_add_node(file->model, f64);
    file->failed = file->f64_type == RK_NO_ID;
    return !file->failed;
}

bool rk_bytecode_open(rk_bytecode *file) {
    // A number takes eight bytes in `ints` and at least one byte in the file. Twice the file size
    // is enough, because no program consists mostly of lists of numbers.
    enum { LEAST_INTS_BYTES = 4096 };
    file->ints.max = file->code.len * 2 + LEAST_INTS_BYTES;
    if (!open_words(file) || !open_sections(file) || !open_strings(file))
        return false;
    rk_cursor dialects = rk_cursor_over(file->sections[RK_SECTION_DIALECT]);
    return open_dialects(file, &dialects) && open_op_names(file, &dialects) && open_entries(file) &&
           open_properties(file);
}
