// Finds equal blocks in a row in a program: the layers of a model with an unrolled loop, each of
// which is compiled again.
#include "base/alloc.h"
#include "diagnose/diff/hash.h"
#include "diagnose/explain/explain_internal.h"

enum {
    BLOCKS_MIN = 4,  // fewer are not reported
    OPS_MIN = 8,     // operations in one block
    GRAM = 4,        // operations that are hashed together
    PERIODS = 16,    // candidate lengths of a block
    FRAMES_MAX = 48, // frames of one location
    ITEMS_LOOKED_AT = 512,
};

typedef struct period {
    uint32_t length, votes;
} period;

typedef struct run {
    uint32_t first, length, count; // first item, items of one block, number of blocks
} run;

// Hashes each operation with the types of its results: a scan needs blocks that are equal in both.
static uint64_t *hash_items(const rk_program_index *index,
                            const rk_program_index_function *function) {
    uint64_t *hashes = rk_malloc(((size_t)function->count + 1) * sizeof *hashes);
    for (uint32_t i = 0; hashes && i < function->count; i++) {
        const rk_program_index_item *item = &index->items[function->first + i];
        const rk_op *op = &index->model->ops.items[item->op];
        hashes[i] = item->kind;
        for (uint32_t r = 0; r < op->result_count; r++) {
            uint32_t type = index->model->values.items[op->first_result + r].type;
            hashes[i] = rk_hash_mix(hashes[i], type == RK_NO_ID ? 0 : index->node_hash[type]);
        }
    }
    return hashes;
}

static void vote(period *periods, uint32_t length) {
    uint32_t weakest = 0;
    for (uint32_t i = 0; i < PERIODS; i++) {
        if (periods[i].length == length) {
            periods[i].votes++;
            return;
        }
        if (periods[i].votes < periods[weakest].votes)
            weakest = i;
    }
    if (periods[weakest].votes) // a new length takes a vote from the weakest
        periods[weakest].votes--;
    else
        periods[weakest] = (period){length, 1};
}

// Votes for the distances at which the same GRAM operations occur again.
static rk_err *find_periods(const uint64_t *hashes, uint32_t count, period *periods) {
    uint32_t mask = 1;
    while (mask < 2 * count)
        mask = 2 * mask + 1;
    typedef struct slot {
        uint64_t hash;
        uint32_t last; // position + 1; 0: the slot is empty
    } slot;
    rk_autofree slot *slots = rk_calloc((size_t)mask + 1, sizeof *slots);
    if (!slots)
        return rk_err_no_memory();
    for (uint32_t i = 0; i + GRAM <= count; i++) {
        uint64_t hash = RK_HASH_SEED;
        for (uint32_t k = 0; k < GRAM; k++)
            hash = rk_hash_mix(hash, hashes[i + k]);
        uint32_t at = (uint32_t)hash & mask;
        while (slots[at].last && slots[at].hash != hash)
            at = (at + 1) & mask;
        if (slots[at].last && i + 1 - slots[at].last >= OPS_MIN)
            vote(periods, i + 1 - slots[at].last);
        slots[at].hash = hash;
        slots[at].last = i + 1;
    }
    return NULL;
}

// The longest run of blocks of `length` operations: each operation occurs again `length` operations
// later.
static run longest_run(const uint64_t *hashes, uint32_t count, uint32_t length) {
    run best = {0};
    uint32_t since = 0;
    for (uint32_t i = 0; i + length <= count; i++) {
        if (i + length < count && hashes[i] == hashes[i + length])
            continue;
        uint32_t blocks = (i - since) / length + 1;
        if (blocks > best.count)
            best = (run){since, length, blocks};
        since = i + 1;
    }
    return best;
}

// The place of the blocks: the innermost frame that all their operations share, which is the line
// of the loop if the block is a function. Without a shared frame, the line of the first operation.
static rk_source place_of(const rk_program_index *index, const rk_program_index_function *function,
                          run blocks) {
    rk_source common[FRAMES_MAX], frames[FRAMES_MAX], first = {0};
    uint32_t common_count = 0, end = blocks.length * blocks.count, looked_at = 0;
    bool any = false;
    for (uint32_t i = 0; i < end && looked_at < ITEMS_LOOKED_AT; i++) {
        uint32_t op = index->items[function->first + blocks.first + i].op;
        uint32_t count = rk_source_frames(index->model, index->model->ops.items[op].location,
                                          RK_FILE_USER, frames, FRAMES_MAX);
        if (!count || (index->call.line && rk_source_same_line(&frames[0], &index->call)))
            continue;
        looked_at++;
        if (!any) {
            first = frames[0];
            memcpy(common, frames, count * sizeof *frames);
            common_count = count;
            any = true;
            continue;
        }
        uint32_t same = 0; // from the outermost frame on
        while (same < count && same < common_count &&
               rk_source_same_line(&frames[count - 1 - same], &common[common_count - 1 - same]))
            same++;
        memmove(common, common + common_count - same, same * sizeof *common);
        common_count = same;
    }
    bool is_call =
        common_count && index->call.line && rk_source_same_line(&common[0], &index->call);
    return common_count && !is_call ? common[0] : first;
}

static bool has_kernels(const rk_program_index *index, const rk_program_index_function *function,
                        run blocks) {
    static const char *const targets[] = {"tpu_custom_call", "mosaic_gpu_v2",
                                          "__gpu$xla.gpu.triton", "triton_kernel_call"};
    const rk_model *m = index->model;
    for (uint32_t i = 0; i < blocks.length; i++) {
        const rk_op *op = &m->ops.items[index->items[function->first + blocks.first + i].op];
        uint32_t target = rk_model_attr(m, op, "call_target_name");
        if (target == RK_NO_ID)
            target = rk_model_attr(m, op, "custom_call_target");
        for (size_t t = 0; target != RK_NO_ID && t < RK_ARRAY_LEN(targets); t++)
            if (rk_span_is(m->nodes.items[target].bytes, targets[t]))
                return true;
    }
    return false;
}

rk_err *rk_find_blocks(const rk_program_index *index, rk_blocks *out_blocks) {
    const rk_program_index_function *function = &index->functions[index->entry];
    period periods[PERIODS] = {{0, 0}};
    *out_blocks = (rk_blocks){0};
    if (!index->entry || function->count < BLOCKS_MIN * OPS_MIN)
        return NULL;
    rk_autofree uint64_t *hashes = hash_items(index, function);
    if (!hashes)
        return rk_err_no_memory();
    RK_TRY(find_periods(hashes, function->count, periods));
    run best = {0};
    for (uint32_t i = 0; i < PERIODS; i++) {
        if (!periods[i].votes)
            continue;
        run one = longest_run(hashes, function->count, periods[i].length);
        uint64_t covered = (uint64_t)one.count * one.length,
                 most = (uint64_t)best.count * best.length;
        if (one.count >= BLOCKS_MIN &&
            (covered > most || (covered == most && one.count > best.count)))
            best = one;
    }
    if (!best.count)
        return NULL;
    rk_source place = place_of(index, function, best);
    *out_blocks = (rk_blocks){.count = best.count,
                              .op_count = best.length,
                              .custom_kernel = has_kernels(index, function, best),
                              .line = place.line};
    return rk_difference_text(place.file, &out_blocks->file);
}
