#include <stdint.h>
#include <stdio.h>

#include "cli/fail.h"
#include "cli/out.h"
#include "cli/table.h"
#include "cli/term.h"
#include "cli/text.h"
#include "cli/verify.h"

enum { LISTED_MOST = 20, FIRST_WORDS = sizeof "not proved: " };

static void add_seconds(rk_table *table, uint64_t nanoseconds) {
    rk_table_add(table, nanoseconds ? RK_STYLE_NONE : RK_STYLE_DIM,
                 nanoseconds ? rk_text_seconds(nanoseconds).text : "-");
}

static void add_count(rk_table *table, uint64_t count, rk_style_name style) {
    rk_table_add(table, count ? style : RK_STYLE_NONE, rk_text_count(count).text);
}

static void print_table(const rk_verify_run *runs, size_t count) {
    static const rk_table_column columns[] = {
        {.title = "run"},
        {.title = "time", .right = true},
        {.title = "requests", .right = true, .optional = true},
        {.title = "compiled", .right = true},
        {.title = "loaded", .right = true},
        {.title = "prefetched", .right = true},
        {.title = "compiling", .right = true},
        {.title = "loading", .right = true},
    };
    RK_AUTO(rk_table) table = RK_TABLE_INIT(columns);
    for (size_t i = 0; i < count; i++) {
        const rk_verify_run *run = &runs[i];
        bool warm = run->kind != RK_VERIFY_COLD;
        rk_table_add(&table, RK_STYLE_BOLD, rk_verify_kind_name(run->kind));
        add_seconds(&table, run->seconds_ns);
        add_count(&table, rk_verify_requests(run), RK_STYLE_NONE);
        add_count(&table, rk_verify_compiled(run), warm ? RK_STYLE_BAD : RK_STYLE_NONE);
        add_count(&table, run->totals.hits, warm ? RK_STYLE_GOOD : RK_STYLE_NONE);
        add_count(&table, run->totals.preloaded, RK_STYLE_GOOD);
        add_seconds(&table, run->totals.compile_ns);
        add_seconds(&table, run->totals.load_ns);
    }
    rk_table_print(&table, rk_term_columns(stdout), stdout);
}

static void print_failed(const rk_verify_run *runs, size_t count) {
    uint64_t failed = rk_verify_failed(&runs[count - 1]);
    if (failed > 0)
        (void)printf(
            "\nin the last run the compiler refused %s program%s, which cannot be kept and "
            "%s not counted\n",
            rk_text_count(failed).text, rk_text_plural(failed), failed == 1 ? "is" : "are");
}

// Prints at most `most` programs that warm runs compiled, or adds them to `array`. Returns the
// number of all such programs.
static size_t each_compiled(const rk_verify_run *runs, size_t run_count, size_t most,
                            json_t *array) {
    size_t count = 0;
    for (size_t i = 1; i < run_count; i++) {
        const rk_run_model *model = &runs[i].model;
        for (size_t k = 0; k < model->compile_count; k++) {
            const rk_run_compile *compile = &model->compiles[k];
            if (!compile->compiled || compile->failed || count++ >= most)
                continue;
            RK_AUTO(rk_buf) reason = RK_BUF_INIT(0);
            RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
            rk_verify_add_reason(&runs[0], compile, &reason);
            if (array) {
                json_t *one = rk_out_object();
                rk_out_set(one, "run", rk_out_string(runs[i].id));
                rk_out_set(one, "name", rk_out_string(compile->name));
                rk_out_set(one, "key", rk_out_string(compile->key));
                rk_out_set(one, "seconds", rk_out_seconds(compile->compile_ns));
                rk_out_set(one, "reason", rk_out_string(rk_need_text(&reason)));
                rk_out_append(array, one);
                continue;
            }
            rk_buf_add_format(&line, "  %s, ", rk_verify_kind_name(runs[i].kind));
            rk_text_add_printable(&line, rk_span_text(compile->name[0] ? compile->name : "?"));
            rk_buf_add_format(&line, ", %s: %s", rk_text_seconds(compile->compile_ns).text,
                              rk_need_text(&reason));
            rk_term_line(rk_need_text(&line), 4);
        }
    }
    return count;
}

void rk_verify_print_text(const rk_verify_run *runs, size_t count, const char *reason) {
    const char *plain = rk_style(RK_STYLE_NONE, stdout);
    print_table(runs, count);
    print_failed(runs, count);
    if (!*reason) {
        (void)printf("\n%sproved:%s a restart of this command compiles nothing\n",
                     rk_style(RK_STYLE_GOOD, stdout), plain);
        return;
    }
    size_t columns = rk_term_columns(stdout);
    (void)printf("\n%snot proved:%s ", rk_style(RK_STYLE_BAD, stdout), plain);
    rk_term_print_wrapped(reason, 2, columns > FIRST_WORDS ? columns - FIRST_WORDS : SIZE_MAX,
                          stdout);
    size_t compiled = each_compiled(runs, count, LISTED_MOST, NULL);
    if (compiled > LISTED_MOST)
        (void)printf("  and %zu more; all of them with --json\n", compiled - LISTED_MOST);
}

static json_t *run_json(const rk_verify_run *run) {
    json_t *object = rk_out_object();
    rk_out_set(object, "run", rk_out_string(run->id));
    rk_out_set(object, "kind", rk_out_string(rk_verify_kind_name(run->kind)));
    rk_out_set(object, "status", rk_out_uint((uint64_t)run->status));
    rk_out_set(object, "seconds", rk_out_seconds(run->seconds_ns));
    rk_out_set(object, "requests", rk_out_uint(rk_verify_requests(run)));
    rk_out_set(object, "compiled", rk_out_uint(rk_verify_compiled(run)));
    rk_out_set(object, "failed", rk_out_uint(rk_verify_failed(run)));
    rk_out_set(object, "hits", rk_out_uint(run->totals.hits));
    rk_out_set(object, "preloaded", rk_out_uint(run->totals.preloaded));
    rk_out_set(object, "compile_seconds", rk_out_seconds(run->totals.compile_ns));
    rk_out_set(object, "load_seconds", rk_out_seconds(run->totals.load_ns));
    return object;
}

void rk_verify_print_json(const rk_verify_run *runs, size_t count, const char *reason,
                          const char *store) {
    json_t *object = rk_out_object(), *array = rk_out_array(), *compiled = rk_out_array();
    for (size_t i = 0; i < count; i++)
        rk_out_append(array, run_json(&runs[i]));
    (void)each_compiled(runs, count, SIZE_MAX, compiled);
    rk_out_set(object, "runs", array);
    rk_out_set(object, "proved", rk_out_bool(!*reason));
    rk_out_set(object, "reason", rk_out_string(reason));
    rk_out_set(object, "compiled", compiled);
    rk_out_set(object, "store", rk_out_string(store));
    rk_out_print(object);
}
