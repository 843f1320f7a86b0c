// The reader's memory: arrays within the model's budget, and caches of parts already read.
#include "program/hlo/quick.h"

#include "base/alloc.h"
#include "program/quick_hash.h"

bool rk_hlo_fail(rk_hlo_reader *reader, const char *static_reason) {
    if (!reader->reason)
        reader->reason = static_reason;
    return false;
}

bool rk_hlo_grow(rk_hlo_reader *reader, rk_hlo_array *array, uint64_t bytes) {
    enum { LEAST_BYTES = 256 };
    if (RK_LIKELY(bytes <= array->capacity_bytes))
        return true;
    uint64_t wanted = array->capacity_bytes ? array->capacity_bytes : LEAST_BYTES;
    while (wanted < bytes)
        wanted *= 2;
    rk_model *model = reader->model;
    void *grown = NULL;
    if (wanted - array->capacity_bytes <= model->budget_bytes)
        grown = rk_realloc(array->items, (size_t)wanted);
    if (!grown) {
        model->out_of_memory = true;
        return false;
    }
    model->budget_bytes -= (size_t)wanted - array->capacity_bytes;
    array->items = grown;
    array->capacity_bytes = (size_t)wanted;
    return true;
}

void rk_hlo_shrink(rk_hlo_reader *reader, rk_hlo_array *array) {
    reader->model->budget_bytes += array->capacity_bytes;
    rk_free(array->items);
    *array = (rk_hlo_array){0};
}

// A cached attribute list: a range of `attrs_fields`, and its content number.
typedef struct known_attrs {
    uint64_t hash;
    uint32_t first, count, content;
    bool is_used;
} known_attrs;

bool rk_hlo_prepare(rk_hlo_reader *reader, size_t code_bytes) {
    enum { BYTES_PER_NODE = 128, BYTES_PER_FIELD = 64 };
    enum { BYTES_PER_SLOT = 64, LEAST_SLOTS = 16, MOST_SLOTS = 1 << 13 };
    uint64_t slots = LEAST_SLOTS;
    while (slots < MOST_SLOTS && slots * BYTES_PER_SLOT < code_bytes)
        slots *= 2;
    memset(reader->names, 0xFF, sizeof reader->names); // RK_NO_ID
    memset(reader->types, 0xFF, sizeof reader->types);
    if (!rk_hlo_grow(reader, &reader->memo, slots * sizeof(rk_hlo_memo)) ||
        !rk_hlo_grow(reader, &reader->pending, 1) || !rk_hlo_grow(reader, &reader->scratch, 1))
        return false;
    // Estimates from the code size. Unused memory is never touched.
    rk_model_reserve_nodes(reader->model, code_bytes / BYTES_PER_NODE,
                           code_bytes / BYTES_PER_FIELD);
    memset(reader->memo.items, 0, reader->memo.capacity_bytes);
    if (reader->canon) {
        if (!rk_hlo_grow(reader, &reader->attrs_memo, slots * sizeof(known_attrs)) ||
            !rk_hlo_grow(reader, &reader->attrs_fields, 1) ||
            !rk_hlo_grow(reader, &reader->same, slots * sizeof(rk_hlo_same)))
            return false;
        memset(reader->same.items, 0, reader->same.capacity_bytes);
        memset(reader->attrs_memo.items, 0, reader->attrs_memo.capacity_bytes);
    }
    reader->memo_mask = slots - 1;
    return true;
}

// The hash needs no secret: a collision only makes the reader decode something again.
static uint64_t hash(const void *owner, rk_span data, uint64_t number) {
    // Owners are static objects, so the distances between them are the same in every process.
    uint64_t owner_id = (uint64_t)((uintptr_t)owner - (uintptr_t)&rk_hlo_module_fields);
    return rk_quick_hash(owner_id ^ (number << 32) ^ (number >> 32), data);
}

