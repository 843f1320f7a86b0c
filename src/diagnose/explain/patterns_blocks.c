// Reports programs with an unrolled loop over equal layers: one finding for each loop.
#include <inttypes.h>

#include "base/alloc.h"
#include "diagnose/explain/patterns_internal.h"

static uint64_t cost_of_blocks_ns(const rk_explained *item) {
    return (uint64_t)((double)rk_explained_cost_ns(item) * item->blocks.share);
}

// The same place, or equal blocks of the same lines: a function with a loop may be called from
// several places. Without lines: blocks of one size, because a loop over a list has other numbers
// of iterations in other programs; or as many blocks, because the gradient of a layer is larger.
static bool same_loop(const rk_explained *a, const rk_explained *b) {
    const rk_blocks *x = &a->blocks, *y = &b->blocks;
    bool equal = x->count == y->count && x->op_count == y->op_count;
    if (!x->file || !y->file)
        return x->file == y->file && (x->op_count == y->op_count || x->count == y->count);
    return (x->line == y->line && strcmp(x->file, y->file) == 0) ||
           (equal && x->body && x->body == y->body);
}

static void describe(const rk_members *members, const rk_explained *worst, rk_pattern_text *text) {
    const rk_blocks *blocks = &worst->blocks;
    bool torch = rk_explained_is_torch(worst);
    rk_buf_add_format(&text->summary, "%s (request %" PRIu64, rk_explained_name(worst),
                      worst->compile->seq);
    if (members->count > 1)
        rk_buf_add_format(&text->summary, "; these blocks were found in %zu more program%s",
                          members->count - 1, members->count == 2 ? "" : "s");
    rk_buf_add_format(
        &text->summary,
        ") repeats the same block of %u operations %u times, one after the other. "
        "With other operations of the same loop, such as those of its gradient, "
        "the repetitions are about %.0f %% of the program's operations. They are "
        "equal layers, or the iterations of an unrolled loop. Each repetition is compiled. "
        "The seconds shown are a part of the compile times of these programs. "
        "Other findings may count them, too",
        blocks->op_count, blocks->count, 100 * blocks->share);
    if (blocks->custom_kernel)
        rk_buf_add_text(&text->advice,
                        "The blocks contain custom kernels, which not every scan allows. ");
    rk_buf_add_text(
        &text->advice,
        torch
            ? "The blocks come from a loop in Python, from equal layers, or from a layer that "
              "PyTorch unrolls by itself, such as nn.LSTM over its time steps; in the last case, "
              "fewer time steps give fewer blocks. For layers or a loop of your own, a scan "
              "compiles the block once (torch_xla.experimental.scan.scan; if the blocks are layers "
              "of a model: torch_xla.experimental.scan_layers.scan_layers). Conditions: all blocks "
              "have the same shapes and structure, contain no Pallas kernel and no random numbers "
              "(dropout in training), and write no buffers (BatchNorm writes some). Compare the "
              "time of a step, too."
            : "For a loop of your own, jax.lax.scan or jax.lax.fori_loop compiles the block once. "
              "If the blocks are layers of a model: scan over stacked parameters (Flax: "
              "nn.scan, nnx.scan; Haiku: hk.layer_stack). Conditions: all blocks have the same "
              "shapes and structure, and no side effects. Compare the time of a step, too: a scan "
              "may be slower.");
}

static rk_err *add(rk_explainer *e, const rk_members *members) {
    const rk_explained *worst = members->items[0];
    uint64_t cost_ns = 0;
    RK_AUTO(rk_pattern_text) text = {.summary = {0}};
    for (size_t i = 0; i < members->count; i++) {
        cost_ns += cost_of_blocks_ns(members->items[i]);
        if (cost_of_blocks_ns(members->items[i]) > cost_of_blocks_ns(worst))
            worst = members->items[i];
    }
    describe(members, worst, &text);
    RK_TRY(rk_pattern_add(e->out, RK_PATTERN_REPEATED_BLOCKS, members->items, members->count, &text,
                          worst->blocks.file, worst->blocks.line));
    e->out->patterns[e->out->pattern_count - 1].lost_ns = cost_ns;
    return NULL;
}

// Returns whether the members are graphs that grow: their repetitions are what waited for a read.
static bool grows(const rk_pattern *pattern) {
    return pattern->grows;
}

rk_err *rk_find_repeated_blocks(rk_explainer *e) {
    const rk_explanation *x = e->out;
    rk_autofree bool *taken = rk_calloc(x->count + 1, sizeof *taken);
    if (!taken)
        return rk_err_no_memory();
    for (size_t i = 0; i < x->count; i++) {
        if (taken[i] || !x->items[i].blocks.count || x->items[i].blocks.is_minor ||
            rk_is_in_pattern(x, &x->items[i], grows))
            continue;
        RK_AUTO(rk_members) members = {0};
        // A program may also have the loop as a minor part, such as a step with its gradient.
        for (size_t k = 0; k < x->count; k++) {
            const rk_explained *other = &x->items[k];
            if (taken[k] || !other->blocks.count || !same_loop(&x->items[i], other) ||
                rk_is_in_pattern(x, other, grows))
                continue;
            taken[k] = true;
            RK_TRY(rk_members_add(&members, other));
        }
        RK_TRY(add(e, &members));
    }
    return NULL;
}
