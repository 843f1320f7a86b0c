#include "cli/verdict.h"

#include <string.h>

#include "cli/fail.h"
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

static bool has_succeeded(const rk_run_model *model) {
    return model && model->command.known && !model->command.signal_number &&
           model->command.exit_status == 0;
}

// torch.compile does not tell which files it used. A job that failed may have made no file because
// it did not come so far.
static void add_torch(const rk_run_model *model, const rk_run_torch *torch, rk_buf *out) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    rk_summary_add_torch(torch, &text);
    const char *sentence = rk_need_text(&text);
    rk_buf_add_byte(out, (uint8_t)(*sentence == 'n' ? 'N' : *sentence));
    rk_buf_add_format(out, "%s.", sentence + 1);
    if (has_succeeded(model) && torch->restored + torch->present > 0 && torch->made == 0 &&
        torch->kept + torch->not_kept + torch->not_restored + torch->damaged == 0)
        rk_buf_add_text(out, " torch.compile wrote no new file.");
}

// What the verdict counts, beside the totals.
typedef struct counts {
    uint64_t requests;
    uint64_t compiled, compile_ns; // without failures
    rk_run_failures failed;
    uint64_t repeated; // hits for programs that the run had compiled itself
} counts;

static counts count(const rk_run_model *model, const rk_run_totals *t) {
    counts c = {.requests = t->hits + t->misses + t->bypassed};
    c.failed = (rk_run_failures){.count = t->failed, .compile_ns = t->failed_ns};
    c.compiled = t->compiled - c.failed.count;
    c.compile_ns = t->compile_ns - c.failed.compile_ns;
    c.repeated = model && t->hits && t->compiled ? rk_run_count_repeated(model) : 0;
    return c;
}

static void add_loaded(const rk_run_totals *t, const counts *c, rk_buf *out) {
    rk_text hits = rk_text_count(t->hits), requests = rk_text_count(c->requests);
    if (t->hits == 1 && c->requests == 1)
        rk_buf_add_text(out, "the only program was loaded from the store");
    else if (t->hits == c->requests)
        rk_buf_add_format(out, "all %s requests were loaded from the store", requests.text);
    else if (t->hits == c->repeated)
        rk_buf_add_format(out, "%s of %s requests %s that this run had compiled before", hits.text,
                          requests.text, t->hits == 1 ? "was for a program" : "were for programs");
    else
        rk_buf_add_format(out, "%s of %s requests %s loaded from the store", hits.text,
                          requests.text, was(t->hits));
    if (t->saved_ns)
        rk_buf_add_format(out, ", which saved %s", rk_text_seconds(t->saved_ns).text);
}

static void add_compiled(const counts *c, bool has_loaded, rk_buf *out) {
    rk_text count = rk_text_count(c->compiled);
    if (has_loaded)
        rk_buf_add_format(out, "; %s %s compiled", count.text, was(c->compiled));
    else
        rk_buf_add_format(out, "%s program%s %s compiled", count.text, rk_text_plural(c->compiled),
                          was(c->compiled));
    rk_buf_add_format(out, ", in %s", rk_text_seconds(c->compile_ns).text);
}

static void add_failed(const counts *c, bool is_first, rk_buf *out) {
    rk_text count = rk_text_count(c->failed.count);
    if (is_first)
        rk_buf_add_format(out, "%s program%s failed to compile", count.text,
                          rk_text_plural(c->failed.count));
    else
        rk_buf_add_format(out, "; %s failed to compile", count.text);
    rk_buf_add_format(out, ", after %s", rk_text_seconds(c->failed.compile_ns).text);
}

static void add_first_sentence(const rk_run_totals *t, const counts *c, rk_buf *out) {
    bool says_loaded = t->compiled == 0 || t->hits > 0;
    if (t->compiled == 0)
        rk_buf_add_text(out, "Nothing was compiled: ");
    if (says_loaded)
        add_loaded(t, c, out);
    if (c->compiled > 0)
        add_compiled(c, says_loaded, out);
    if (c->failed.count > 0)
        add_failed(c, !says_loaded && !c->compiled, out);
    if (t->refused > 0)
        rk_buf_add_format(out, "; %s %s refused, because warm-up was over",
                          rk_text_count(t->refused).text, was(t->refused));
    rk_buf_add_byte(out, '.');
}

static void add_kept(const rk_run_totals *t, const counts *c, bool refresh, rk_buf *out) {
    bool one = t->stored == 1;
    if (c->failed.count || t->refused)
        rk_buf_add_text(out,
                        one ? " The compiled one was stored" : " The compiled ones were stored");
    else
        rk_buf_add_format(out, " %s stored", one ? "It was" : "They were");
    if (!refresh)
        rk_buf_add_format(out, ": a start that requests %s again loads %s", one ? "it" : "them",
                          one ? "it" : "them");
    rk_buf_add_byte(out, '.');
}

static void add_stored(const rk_run_model *model, const rk_run_totals *t, const counts *c,
                       uint64_t lost, rk_buf *out) {
    bool readonly = model && strcmp(model->mode, "readonly") == 0;
    bool refresh = model && strcmp(model->mode, "refresh") == 0;
    // A program that the compiler refused has nothing to store.
    uint64_t failed = t->not_stored + lost, bypassed = t->bypassed - t->failed_bypassed;
    if (readonly && c->compiled)
        rk_buf_add_text(out, " Nothing was stored, since the mode is readonly.");
    else if (t->stored && t->stored == c->compiled)
        add_kept(t, c, refresh, out);
    if (bypassed)
        rk_buf_add_format(out, " %s cannot be stored: each start compiles again.",
                          rk_text_count(bypassed).text);
    if (failed && !readonly)
        rk_buf_add_format(out, " %s %s not stored.", rk_text_count(failed).text, was(failed));
}

// Appends why torch.compile's caches were left alone, as a sentence.
static void add_torch_why(const rk_run_model *model, rk_buf *out) {
    if (!model || !model->torch_why || !model->torch_why[0])
        return;
    rk_buf_add_text(out, " torch.compile's caches were left alone: ");
    rk_text_add_printable(out, rk_span_text(model->torch_why));
    rk_buf_add_byte(out, '.');
}

void rk_verdict_add(const rk_run_model *model, const rk_run_totals *totals, uint64_t lost,
                    const char *explain, rk_buf *out) {
    const counts c = count(model, totals);
    if (totals->torch.starts > 0) {
        add_torch(model, &totals->torch, out);
        if (c.requests == 0)
            return;
        rk_buf_add_byte(out, ' ');
    }
    if (c.requests == 0) {
        add_nothing(model, out);
        add_torch_why(model, out);
        return;
    }
    add_first_sentence(totals, &c, out);
    add_stored(model, totals, &c, lost, out);
    add_torch_why(model, out);
    if (totals->compiled > 0 && explain)
        rk_buf_add_format(out, " `%s` explains the compilations.", explain);
}