bool rk_hlo_find(rk_hlo_reader *reader, const void *owner, rk_span data, uint64_t number,
                 rk_hlo_memo **out_slot) {
    // Long messages are not cached. Otherwise nested messages would be hashed again at every level.
    enum { MOST_BYTES = 1 << 16 };
    if (RK_UNLIKELY(data.len > MOST_BYTES)) {
        *out_slot = &reader->no_memo;
        return false;
    }
    uint64_t value = data.data ? data.len : number;
    rk_hlo_memo *slots = reader->memo.items;
    rk_hlo_memo *slot = &slots[hash(owner, data, value) & reader->memo_mask];
    *out_slot = slot;
    if (slot->owner != owner || slot->value != value || !slot->data != !data.data)
        return false;
    return !data.data || rk_span_equal(rk_span_of(slot->data, data.len), data);
}

void rk_hlo_remember(rk_hlo_memo *slot, const void *owner, rk_span data, uint64_t number,
                     uint32_t id) {
    if (id != RK_NO_ID)
        *slot = (rk_hlo_memo){owner, data.data, data.data ? data.len : number, id};
}

uint32_t rk_hlo_name(rk_hlo_reader *reader, uint16_t name_id, const char *name) {
    uint32_t *id = &reader->names[name_id];
    if (RK_UNLIKELY(*id == RK_NO_ID))
        *id = rk_model_add_string(reader->model, rk_span_text(name));
    return *id;
}

uint32_t rk_hlo_word(rk_hlo_reader *reader, rk_hlo_words word) {
    static const char *const TEXTS[] = {
        [RK_HLO_MODULE] = "hlo.module",
        [RK_HLO_COMPUTATION] = "hlo.computation",
        [RK_HLO_SYM_NAME] = "sym_name",
        [RK_HLO_ROOT] = "root",
        [RK_HLO_ENTRY] = "entry",
        [RK_HLO_SCHEDULE] = "schedule",
        [RK_HLO_CONFIG] = "config",
        [RK_HLO_LITERAL] = "literal",
        [RK_HLO_CONTROL_PREDECESSORS] = "control_predecessors",
        [RK_HLO_CALLED_COMPUTATIONS] = "called_computations",
        [RK_HLO_TENSOR] = "tensor",
        [RK_HLO_DYNAMIC_DIMENSIONS] = "dynamic_dimensions",
        [RK_HLO_DYNAMIC_SIZES] = "dynamic_sizes",
        [RK_HLO_SPARSE_INDICES] = "sparse_indices",
        [RK_HLO_OPAQUE] = "hlo",
    };
    return rk_hlo_name(reader, (uint16_t)(RK_HLO_MAX_NAMES + (unsigned)word), TEXTS[word]);
}

bool rk_hlo_push(rk_hlo_reader *reader, uint32_t name, uint32_t node) {
    uint64_t needed = ((uint64_t)reader->pending_count + 1) * sizeof(rk_field);
    if (node == RK_NO_ID || !rk_hlo_grow(reader, &reader->pending, needed))
        return false;
    rk_field *fields = reader->pending.items;
    fields[reader->pending_count++] = (rk_field){name, node};
    return true;
}

uint32_t rk_hlo_take_fields(rk_hlo_reader *reader, uint32_t mark, uint32_t *out_count) {
    rk_model *model = reader->model;
    const rk_field *fields = reader->pending.items;
    uint32_t first = model->fields.count;
    *out_count = reader->pending_count - mark;
    for (uint32_t i = mark; i < reader->pending_count; i++)
        if (rk_model_add_field(model, fields[i].name, fields[i].node) == RK_NO_ID)
            return RK_NO_ID;
    reader->pending_count = mark;
    return first;
}

