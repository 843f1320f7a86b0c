#include "cli/shapes_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/fail.h"
#include "cli/text.h"

void rk_shapes_advice_cleanup(rk_shapes_advice *advice) {
    rk_free(advice->sizes);
    rk_buf_cleanup(&advice->call.place);
}

const rk_seen *rk_shapes_member(const rk_shapes_advice *advice, size_t index) {
    return &advice->seen->items[advice->family->members[index]];
}

rk_err *rk_shapes_advise(rk_store *store, const rk_seen_list *seen, const rk_family *family,
                         const rk_shapes_request *request, rk_shapes_advice *out) {
    *out = (rk_shapes_advice){
        .family = family,
        .seen = seen,
        .is_of_several_tensors = rk_seen_is_of_several_tensors(seen, family),
    };
    out->sizes = rk_need(rk_calloc(family->member_count, sizeof *out->sizes));
    for (size_t i = 0; i < family->member_count; i++) {
        const rk_seen *one = rk_shapes_member(out, i);
        out->sizes[i] = (rk_bucket_size){rk_seen_size(one, family), one->uses, one->compile_ns};
        out->compile_ns += one->compile_ns;
    }
    rk_seen_find_call(store, rk_shapes_member(out, 0), &out->call);
    RK_TRY(rk_buckets_plan(out->sizes, family->member_count, request->multiple, RK_BUCKETS_MAX,
                           out->plans, &out->plan_count));
    out->chosen = rk_buckets_choose(out->plans, out->plan_count, request->max_waste);
    return NULL;
}

static uint64_t dim_of(const rk_shapes_advice *advice, size_t member, size_t dim) {
    return (uint64_t)rk_shapes_member(advice, member)->parameters.dims[dim];
}

// Writes what the dimension is for the size n of the axis.
static void name_dimension(const rk_shapes_advice *advice, size_t dim, const char *mark,
                           rk_parameters_symbol *out) {
    size_t count = advice->family->member_count;
    uint64_t n = advice->sizes[0].size, first = dim_of(advice, 0, dim);
    uint64_t last = dim_of(advice, count - 1, dim), factor = n ? first / n : 0;
    bool is_multiple = factor > 0, is_offset = true;
    for (size_t i = 0; i < count; i++) {
        uint64_t size = advice->sizes[i].size, other = dim_of(advice, i, dim);
        is_multiple = is_multiple && other == factor * size;
        is_offset = is_offset && other - size == first - n; // modulo 2^64
    }
    size_t room = sizeof out->text;
    out->hole = dim;
    if ((int64_t)first < 0) // dynamic
        (void)snprintf(out->text, room, "?");
    else if (is_multiple && factor == 1)
        (void)snprintf(out->text, room, "%sn", mark);
    else if (is_multiple)
        (void)snprintf(out->text, room, "%s%" PRIu64 "n", mark, factor);
    else if (is_offset)
        (void)snprintf(out->text, room, "%sn%+" PRId64, mark, (int64_t)(first - n));
    else
        (void)snprintf(out->text, room, "%s%" PRIu64 "..%" PRIu64, mark, first, last);
}

void rk_shapes_add_parameters(const rk_shapes_advice *advice, const char *mark, rk_buf *out) {
    size_t count = advice->family->along_count;
    rk_parameters_symbol *symbols = rk_need(rk_calloc(count + 1, sizeof *symbols));
    for (size_t i = 0; i < count; i++)
        name_dimension(advice, advice->family->along[i], mark ? mark : "", &symbols[i]);
    rk_parameters_print(&rk_shapes_member(advice, 0)->parameters, symbols, count, out);
    rk_free(symbols);
}

// Appends the dimensions that rise with n, but do not follow from it: "17..25"; nothing if there
// are none.
static void add_ranges(const rk_shapes_advice *advice, rk_buf *out) {
    for (size_t i = 0; i < advice->family->along_count; i++) {
        rk_parameters_symbol symbol;
        name_dimension(advice, advice->family->along[i], "", &symbol);
        if (strstr(symbol.text, ".."))
            rk_buf_add_format(out, "%s%s", out->len ? ", " : "", symbol.text);
    }
}

bool rk_shapes_is_worth_it(const rk_shapes_advice *advice) {
    return !advice->is_of_several_tensors &&
           advice->plans[advice->chosen].count < advice->family->member_count;
}

void rk_shapes_add_bounds(const rk_bucket_plan *plan, const char *last_word, rk_buf *out) {
    for (size_t i = 0; i < plan->count; i++) {
        if (i > 0)
            rk_buf_add_text(out, i + 1 == plan->count ? last_word : ", ");
        rk_buf_add_format(out, "%" PRIu64, plan->bounds[i]);
    }
}

void rk_shapes_add_percent(double share, rk_buf *out) {
    rk_buf_add_format(out, share > 0 && share < 0.1 ? "%.1f %%" : "%.0f %%", share * 100);
}

void rk_shapes_add_recommendation(const rk_shapes_advice *advice, rk_buf *out) {
    const rk_bucket_plan *plan = &advice->plans[advice->chosen];
    size_t sizes = advice->family->member_count;
    if (advice->is_of_several_tensors) {
        rk_buf_add_text(out, "Do not pad: the function is also called for inputs with another "
                             "number of axes, as an optimizer is for each parameter. These are no "
                             "sizes of data.");
        return;
    }
    if (!rk_shapes_is_worth_it(advice)) {
        rk_buf_add_text(out, "Do not pad: the padding would take more time than the compilations "
                             "that it saves.");
        return;
    }
    RK_AUTO(rk_buf) ranges = RK_BUF_INIT(0);
    add_ranges(advice, &ranges);
    rk_buf_add_text(out, "Pad n to ");
    rk_shapes_add_bounds(plan, " or ", out);
    if (ranges.len)
        rk_buf_add_format(out, ", and the other sizes (%s) to their largest%s",
                          rk_need_text(&ranges), plan->count > 1 ? " in each bucket" : "");
    rk_buf_add_format(out,
                      ": then %zu program%s compiled instead of %zu, a start with an empty store "
                      "takes %s less, and ",
                      plan->count, plan->count == 1 ? " is" : "s are", sizes,
                      rk_text_seconds(plan->saved_ns).text);
    rk_shapes_add_percent(plan->waste, out);
    rk_buf_add_text(out, " of what is computed along n is padding.");
}
