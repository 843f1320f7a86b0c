// Finds equal blocks in a row in a program: the layers of a model with an unrolled loop, each of
// which is compiled again. Reported only if they are most of the program.
#include "base/alloc.h"
#include "diagnose/diff/hash.h"
#include "diagnose/explain/work_internal.h"

enum {
    BLOCKS_MIN = 4, // fewer are not reported
    OPS_MIN = 8,    // operations in one block
    GRAM = 4,       // operations that are hashed together
    PERIODS = 16,   // candidate lengths of a block
    ITEMS_LOOKED_AT = 512,
    BODY_LOOKED_AT = 4096, // operations
    LINES_MAX = 64,        // of the body of a loop
    RUNS_MAX = 6, // runs of blocks in one program: forward, backward, encoder, decoder, …
};

// Minimum shares of layers: in all operations of the program, and in those outside of the loops of
// libraries, which update the parameters of each layer. Blocks without matrix products may be the
// update of a hand-written optimizer, unless the program consists of them.
#define LAYERS_SHARE_MIN         0.33
#define LAYERS_SHARE_OF_REST_MIN 0.5
#define OTHERS_SHARE_MIN         0.8

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

// Of all candidate lengths, the run that covers the most operations. `count` is 0 if there is none.
static run find_run(const uint64_t *hashes, uint32_t count, const period *periods) {
    run best = {0};
    for (uint32_t i = 0; i < PERIODS; i++) {
        if (!periods[i].votes)
            continue;
        run one = longest_run(hashes, count, periods[i].length);
        uint64_t covered = (uint64_t)one.count * one.length,
                 most = (uint64_t)best.count * best.length;
        if (one.count >= BLOCKS_MIN &&
            (covered > most || (covered == most && one.count > best.count)))
            best = one;
    }
    return best;
}

// Reads the frames of the user of one operation of the blocks. Returns false if it has none, or
// none below the call of the program.
static bool read_frames(const rk_program_index *index, const rk_program_index_function *function,
                        run blocks, uint32_t i, rk_path *out) {
    rk_path_read(index->model, index->items[function->first + blocks.first + i].op, RK_FILE_USER,
                 out);
    return out->count && !(index->call.line && rk_source_same_line(&out->frames[0], &index->call));
}

// The innermost frame of the user that all operations of the blocks share, which is the line of
// the loop if the block is a function. Without a shared frame below the call of the program, the
// line of the first operation: then `out_is_shared` is false. `out_shared`: all shared frames; may
// be NULL.
static rk_source place_of(const rk_program_index *index, const rk_program_index_function *function,
                          run blocks, bool *out_is_shared, rk_path *out_shared) {
    rk_path common = {.count = 0}, other;
    rk_source first = {0};
    uint32_t end = blocks.length * blocks.count, looked_at = 0;
    for (uint32_t i = 0; i < end && looked_at < ITEMS_LOOKED_AT; i++) {
        if (!read_frames(index, function, blocks, i, &other))
            continue;
        if (looked_at++) {
            rk_path_keep_shared(&common, &other);
        } else {
            first = other.frames[0];
            common = other;
        }
    }
    bool is_call =
        common.count && index->call.line && rk_source_same_line(&common.frames[0], &index->call);
    if (out_shared)
        *out_shared = common;
    *out_is_shared = common.count && !is_call;
    return *out_is_shared ? common.frames[0] : first;
}

// Lines of one function, and in how many blocks each occurs.
typedef struct body {
    struct {
        rk_source place;
        uint32_t last_block, blocks;
    } lines[LINES_MAX];
    uint32_t count;
} body;

// Returns false if the line is of another function than the others, or is one too many.
static bool add_line(body *lines, const rk_source *line, uint32_t block) {
    uint32_t at = 0;
    while (at < lines->count && lines->lines[at].place.line != line->line)
        at++;
    if (at == LINES_MAX ||
        (lines->count && (!rk_span_equal(line->file, lines->lines[0].place.file) ||
                          !rk_span_equal(line->function, lines->lines[0].place.function))))
        return false;
    bool is_new = at == lines->count;
    if (is_new)
        lines->lines[lines->count++].place = *line;
    lines->lines[at].blocks += is_new || lines->lines[at].last_block != block;
    lines->lines[at].last_block = block;
    return true;
}

// Returns whether an operation outside of the blocks comes from the same function as the line,
// below the shared frames: then the loop is in this function. Otherwise the function may be the
// body, which the shared line calls for each block.
static bool has_more_lines(const rk_program_index *index, const rk_program_index_function *function,
                           run blocks, const rk_path *shared, const rk_source *line) {
    rk_path other;
    uint32_t end = function->count < BODY_LOOKED_AT ? function->count : BODY_LOOKED_AT;
    for (uint32_t i = 0; i < end; i++) {
        bool is_block = i >= blocks.first && i < blocks.first + blocks.length * blocks.count;
        if (is_block)
            continue;
        rk_path_read(index->model, index->items[function->first + i].op, RK_FILE_USER, &other);
        if (other.count <= shared->count)
            continue;
        rk_path common = other;
        rk_path_keep_shared(&common, shared);
        const rk_source *its = &other.frames[other.count - 1 - shared->count];
        if (common.count == shared->count && rk_span_equal(its->file, line->file) &&
            rk_span_equal(its->function, line->function))
            return true;
    }
    return false;
}

