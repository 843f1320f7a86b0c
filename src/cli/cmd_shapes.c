#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"
#include "cli/place.h"
#include "cli/run_view.h"
#include "cli/shapes_seen.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "diagnose/shapes/buckets.h"

// The advice for one family.
typedef struct advice {
    const rk_family *family;
    const rk_seen_list *seen;
    rk_bucket_size *sizes; // owned; one per member of the family
    rk_bucket_plan plans[RK_BUCKETS_MAX];
    size_t plan_count, chosen;
    uint64_t compile_ns; // of all sizes
    rk_buf place;        // where the function is called; empty if unknown
} advice;

typedef struct request {
    uint64_t multiple;
    double max_waste;
    bool json;
} request;

static void advice_cleanup(advice *a) {
    rk_free(a->sizes);
    rk_buf_cleanup(&a->place);
}

static const rk_seen *member(const advice *a, size_t index) {
    return &a->seen->items[a->family->members[index]];
}

static rk_err *advise(rk_store *store, const rk_seen_list *seen, const rk_family *family,
                      const request *r, advice *out) {
    *out = (advice){.family = family, .seen = seen};
    out->sizes = rk_need(rk_calloc(family->member_count, sizeof *out->sizes));
    for (size_t i = 0; i < family->member_count; i++) {
        const rk_seen *one = member(out, i);
        out->sizes[i] = (rk_bucket_size){rk_seen_size(one, family), one->uses, one->compile_ns};
        out->compile_ns += one->compile_ns;
    }
    rk_seen_print_place(store, member(out, 0), &out->place);
    RK_TRY(rk_buckets_plan(out->sizes, family->member_count, r->multiple, RK_BUCKETS_MAX,
                           out->plans, &out->plan_count));
    out->chosen = rk_buckets_choose(out->plans, out->plan_count, r->max_waste);
    return NULL;
}

// True if the plan needs fewer programs than the family has sizes.
static bool is_worth_it(const advice *a) {
    return a->plans[a->chosen].count < a->family->member_count;
}

static void print_bounds(const rk_bucket_plan *plan, const char *last_word, rk_buf *out) {
    for (size_t i = 0; i < plan->count; i++) {
        if (i > 0)
            rk_buf_add_text(out, i + 1 == plan->count ? last_word : ", ");
        rk_buf_add_format(out, "%" PRIu64, plan->bounds[i]);
    }
}

static void print_percent(double share, rk_buf *out) {
    rk_buf_add_format(out, share > 0 && share < 0.1 ? "%.1f %%" : "%.0f %%", share * 100);
}

static void write_recommendation(const advice *a, rk_buf *out) {
    const rk_bucket_plan *plan = &a->plans[a->chosen];
    if (!is_worth_it(a)) {
        rk_buf_add_format(out,
                          "Leave it: with fewer than %zu sizes more would be padded than is "
                          "worth it.",
                          a->family->member_count);
        return;
    }
    rk_buf_add_text(out, "Pad n to ");
    print_bounds(plan, " or ", out);
    rk_buf_add_format(out,
                      ": %zu compilation%s instead of %zu, which saves %s of compiling a cold "
                      "start, and ",
                      plan->count, rk_text_plural(plan->count), a->family->member_count,
                      rk_text_seconds(plan->saved_ns).text);
    print_percent(plan->waste, out);
    rk_buf_add_text(out, " of what is computed along n is padding.");
}

static void print_parameters(const advice *a, rk_buf *out) {
    rk_parameters_print(&member(a, 0)->parameters, a->family->along, a->family->along_count, "n",
                        out);
}

static void print_plans(const advice *a) {
    static const rk_table_column columns[] = {{.title = "  BUCKETS", .right = true},
                                              {.title = "PADDING", .right = true},
                                              {.title = "COMPILE TIME", .right = true},
                                              {.title = "SAVED", .right = true},
                                              {.title = "SIZES", .least = 8}};
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    for (size_t i = 0; i < a->plan_count; i++) {
        const rk_bucket_plan *plan = &a->plans[i];
        rk_style_name style = i == a->chosen && is_worth_it(a) ? RK_STYLE_GOOD : RK_STYLE_NONE;
        RK_AUTO(rk_buf) waste = RK_BUF_INIT(0);
        RK_AUTO(rk_buf) bounds = RK_BUF_INIT(0);
        print_percent(plan->waste, &waste);
        print_bounds(plan, ", ", &bounds);
        rk_table_add(&table, style, rk_text_count(plan->count).text);
        rk_table_add(&table, RK_STYLE_NONE, rk_need_text(&waste));
        rk_table_add(&table, RK_STYLE_NONE, rk_text_seconds(plan->compile_ns).text);
        rk_table_add(&table, RK_STYLE_NONE, rk_text_seconds(plan->saved_ns).text);
        rk_table_add(&table, style, rk_need_text(&bounds));
    }
    rk_table_print(&table, rk_term_columns(stdout), stdout);
}

