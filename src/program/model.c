#include "program/model.h"

#include <stdlib.h>

#include "base/alloc.h"

// Bytes owned by the model: a list of chunks, freed together. New bytes go to the first chunk.
typedef struct rk_model_scratch {
    struct rk_model_scratch *next;
    size_t used, capacity;
    uint8_t bytes[];
} scratch;

void rk_model_free(rk_model *model) {
    if (!model)
        return;
    rk_free(model->strings.items);
    rk_free(model->nodes.items);
    rk_free(model->fields.items);
    rk_free(model->ops.items);
    rk_free(model->values.items);
    rk_free(model->operands.items);
    rk_free(model->successors.items);
    rk_free(model->regions.items);
    rk_free(model->blocks.items);
    for (uint32_t i = 0; i < model->payloads.count; i++)
        rk_model_free(model->payloads.items[i]); // payloads have no payloads: no deeper recursion
    rk_free(model->payloads.items);
    rk_free(model->payload_nodes.items);
    while (model->scratch) {
        scratch *next = model->scratch->next;
        rk_free(model->scratch);
        model->scratch = next;
    }
    rk_free(model);
}

bool rk_model_take_budget(rk_model *model, size_t bytes) {
    if (bytes > model->budget_bytes) {
        model->out_of_memory = true;
        return false;
    }
    model->budget_bytes -= bytes;
    return true;
}

// Makes space for `count` more items in an array. False if there is none.
static bool grow(rk_model *model, void **items, uint32_t *capacity, uint32_t used, uint32_t count,
                 size_t item_bytes) {
    enum { FIRST_CAPACITY = 64 };
    uint64_t needed = (uint64_t)used + count;
    if (needed <= *capacity)
        return true;
    uint64_t wanted = *capacity ? *capacity : FIRST_CAPACITY;
    while (wanted < needed)
        wanted *= 2;
    if (wanted >= RK_NO_ID ||
        !rk_model_take_budget(model, (size_t)(wanted - *capacity) * item_bytes)) {
        model->out_of_memory = true;
        return false;
    }
    void *grown = rk_realloc(*items, (size_t)wanted * item_bytes);
    if (!grown) {
        model->out_of_memory = true;
        return false;
    }
    *items = grown;
    *capacity = (uint32_t)wanted;
    return true;
}

// Appends `count` items to an array. Returns the index of the first, or RK_NO_ID.
#define APPEND(model, array, source, number)                                                       \
    (__extension__({                                                                               \
        uint32_t at_ = RK_NO_ID;                                                                   \
        void *items_ = (model)->array.items;                                                       \
        if (grow((model), &items_, &(model)->array.capacity, (model)->array.count, (number),       \
                 sizeof *(model)->array.items)) {                                                  \
            (model)->array.items = items_;                                                         \
            at_ = (model)->array.count;                                                            \
            for (uint32_t i_ = 0; i_ < (number); i_++)                                             \
                (model)->array.items[at_ + i_] = (source);                                         \
            (model)->array.count += (number);                                                      \
        }                                                                                          \
        at_;                                                                                       \
    }))

uint32_t rk_model_add_string(rk_model *model, rk_span text) {
    return APPEND(model, strings, text, 1);
}

uint32_t rk_model_add_node(rk_model *model, rk_node node) {
    return APPEND(model, nodes, node, 1);
}

uint32_t rk_model_add_field(rk_model *model, uint32_t name, uint32_t node) {
    rk_field field = {name, node};
    return APPEND(model, fields, field, 1);
}

uint32_t rk_model_add_value(rk_model *model, rk_value value) {
    return APPEND(model, values, value, 1);
}

uint32_t rk_model_add_values(rk_model *model, uint32_t count) {
    rk_value value = {RK_NO_ID, RK_NO_ID};
    return APPEND(model, values, value, count);
}

uint32_t rk_model_add_op(rk_model *model, rk_op op) {
    return APPEND(model, ops, op, 1);
}

uint32_t rk_model_add_operand(rk_model *model, uint32_t value) {
    return APPEND(model, operands, value, 1);
}

uint32_t rk_model_add_successor(rk_model *model, uint32_t block) {
    return APPEND(model, successors, block, 1);
}

uint32_t rk_model_add_regions(rk_model *model, uint32_t count) {
    rk_region region = {0};
    return APPEND(model, regions, region, count);
}

uint32_t rk_model_add_blocks(rk_model *model, uint32_t count) {
    rk_block block = {0};
    return APPEND(model, blocks, block, count);
}

uint32_t rk_model_add_payload(rk_model *model, rk_model *payload) {
    return APPEND(model, payloads, payload, 1);
}

