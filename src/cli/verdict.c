#include "cli/verdict.h"

#include <string.h>

#include "cli/summary.h"
#include "cli/text.h"

static const char *was(uint64_t count) {
    return count == 1 ? "was" : "were";
}

static void add_nothing(const rk_run_model *model, rk_buf *out) {
    rk_buf_add_text(out, "Nothing was loaded or compiled");
    if (model && model->client_count == 0) {
        rk_buf_add_text(out, ": ");
        rk_summary_write_no_client(model, out);
    }
    rk_buf_add_byte(out, '.');
}

static void add_loaded(const rk_run_totals *t, uint64_t requests, rk_buf *out) {
    if (t->hits == 1 && requests == 1)
        rk_buf_add_text(out, "the only program was loaded from the store");
    else if (t->hits == requests)
        rk_buf_add_format(out, "all %s requests were loaded from the store",
                          rk_text_count(requests).text);
    else
        rk_buf_add_format(out, "%s of %s requests %s loaded from the store",
                          rk_text_count(t->hits).text, rk_text_count(requests).text, was(t->hits));
    if (t->saved_ns)
        rk_buf_add_format(out, ", which saved %s", rk_text_seconds(t->saved_ns).text);
}

static void add_first_sentence(const rk_run_totals *t, uint64_t requests, rk_buf *out) {
    if (t->compiled == 0)
        rk_buf_add_text(out, "Nothing was compiled: ");
    if (t->compiled == 0 || t->hits > 0)
        add_loaded(t, requests, out);
    if (t->compiled > 0 && t->hits > 0)
        rk_buf_add_format(out, "; %s %s compiled, in %s", rk_text_count(t->compiled).text,
                          was(t->compiled), rk_text_seconds(t->compile_ns).text);
    else if (t->compiled > 0)
        rk_buf_add_format(out, "%s program%s %s compiled, in %s", rk_text_count(t->compiled).text,
                          rk_text_plural(t->compiled), was(t->compiled),
                          rk_text_seconds(t->compile_ns).text);
    if (t->refused > 0)
        rk_buf_add_format(out, "; %s %s refused, because warm-up was over",
                          rk_text_count(t->refused).text, was(t->refused));
    rk_buf_add_byte(out, '.');
}

static void add_stored(const rk_run_model *model, const rk_run_totals *t, uint64_t lost,
                       rk_buf *out) {
    bool readonly = model && strcmp(model->mode, "readonly") == 0;
    bool refresh = model && strcmp(model->mode, "refresh") == 0;
    uint64_t failed = t->not_stored + lost;
    if (readonly && t->compiled)
        rk_buf_add_text(out, " Nothing was stored, since the mode is readonly.");
    else if (t->stored && t->stored == t->compiled && refresh)
        rk_buf_add_format(out, " %s stored.", t->stored == 1 ? "It was" : "They were");
    else if (t->stored && t->stored == t->compiled)
        rk_buf_add_format(out, " %s stored: the next start loads %s.",
                          t->stored == 1 ? "It was" : "They were", t->stored == 1 ? "it" : "them");
    if (t->bypassed)
        rk_buf_add_format(out, " %s cannot be stored: compiled at every start.",
                          rk_text_count(t->bypassed).text);
    if (failed && !readonly)
        rk_buf_add_format(out, " %s %s not stored.", rk_text_count(failed).text, was(failed));
}

void rk_verdict_add(const rk_run_model *model, const rk_run_totals *totals, uint64_t lost,
                    const char *explain, rk_buf *out) {
    uint64_t requests = totals->hits + totals->misses + totals->bypassed;
    if (requests == 0) {
        add_nothing(model, out);
        return;
    }
    add_first_sentence(totals, requests, out);
    add_stored(model, totals, lost, out);
    if (totals->compiled > 0 && explain)
        rk_buf_add_format(out, " `%s` says why.", explain);
}