static void print_wrapped(const rk_buf *text) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    size_t columns = rk_term_columns(stdout);
    rk_text_add_printable(&line, rk_buf_span(text));
    rk_term_print_wrapped(rk_need_text(&line), 2, columns > 0 ? columns : SIZE_MAX, stdout);
}

static void print_family(const advice *a) {
    // All weights of a model are parameters. The first parameters are enough to recognize it.
    enum { PARAMETERS_SHOWN = 300 };
    RK_AUTO(rk_buf) name = RK_BUF_INIT(0);
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    const rk_bucket_size *sizes = a->sizes;
    size_t count = a->family->member_count;
    rk_seen_print_name(member(a, 0), &name);
    RK_AUTO(rk_buf) title = RK_BUF_INIT(0);
    rk_text_add_printable(&title, rk_buf_span(&name));
    (void)printf("\n%s%s%s  ", rk_style(RK_STYLE_BOLD, stdout), rk_need_text(&title),
                 rk_style(RK_STYLE_NONE, stdout));
    print_parameters(a, &text);
    if (text.len > PARAMETERS_SHOWN) {
        RK_AUTO(rk_buf) beginning = RK_BUF_INIT(0);
        rk_buf_add(&beginning, text.data, rk_text_fit(rk_need_text(&text), PARAMETERS_SHOWN));
        rk_buf_add_text(&beginning, rk_term_ellipsis());
        print_wrapped(&beginning);
    } else {
        print_wrapped(&text);
    }
    if (a->place.len > 0)
        (void)printf("  %s\n", rk_need_text(&a->place));
    (void)printf("  %zu sizes of n, %" PRIu64 " to %" PRIu64 ", compiled in %s\n\n", count,
                 sizes[0].size, sizes[count - 1].size, rk_text_seconds(a->compile_ns).text);
    print_plans(a);
    rk_buf_clear(&text);
    rk_buf_add_text(&text, "  ");
    write_recommendation(a, &text);
    (void)putchar('\n');
    print_wrapped(&text);
}

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

static json_t *family_json(const advice *a) {
    json_t *object = rk_out_object(), *sizes = rk_out_array(), *plans = rk_out_array();
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    rk_seen_print_name(member(a, 0), &text);
    rk_out_set(object, "name", rk_out_text(rk_buf_span(&text)));
    rk_out_set(object, "place",
               a->place.len > 0 ? rk_out_text(rk_buf_span(&a->place)) : rk_out_string(NULL));
    rk_buf_clear(&text);
    print_parameters(a, &text);
    rk_out_set(object, "parameters", rk_out_text(rk_buf_span(&text)));
    for (size_t i = 0; i < a->family->member_count; i++) {
        json_t *size = rk_out_object();
        rk_out_set(size, "size", rk_out_uint(a->sizes[i].size));
        rk_out_set(size, "uses", rk_out_uint(a->sizes[i].weight));
        rk_out_set(size, "compile_seconds", rk_out_seconds(a->sizes[i].compile_ns));
        rk_out_set(size, "key", rk_out_string(member(a, i)->compile->key));
        rk_out_set(size, "program", rk_out_string(member(a, i)->compile->program));
        rk_out_append(sizes, size);
    }
    for (size_t i = 0; i < a->plan_count; i++)
        rk_out_append(plans, plan_json(&a->plans[i]));
    rk_buf_clear(&text);
    write_recommendation(a, &text);
    rk_out_set(object, "sizes", sizes);
    rk_out_set(object, "plans", plans);
    rk_out_set(object, "recommended",
               is_worth_it(a) ? rk_out_uint(a->plans[a->chosen].count) : rk_out_string(NULL));
    rk_out_set(object, "advice", rk_out_text(rk_buf_span(&text)));
    return object;
}

static uint64_t gain(const advice *a) {
    return is_worth_it(a) ? a->plans[a->chosen].saved_ns : 0;
}

static int by_gain(const void *a, const void *b) {
    uint64_t one = gain(a), other = gain(b);
    return (one < other) - (one > other);
}