uint32_t *rk_model_payload_node(rk_model *model, uint32_t node) {
    while (model->payload_nodes.count <= node)
        if (APPEND(model, payload_nodes, RK_NO_ID, 1) == RK_NO_ID)
            return NULL;
    return &model->payload_nodes.items[node];
}

static void reserve(rk_model *model, void **items, uint32_t *capacity, size_t wanted,
                    size_t item_bytes) {
    size_t bytes = wanted * item_bytes;
    if (wanted <= *capacity || wanted >= UINT32_MAX / 2 || bytes > model->budget_bytes / 4)
        return;
    void *grown = rk_realloc(*items, bytes);
    if (!grown) {
        model->out_of_memory = true;
        return;
    }
    model->budget_bytes -= bytes - *capacity * item_bytes;
    *items = grown;
    *capacity = (uint32_t)wanted;
}

#define RESERVE(model, array, wanted)                                                              \
    do {                                                                                           \
        void *items_ = (model)->array.items;                                                       \
        reserve((model), &items_, &(model)->array.capacity, (wanted),                              \
                sizeof *(model)->array.items);                                                     \
        (model)->array.items = items_;                                                             \
    } while (0)

void rk_model_reserve(rk_model *model, size_t ops, size_t values, size_t operands) {
    RESERVE(model, ops, ops);
    RESERVE(model, values, values);
    RESERVE(model, operands, operands);
}

void rk_model_reserve_nodes(rk_model *model, size_t nodes, size_t fields) {
    RESERVE(model, nodes, nodes);
    RESERVE(model, fields, fields);
}

// The chunk size doubles, so that many small pieces need few allocations.
static bool add_chunk(rk_model *model, size_t needed) {
    enum { FIRST_CHUNK_BYTES = 1 << 10, MAX_CHUNK_BYTES = 1 << 20 };
    size_t capacity = model->scratch ? model->scratch->capacity * 2 : FIRST_CHUNK_BYTES;
    if (capacity > MAX_CHUNK_BYTES)
        capacity = MAX_CHUNK_BYTES;
    if (capacity < needed)
        capacity = needed;
    if (!rk_model_take_budget(model, capacity + sizeof(scratch)))
        return false;
    scratch *chunk = rk_malloc(sizeof *chunk + capacity);
    if (!chunk) {
        model->out_of_memory = true;
        return false;
    }
    *chunk = (scratch){.next = model->scratch, .capacity = capacity};
    model->scratch = chunk;
    return true;
}

uint8_t *rk_model_space(rk_model *model, size_t len) {
    scratch *chunk = model->scratch;
    if (!chunk || chunk->capacity - chunk->used < len) {
        if (!add_chunk(model, len))
            return NULL;
        chunk = model->scratch;
    }
    chunk->used += len;
    return chunk->bytes + (chunk->used - len);
}

rk_span rk_model_keep(rk_model *model, rk_span bytes) {
    uint8_t *kept = rk_model_space(model, bytes.len);
    if (!kept)
        return (rk_span){0};
    if (bytes.len)
        memcpy(kept, bytes.data, bytes.len);
    return rk_span_of(kept, bytes.len);
}

static int compare_fields(const void *a, const void *b, void *context) {
    const rk_model *model = context;
    const rk_field *left = a, *right = b;
    return rk_span_compare(rk_model_string(model, left->name), rk_model_string(model, right->name));
}

void rk_model_sort_fields(rk_model *model, uint32_t first, uint32_t count) {
    uint32_t sorted = 1; // most lists are sorted already
    if (!count)
        return;
    rk_field *fields = model->fields.items + first;
    while (sorted < count && compare_fields(&fields[sorted - 1], &fields[sorted], model) <= 0)
        sorted++;
    if (sorted < count)
        qsort_r(fields, count, sizeof *fields, compare_fields, model);
}

uint32_t rk_model_attr(const rk_model *model, const rk_op *op, const char *name) {
    rk_span wanted = rk_span_text(name);
    uint32_t low = op->first_attr, high = op->first_attr + op->attr_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const rk_field *field = &model->fields.items[middle];
        int order = rk_span_compare(rk_model_string(model, field->name), wanted);
        if (order == 0)
            return field->node;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return RK_NO_ID;
}

void rk_model_count_opaque(rk_model *model, const char *static_reason) {
    if (model->opaque_count++ == 0)
        model->opaque_reason = static_reason;
}

rk_err *rk_model_status(const rk_model *model) {
    if (!model->out_of_memory)
        return NULL;
    return rk_error(RK_RESOURCE_EXHAUSTED,
                    "reading the program takes more memory than rekindle allows for its size");
}