// Finds the first line in the body of the loop. False if the lines below the shared frames belong
// to several functions, or if the shared line may be that of the loop. The blocks may begin before
// the loop, with an equal operation: a line of the loop occurs in all blocks, or in all but one.
static bool find_body(const rk_program_index *index, const rk_program_index_function *function,
                      run blocks, const rk_path *shared, bool is_shared, rk_source *out_place) {
    body lines = {.count = 0};
    rk_path other;
    uint32_t end = blocks.length * blocks.count;
    while (end > BODY_LOOKED_AT && end > 2 * blocks.length)
        end -= blocks.length;
    *out_place = (rk_source){0};
    for (uint32_t i = 0; i < end; i++) {
        if (!read_frames(index, function, blocks, i, &other))
            continue;
        if (other.count <= shared->count ||
            !add_line(&lines, &other.frames[other.count - 1 - shared->count], i / blocks.length))
            return false;
    }
    if (!lines.count ||
        (is_shared && !has_more_lines(index, function, blocks, shared, &lines.lines[0].place)))
        return false;
    for (uint32_t i = 0; i < lines.count; i++)
        if (lines.lines[i].blocks + 1 >= end / blocks.length &&
            (!out_place->line || lines.lines[i].place.line < out_place->line))
            *out_place = lines.lines[i].place;
    if (out_place->line)
        return true;
    uint32_t most = 0; // two loops with one body: the one with more blocks
    for (uint32_t i = 1; i < lines.count; i++)
        most = lines.lines[i].blocks > lines.lines[most].blocks ? i : most;
    *out_place = lines.lines[most].place;
    return true;
}

// Hashes the first line of the user in a block, wherever the loop was called from; 0 if the block
// has no line. Blocks may begin with any of their operations.
static uint64_t hash_body(const rk_program_index *index, const rk_program_index_function *function,
                          run blocks) {
    rk_source first = {0}, place;
    for (uint32_t i = 0; i < blocks.length && i < ITEMS_LOOKED_AT; i++) {
        uint32_t op = index->items[function->first + blocks.first + i].op;
        if (!rk_source_of(index->model, index->model->ops.items[op].location, &place))
            continue;
        int order = first.line ? rk_span_compare(place.file, first.file) : -1;
        if (order < 0 || (order == 0 && place.line < first.line))
            first = place;
    }
    return first.line ? rk_hash_mix(rk_hash_span(RK_HASH_SEED, first.file), first.line) : 0;
}

// Libraries whose layers a user stacks in a loop, and can scan over. The loops of other libraries
// are their own: over the parameters of an optimizer, over the stages of a solver. Layers of Keras
// own their variables, so a scan cannot take them.
static bool has_layers(rk_span package) {
    static const char *const names[] = {"flax",  "equinox",      "haiku",    "jax",
                                        "torch", "transformers", "torch_xla"};
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++)
        if (rk_span_is(package, names[i]))
            return true;
    return false;
}

// Who wrote the operations of a block.
typedef struct owners {
    uint32_t user, library, all;
} owners;

