#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/fail.h"
#include "cli/out.h"
#include "cli/place.h"
#include "cli/run_names.h"
#include "cli/shapes_advice.h"
#include "cli/verbs.h"

static json_t *plan_json(const rk_bucket_plan *plan) {
    json_t *object = rk_out_object(), *bounds = rk_out_array();
    for (size_t i = 0; i < plan->count; i++)
        rk_out_append(bounds, rk_out_uint(plan->bounds[i]));
    rk_out_set(object, "buckets", bounds);
    rk_out_set(object, "padding", json_real(plan->waste));
    rk_out_set(object, "compilations", rk_out_uint(plan->count));
    rk_out_set(object, "compile_seconds", rk_out_seconds(plan->compile_ns));
    rk_out_set(object, "saved_seconds", rk_out_seconds(plan->saved_ns));
    return object;
}

static json_t *family_json(const rk_shapes_advice *a) {
    json_t *object = rk_out_object(), *sizes = rk_out_array(), *plans = rk_out_array();
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    rk_seen_print_name(rk_shapes_member(a, 0), &text);
    rk_out_set(object, "name", rk_out_text(rk_buf_span(&text)));
    rk_out_set(object, "place",
               a->call.place.len > 0 && !a->call.is_line ? rk_out_text(rk_buf_span(&a->call.place))
                                                         : rk_out_string(NULL));
    rk_buf_clear(&text);
    rk_shapes_add_parameters(a, NULL, &text);
    rk_out_set(object, "parameters", rk_out_text(rk_buf_span(&text)));
    for (size_t i = 0; i < a->family->member_count; i++) {
        json_t *size = rk_out_object();
        rk_out_set(size, "size", rk_out_uint(a->sizes[i].size));
        rk_out_set(size, "uses", rk_out_uint(a->sizes[i].weight));
        rk_out_set(size, "compile_seconds", rk_out_seconds(a->sizes[i].compile_ns));
        rk_out_set(size, "key", rk_out_string(rk_shapes_member(a, i)->compile->key));
        rk_out_set(size, "program", rk_out_string(rk_shapes_member(a, i)->compile->program));
        rk_out_append(sizes, size);
    }
    for (size_t i = 0; i < a->plan_count; i++)
        rk_out_append(plans, plan_json(&a->plans[i]));
    rk_buf_clear(&text);
    rk_shapes_add_recommendation(a, &text);
    rk_out_set(object, "sizes", sizes);
    rk_out_set(object, "plans", plans);
    rk_out_set(object, "recommended",
               rk_shapes_is_worth_it(a) ? rk_out_uint(a->plans[a->chosen].count)
                                        : rk_out_string(NULL));
    rk_out_set(object, "advice", rk_out_text(rk_buf_span(&text)));
    return object;
}

static uint64_t gain(const rk_shapes_advice *a) {
    return rk_shapes_is_worth_it(a) ? a->plans[a->chosen].saved_ns : 0;
}

static int by_gain(const void *a, const void *b) {
    uint64_t one = gain(a), other = gain(b);
    return (one < other) - (one > other);
}

static void print_json(const rk_run_model *model, const rk_seen_list *seen,
                       const rk_shapes_advice *advices, size_t count) {
    json_t *object = rk_out_object(), *families = rk_out_array();
    for (size_t i = 0; i < count; i++)
        rk_out_append(families, family_json(&advices[i]));
    rk_out_set(object, "run", rk_out_string(model->run));
    rk_out_set(object, "families", families);
    rk_out_set(object, "unread", rk_out_uint(seen->unread));
    rk_out_print(object);
}

static rk_err *show_families(rk_store *store, const rk_run_model *model, const rk_seen_list *seen,
                             const rk_families *families, const rk_shapes_request *r, bool json) {
    rk_shapes_advice *advices = rk_need(rk_calloc(families->count + 1, sizeof *advices));
    rk_err *err = NULL;
    size_t count = 0;
    while (count < families->count && !err) {
        err = rk_shapes_advise(store, seen, &families->items[count], r, &advices[count]);
        count++;
    }
    if (!err) {
        qsort(advices, count, sizeof *advices, by_gain);
        if (json)
            print_json(model, seen, advices, count);
        else
            rk_shapes_print_text(model->run, seen, advices, count, r);
    }
    for (size_t i = 0; i < count; i++)
        rk_shapes_advice_cleanup(&advices[i]);
    rk_free(advices);
    return err;
}

