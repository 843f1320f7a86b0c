#include "cli/shapes_advice.h"

#include <inttypes.h>

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
    *out = (rk_shapes_advice){.family = family, .seen = seen};
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

bool rk_shapes_is_worth_it(const rk_shapes_advice *advice) {
    return advice->plans[advice->chosen].count < advice->family->member_count;
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
    if (!rk_shapes_is_worth_it(advice)) {
        rk_buf_add_format(out,
                          "Do not pad: fewer than %zu sizes would save compilations, but the "
                          "padding would cost more than that.",
                          sizes);
        return;
    }
    rk_buf_add_text(out, "Pad n to ");
    rk_shapes_add_bounds(plan, " or ", out);
    rk_buf_add_format(out,
                      ": then %zu program%s compiled instead of %zu, a start with an empty store "
                      "takes %s less, and ",
                      plan->count, plan->count == 1 ? " is" : "s are", sizes,
                      rk_text_seconds(plan->saved_ns).text);
    rk_shapes_add_percent(plan->waste, out);
    rk_buf_add_text(out, " of what is computed along n is padding.");
}