static void print_text(const rk_run_model *model, const rk_seen_list *seen, const advice *advices,
                       size_t count) {
    (void)printf("run %s%s%s\n", rk_style(RK_STYLE_BOLD, stdout), model->run,
                 rk_style(RK_STYLE_NONE, stdout));
    for (size_t i = 0; i < count; i++)
        print_family(&advices[i]);
    if (count == 0)
        (void)printf("\nNo two of its programs differ in the size of one axis alone: there is "
                     "nothing to pad.\n");
    if (seen->unread > 0)
        (void)printf("\n%" PRIu64 " program%s %s left out, not being kept "
                     "(REKINDLE_KEEP_PROGRAMS) or not readable.\n",
                     seen->unread, rk_text_plural(seen->unread),
                     seen->unread == 1 ? "was" : "were");
}

static void print_json(const rk_run_model *model, const rk_seen_list *seen, const advice *advices,
                       size_t count) {
    json_t *object = rk_out_object(), *families = rk_out_array();
    for (size_t i = 0; i < count; i++)
        rk_out_append(families, family_json(&advices[i]));
    rk_out_set(object, "run", rk_out_string(model->run));
    rk_out_set(object, "families", families);
    rk_out_set(object, "unread", rk_out_uint(seen->unread));
    rk_out_print(object);
}

static rk_err *show_families(rk_store *store, const rk_run_model *model, const rk_seen_list *seen,
                             const rk_families *families, const request *r) {
    advice *advices = rk_need(rk_calloc(families->count + 1, sizeof *advices));
    rk_err *err = NULL;
    size_t count = 0;
    while (count < families->count && !err) {
        err = advise(store, seen, &families->items[count], r, &advices[count]);
        count++;
    }
    if (!err) {
        qsort(advices, count, sizeof *advices, by_gain);
        (r->json ? print_json : print_text)(model, seen, advices, count);
    }
    for (size_t i = 0; i < count; i++)
        advice_cleanup(&advices[i]);
    rk_free(advices);
    return err;
}

static rk_err *show(const rk_settings *settings, const char *which, const request *r) {
    const char *directory = rk_settings_get(settings)->dir;
    rk_autofree char *run = NULL;
    RK_AUTO(rk_run_model) model = {0};
    RK_AUTO(rk_seen_list) seen = {0};
    RK_AUTO(rk_families) families = {0};
    RK_AUTO_STORE store = NULL;
    RK_TRY(rk_run_find(directory, which, &run));
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
    return err ? err : show_families(store, &model, &seen, &families, r);
}

// Parses a whole number from 1 to `max`.
static rk_err *parse_number(const char *option, const char *text, uint64_t max, uint64_t *out) {
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || value < 1 || value > max)
        return rk_error(RK_INVALID_ARGUMENT,
                        "%s wants a whole number from 1 to %" PRIu64 ", not '%s'", option, max,
                        text);
    *out = value;
    return NULL;
}

static struct {
    const char *run, *multiple, *waste;
    request request; // from the others
} given = {.multiple = "1"};

static rk_err *check(const rk_verb_call *call) {
    enum { DEFAULT_WASTE_PERCENT = 20, MAX_MULTIPLE = 1 << 20 };
    uint64_t percent = DEFAULT_WASTE_PERCENT;
    RK_TRY(parse_number("--multiple", given.multiple, MAX_MULTIPLE, &given.request.multiple));
    if (given.waste)
        RK_TRY(parse_number("--waste", given.waste, 99, &percent));
    given.request.max_waste = (double)percent / 100;
    given.request.json = call->json;
    return NULL;
}

static rk_err *run(rk_verb_call *call) {
    return show(call->settings, given.run, &given.request);
}

static const rk_opt options[] = {
    RK_OPT_VALUE("run", 'r', &given.run, "RUN", "this run; the beginning of its name is enough"),
    RK_OPT_VALUE("multiple", 'm', &given.multiple, "N",
                 "buckets are multiples of N, for instance 128 for a TPU's lanes"),
    RK_OPT_VALUE("waste", 'w', &given.waste, "PERCENT",
                 "recommend the fewest buckets that waste no more than this (20)"),
    RK_VERB_JSON,
    RK_VERB_DIR,
};

static const rk_opt_usage usage = {
    .verb = "shapes",
    .summary = "Finds the programs of the last run, or of another, that differ in the size of "
               "one axis alone, and recommends the sizes to pad that axis to.",
    .details = "For 1 to 8 buckets: how much of what is computed would be padding, how many "
               "compilations are left, and the seconds that they save. The sizes are the best "
               "there are for that many buckets.\n",
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
