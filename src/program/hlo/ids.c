// Resolves ids of instructions and computations, and finds the order of computations.
#include "program/hlo/read_internal.h"

// One pass of merge sort: merges sorted runs of `width` in `from` into runs of twice that width in
// `into`.
static void merge_runs(const rk_hlo_pair *from, rk_hlo_pair *into, size_t count, size_t width) {
    for (size_t start = 0; start < count; start += 2 * width) {
        size_t middle = count - start < width ? count : start + width;
        size_t end = count - middle < width ? count : middle + width;
        size_t left = start, right = middle;
        for (size_t i = start; i < end; i++) {
            bool take_left = right == end || (left < middle && from[left].key <= from[right].key);
            into[i] = take_left ? from[left++] : from[right++];
        }
    }
}

void rk_hlo_sort(rk_hlo_pair *pairs, rk_hlo_pair *scratch, size_t count) {
    rk_hlo_pair *from = pairs, *into = scratch;
    for (size_t width = 1; width < count; width *= 2) {
        merge_runs(from, into, count, width);
        rk_hlo_pair *swap = from;
        from = into;
        into = swap;
    }
    if (from != pairs && count)
        memcpy(pairs, from, count * sizeof *pairs);
}

bool rk_hlo_sort_array(rk_hlo_reader *reader, rk_hlo_array *pairs, size_t count) {
    rk_hlo_array scratch = {0};
    if (!rk_hlo_grow(reader, &scratch, (uint64_t)count * sizeof(rk_hlo_pair)))
        return false;
    rk_hlo_sort(pairs->items, scratch.items, count);
    rk_hlo_shrink(reader, &scratch);
    return true;
}

static bool has_duplicate(const rk_hlo_pair *sorted, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (sorted[i].key == sorted[i - 1].key)
            return true;
    return false;
}

static const rk_hlo_pair *find_pair(const rk_hlo_pair *sorted, size_t count, int64_t key) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && sorted[low].key == key ? &sorted[low] : NULL;
}

static const char DUPLICATE[] = "two instructions of one computation have the same id";

// Makes a table from the least id on. XLA's ids are usually close together.
static bool make_table(rk_hlo_reader *reader, const int64_t *ids, uint32_t count, uint64_t span) {
    if (!rk_hlo_grow(reader, &reader->ordinals, span * sizeof(uint32_t)))
        return false;
    uint32_t *table = reader->ordinals.items;
    memset(table, 0xFF, (size_t)span * sizeof *table); // RK_NO_ID
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *slot = &table[(uint64_t)ids[i] - reader->least_id];
        if (*slot != RK_NO_ID)
            return rk_hlo_fail(reader, DUPLICATE);
        *slot = i;
    }
    return true;
}

static bool make_pairs(rk_hlo_reader *reader, const int64_t *ids, uint32_t count) {
    if (!rk_hlo_grow(reader, &reader->ordinals, (uint64_t)count * sizeof(rk_hlo_pair)))
        return false;
    rk_hlo_pair *pairs = reader->ordinals.items;
    for (uint32_t i = 0; i < count; i++)
        pairs[i] = (rk_hlo_pair){ids[i], i};
    if (!rk_hlo_sort_array(reader, &reader->ordinals, count))
        return false;
    return !has_duplicate(pairs, count) || rk_hlo_fail(reader, DUPLICATE);
}

bool rk_hlo_enter_computation(rk_hlo_reader *reader, const rk_hlo_computation *computation) {
    enum { SPARSEST = 4 }; // table slots per id in use
    const int64_t *ids = reader->instruction_ids.items;
    uint32_t count = computation->instruction_count;
    ids += computation->first_instruction;
    int64_t least = ids[0], most = ids[0];
    for (uint32_t i = 1; i < count; i++) {
        least = ids[i] < least ? ids[i] : least;
        most = ids[i] > most ? ids[i] : most;
    }
    uint64_t distance = (uint64_t)most - (uint64_t)least;
    reader->least_id = (uint64_t)least;
    reader->table_size = distance / SPARSEST < count ? distance + 1 : 0;
    if (reader->table_size)
        return make_table(reader, ids, count, reader->table_size);
    return make_pairs(reader, ids, count);
}