uint32_t rk_hlo_take_attrs(rk_hlo_reader *reader, uint32_t mark, uint32_t *out_count) {
    enum { FEW = 24 };
    const rk_model *model = reader->model;
    rk_field *fields = (rk_field *)reader->pending.items + mark;
    uint32_t count = reader->pending_count - mark;
    if (count > FEW) {
        uint32_t first = rk_hlo_take_fields(reader, mark, out_count);
        if (first != RK_NO_ID)
            rk_model_sort_fields(reader->model, first, *out_count);
        return first;
    }
    // Most operations have few attributes: insertion sort is the fastest.
    for (uint32_t i = 1; i < count; i++) {
        rk_field field = fields[i];
        rk_span name = rk_model_string(model, field.name);
        uint32_t at = i;
        for (; at && rk_span_compare(rk_model_string(model, fields[at - 1].name), name) > 0; at--)
            fields[at] = fields[at - 1];
        fields[at] = field;
    }
    return rk_hlo_take_fields(reader, mark, out_count);
}

static bool learn_attrs(rk_hlo_reader *reader, uint32_t mark, known_attrs *slot) {
    uint32_t count = reader->pending_count - mark;
    const rk_field *fields = (const rk_field *)reader->pending.items + mark;
    uint64_t needed = (uint64_t)(reader->attrs_field_count + count) * sizeof *fields;
    if (!rk_hlo_grow(reader, &reader->attrs_fields, needed))
        return false;
    memcpy((rk_field *)reader->attrs_fields.items + reader->attrs_field_count, fields,
           count * sizeof *fields);
    slot->first = reader->attrs_field_count;
    slot->count = count;
    reader->attrs_field_count += count;
    uint32_t first = rk_hlo_take_attrs(reader, mark, &count);
    if (first == RK_NO_ID)
        return false;
    slot->content = rk_canon_attrs(reader->canon, RK_CONTENT_ATTRS, first, count);
    slot->is_used = true;
    return !reader->canon->failed;
}

bool rk_hlo_take_content(rk_hlo_reader *reader, uint32_t mark, uint32_t *out_content) {
    const rk_field *fields = (const rk_field *)reader->pending.items + mark;
    uint32_t count = reader->pending_count - mark;
    *out_content = RK_CANON_NONE;
    if (!count)
        return true;
    size_t bytes = count * sizeof *fields;
    uint64_t wanted = rk_quick_hash(0, rk_span_of(fields, bytes));
    known_attrs *slot = (known_attrs *)reader->attrs_memo.items + (wanted & reader->memo_mask);
    const rk_field *known = (const rk_field *)reader->attrs_fields.items + slot->first;
    if (RK_LIKELY(slot->is_used && slot->hash == wanted && slot->count == count &&
                  memcmp(known, fields, bytes) == 0)) {
        reader->pending_count = mark;
    } else {
        slot->hash = wanted;
        if (!learn_attrs(reader, mark, slot))
            return false;
    }
    *out_content = slot->content;
    return true;
}

uint32_t rk_hlo_add_node(rk_hlo_reader *reader, rk_node node, uint32_t mark) {
    node.first_field = rk_hlo_take_fields(reader, mark, &node.field_count);
    if (node.first_field == RK_NO_ID)
        return RK_NO_ID;
    return rk_model_add_node(reader->model, node);
}

rk_span rk_hlo_keep_text(rk_hlo_reader *reader, const rk_buf *text) {
    if (!text->failed)
        return rk_model_keep(reader->model, rk_buf_span(text));
    reader->model->out_of_memory = true;
    return (rk_span){0};
}

rk_span rk_hlo_keep_ints(rk_hlo_reader *reader, size_t count) {
    if (!count)
        return (rk_span){0};
    return rk_model_keep(reader->model, rk_span_of(reader->scratch.items, count * sizeof(int64_t)));
}

uint32_t rk_hlo_add_ints(rk_hlo_reader *reader, size_t count) {
    rk_node node = {
        .kind = RK_NODE_INTS, .name = RK_NO_ID, .bytes = rk_hlo_keep_ints(reader, count)};
    return rk_model_add_node(reader->model, node);
}