static rk_err *show(const rk_settings *settings, const char *which, const rk_shapes_request *r,
                    bool json) {
    const char *directory = rk_settings_get(settings)->dir;
    rk_autofree char *run = NULL;
    RK_AUTO(rk_run_model) model = {0};
    RK_AUTO(rk_seen_list) seen = {0};
    RK_AUTO(rk_families) families = {0};
    RK_AUTO_STORE store = NULL;
    RK_TRY(rk_run_names_find(directory, which, &run));
    RK_TRY(rk_run_load(directory, run, &model));
    RK_TRY(rk_place_open_store(settings, true, &store));
    RK_TRY(rk_seen_collect(store, &model, &seen));
    rk_family_program *programs = rk_need(rk_calloc(seen.count + 1, sizeof *programs));
    for (size_t i = 0; i < seen.count; i++)
        programs[i] = (rk_family_program){.kind = seen.items[i].kind,
                                          .dims = seen.items[i].parameters.dims,
                                          .dim_count = seen.items[i].parameters.dim_count};
    rk_err *err = rk_families_find(programs, seen.count, &families);
    rk_free(programs);
    return err ? err : show_families(store, &model, &seen, &families, r, json);
}

// Parses a whole number from 1 to `max`.
static rk_err *parse_number(const char *option, const char *text, uint64_t max, uint64_t *out) {
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || value < 1 || value > max)
        return rk_error(RK_INVALID_ARGUMENT,
                        "%s takes a whole number from 1 to %" PRIu64 ", not '%s'", option, max,
                        text);
    *out = value;
    return NULL;
}

static struct {
    const char *run, *multiple, *waste;
    rk_shapes_request request; // from the others
} given = {.multiple = "1"};

static rk_err *check(const rk_verb_call *call) {
    enum { DEFAULT_WASTE_PERCENT = 20, MAX_MULTIPLE = 1 << 20 };
    uint64_t percent = DEFAULT_WASTE_PERCENT;
    RK_TRY(parse_number("--multiple", given.multiple, MAX_MULTIPLE, &given.request.multiple));
    if (given.waste)
        RK_TRY(parse_number("--waste", given.waste, 99, &percent));
    given.request.max_waste = (double)percent / 100;
    (void)call;
    return NULL;
}

static rk_err *run(rk_verb_call *call) {
    return show(call->settings, given.run, &given.request, call->json);
}

static const rk_opt options[] = {
    RK_OPT_VALUE("run", 'r', &given.run, "RUN", RK_RUN_HELP),
    RK_OPT_VALUE("multiple", 'm', &given.multiple, "N",
                 "the sizes are multiples of N, for instance 128 for a TPU's lanes"),
    RK_OPT_VALUE("waste", 'w', &given.waste, "PERCENT",
                 "recommend the fewest sizes that waste no more than this (20)"),
    RK_OPT_FLAG("all", 'a', &given.request.all,
                "also functions that cost little, single operations, and all plans"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "shapes",
    .summary = "Finds functions that were compiled again and again because an input had another "
               "size, and recommends a few sizes to pad that input to.",
    .details = "For each number of sizes: how many programs are compiled, how long that takes, "
               "and how much of what is computed would be padding. No other choice of that many "
               "sizes pads less. n stands for the size that varies.\n",
    .options = options,
    .option_count = RK_ARRAY_LEN(options),
};

const rk_verb rk_verb_shapes = {
    .brief = "which sizes to pad to, so that fewer programs are compiled",
    .usage = &usage,
    .settings = RK_VERB_SETTINGS_OF_RUNS,
    .check = check,
    .run = run,
};