// Counts the operations of one block that are written in the user's code below the line of the
// loop, and those that are inside of a library that loops by itself.
static owners count_owners(const rk_program_index *index, const rk_program_index_function *function,
                           run blocks, const rk_source *loop) {
    rk_path path;
    owners found = {0};
    for (uint32_t i = 0; i < blocks.length && found.all < ITEMS_LOOKED_AT; i++) {
        rk_path_read(index->model, index->items[function->first + blocks.first + i].op,
                     RK_FILE_FRAMEWORK, &path);
        bool library = false;
        bool user = path.count && rk_file_owner_of(path.frames[0].file) == RK_FILE_USER;
        for (uint32_t k = 0; k < path.count; k++) {
            if (loop && rk_source_same_line(&path.frames[k], loop))
                break;
            rk_span package = rk_source_package(path.frames[k].file);
            user |= rk_file_owner_of(path.frames[k].file) == RK_FILE_USER;
            library |= package.len && !has_layers(package);
        }
        found.all++;
        found.user += user;
        found.library += library;
    }
    return found;
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

// What is known about all blocks of a program so far.
typedef struct summary {
    run best;                                  // the run with the most work
    const rk_program_index_function *function; // of `best`
    uint64_t best_work, work;
} summary;

typedef struct found {
    summary layers, others;
    uint64_t library_work; // of blocks that a library makes
} found;

static void add_run(summary *sum, const rk_program_index_function *function, run one,
                    uint64_t work) {
    sum->work += work;
    if (work <= sum->best_work)
        return;
    sum->best = one;
    sum->function = function;
    sum->best_work = work;
}

// Decides whether the blocks may be layers: with matrix products or kernels, or at least of the
// user's own code.
static void judge_run(const rk_program_index *index, const rk_program_index_function *function,
                      const rk_work *work, run one, found *all) {
    uint32_t first = function->first + one.first, end = first + one.count * one.length;
    bool is_mlir =
        !rk_span_is(rk_model_string(index->model, index->model->ops.items[0].name), "hlo.module");
    bool shared, contracts = has_kernels(index, function, one);
    uint64_t sum = 0;
    for (uint32_t i = first; i < end; i++) {
        sum += work->items[i].operations;
        contracts |= work->items[i].contracts;
    }
    rk_source place = place_of(index, function, one, &shared, NULL);
    owners written = count_owners(index, function, one, shared ? &place : NULL);
    if (is_mlir && 2 * written.library >= written.all)
        all->library_work += sum;
    else if (contracts)
        add_run(&all->layers, function, one, sum);
    else if (is_mlir && 2 * written.user >= written.all)
        add_run(&all->others, function, one, sum);
}

static rk_err *find_runs(const rk_program_index *index, const rk_program_index_function *function,
                         const rk_work *work, found *all) {
    period periods[PERIODS] = {{0, 0}};
    rk_autofree uint64_t *hashes = hash_items(index, function);
    if (!hashes)
        return rk_err_no_memory();
    RK_TRY(find_periods(hashes, function->count, periods));
    for (uint32_t i = 0; i < RUNS_MAX; i++) {
        run one = find_run(hashes, function->count, periods);
        if (!one.count)
            break;
        judge_run(index, function, work, one, all);
        // From now on, these operations are equal to no other operation.
        for (uint32_t k = one.first; k < one.first + one.count * one.length; k++)
            hashes[k] = rk_hash_mix(hashes[k], k + 1);
    }
    return NULL;
}

// Returns the blocks that are worth a finding; NULL if there are none.
static const summary *choose(const found *all, uint64_t total) {
    double layers = (double)all->layers.work, others = (double)all->others.work;
    double rest = (double)(total - all->library_work);
    if (all->layers.work && layers >= LAYERS_SHARE_MIN * (double)total &&
        layers >= LAYERS_SHARE_OF_REST_MIN * rest)
        return &all->layers;
    return all->others.work && others >= OTHERS_SHARE_MIN * (double)total ? &all->others : NULL;
}

// Finds the blocks with the most work in any function: a jitted function that a larger one calls.
static rk_err *find_minor(const rk_program_index *index, const rk_work *work, found *all) {
    enum { FUNCTIONS_MAX = 256 };
    for (uint32_t f = 1, searched = 0; f < index->function_count && searched < FUNCTIONS_MAX; f++) {
        if (f == index->entry || index->functions[f].count < BLOCKS_MIN * OPS_MIN)
            continue;
        searched++;
        RK_TRY(find_runs(index, &index->functions[f], work, all));
    }
    return NULL;
}

static rk_err *describe(const rk_program_index *index, const summary *sum, double share,
                        bool is_minor, rk_blocks *out_blocks) {
    bool is_shared;
    rk_path shared;
    rk_source place = place_of(index, sum->function, sum->best, &is_shared, &shared), first;
    if (find_body(index, sum->function, sum->best, &shared, is_shared, &first))
        place = first;
    *out_blocks = (rk_blocks){.count = sum->best.count,
                              .op_count = sum->best.length,
                              .share = share < 1 ? share : 1,
                              .custom_kernel = has_kernels(index, sum->function, sum->best),
                              .is_minor = is_minor,
                              .body = hash_body(index, sum->function, sum->best),
                              .line = place.line};
    return rk_difference_text(place.file, &out_blocks->file);
}

rk_err *rk_find_blocks(const rk_program_index *index, rk_blocks *out_blocks) {
    const rk_program_index_function *function = &index->functions[index->entry];
    *out_blocks = (rk_blocks){0};
    if (!index->entry)
        return NULL;
    RK_AUTO(rk_work) work = {0};
    found all = {.library_work = 0};
    RK_TRY(rk_work_measure(index, &work));
    if (function->count >= BLOCKS_MIN * OPS_MIN)
        RK_TRY(find_runs(index, function, &work, &all));
    const summary *sum = choose(&all, work.total);
    if (sum)
        return describe(index, sum, (double)sum->work / (double)work.total, false, out_blocks);
    RK_TRY(find_minor(index, &work, &all));
    sum = all.layers.best_work ? &all.layers : &all.others;
    if (!sum->best_work)
        return NULL;
    return describe(index, sum, (double)sum->best_work / (double)work.total, true, out_blocks);
}