bool rk_hlo_ordinal(rk_hlo_reader *reader, const rk_hlo_computation *computation, int64_t id,
                    uint32_t *out_ordinal) {
    *out_ordinal = RK_NO_ID;
    if (reader->table_size) {
        uint64_t at = (uint64_t)id - reader->least_id;
        if (at < reader->table_size)
            *out_ordinal = ((const uint32_t *)reader->ordinals.items)[at];
    } else {
        const rk_hlo_pair *pair =
            find_pair(reader->ordinals.items, computation->instruction_count, id);
        if (pair)
            *out_ordinal = (uint32_t)pair->value;
    }
    return *out_ordinal != RK_NO_ID ||
           rk_hlo_fail(reader, "a reference to an instruction outside its computation");
}

bool rk_hlo_index_computations(rk_hlo_reader *reader) {
    const rk_hlo_computation *computations = reader->computations.items;
    uint32_t count = reader->computation_count;
    uint64_t bytes = (uint64_t)count * sizeof(rk_hlo_pair);
    if (!rk_hlo_grow(reader, &reader->computation_ids, bytes))
        return false;
    rk_hlo_pair *pairs = reader->computation_ids.items;
    for (uint32_t i = 0; i < count; i++)
        pairs[i] = (rk_hlo_pair){computations[i].id, i};
    if (!rk_hlo_sort_array(reader, &reader->computation_ids, count))
        return false;
    return !has_duplicate(pairs, count) || rk_hlo_fail(reader, "two computations have the same id");
}

bool rk_hlo_computation_of(rk_hlo_reader *reader, int64_t id, uint32_t *out_index) {
    const rk_hlo_pair *pair =
        find_pair(reader->computation_ids.items, reader->computation_count, id);
    if (!pair)
        return rk_hlo_fail(reader, "a reference to an unknown computation");
    *out_index = (uint32_t)pair->value;
    return true;
}

// Depth-first search without recursion. `stack` holds computations that wait for their callees.
static bool visit(rk_hlo_reader *reader, uint32_t root, uint32_t *stack, uint32_t *order) {
    rk_hlo_computation *computations = reader->computations.items;
    const int64_t *calls = reader->calls.items;
    uint32_t depth = 0;
    stack[depth++] = root;
    computations[root].is_seen = true;
    while (depth) {
        rk_hlo_computation *top = &computations[stack[depth - 1]];
        if (top->next_call == top->end_call) {
            order[reader->order_count++] = stack[--depth];
            continue;
        }
        uint32_t called;
        if (!rk_hlo_computation_of(reader, calls[top->next_call++], &called))
            return false;
        if (!computations[called].is_seen) {
            computations[called].is_seen = true;
            stack[depth++] = called;
        }
    }
    return true;
}

bool rk_hlo_find_order(rk_hlo_reader *reader) {
    uint32_t count = reader->computation_count, entry;
    rk_hlo_array stack = {0};
    if (!rk_hlo_computation_of(reader, reader->entry_computation_id, &entry) ||
        !rk_hlo_grow(reader, &reader->order, (uint64_t)count * sizeof(uint32_t)) ||
        !rk_hlo_grow(reader, &stack, (uint64_t)count * sizeof(uint32_t)))
        return false;
    bool good = visit(reader, entry, stack.items, reader->order.items);
    rk_hlo_shrink(reader, &stack);
    const rk_hlo_computation *computations = reader->computations.items;
    uint32_t *order = reader->order.items;
    for (uint32_t i = 0; i < count; i++)
        if (!computations[i].is_seen)
            order[reader->order_count++] = i;
    return good;
}
