#include "diagnose/explain/explain_internal.h"

#include "base/alloc.h"
#include "diagnose/diff/recorded.h"
#include "diagnose/explain/operations_internal.h"

static bool has_key(const rk_run_compile *compile) {
    return compile->key[0] != '\0';
}

static bool same_key(const rk_run_compile *a, const rk_run_compile *b) {
    return has_key(a) && strcmp(a->key, b->key) == 0;
}

// An earlier request of the same process and client for the same key that did not fail; NULL if
// there is none.
static const rk_run_compile *find_duplicate(const rk_run_model *run, size_t index) {
    const rk_run_compile *of = &run->compiles[index];
    for (size_t i = 0; i < run->compile_count; i++) {
        const rk_run_compile *other = &run->compiles[i];
        if (other->process == of->process && other->seq < of->seq && same_key(other, of) &&
            other->client == of->client && !other->failed)
            return other;
    }
    return NULL;
}

static size_t count_requests(const rk_run_model *run, const rk_run_compile *of) {
    size_t count = 0;
    for (size_t i = 0; i < run->compile_count; i++)
        count += run->compiles[i].process == of->process && same_key(&run->compiles[i], of);
    return count;
}

static bool is_word(const char *text, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}

static bool was_damaged(const rk_run_compile *compile) {
    static const char *const reasons[] = {"damaged", "other_key", "refused", "read_failed",
                                          "load_killed"};
    return is_word(compile->reason, reasons, RK_ARRAY_LEN(reasons));
}

// Returns whether the program cannot be stored. Such a bypass has a text for people as its reason,
// not one of these words.
static bool is_uncacheable(const rk_run_compile *compile) {
    static const char *const others[] = {"no_store", "no_key", "no_environment"};
    return compile->outcome == RK_OUTCOME_BYPASS &&
           !is_word(compile->reason, others, RK_ARRAY_LEN(others));
}

static rk_err *note_variable(rk_explained *item, const char *name, const char *before,
                             const char *after) {
    const rk_difference plain = {.kind = RK_DIFFERENCE_VARIABLE};
    const rk_difference_words words = {.attribute = rk_span_text(name),
                                       .before = rk_span_text(before),
                                       .after = rk_span_text(after)};
    return rk_differences_note(&item->differences, &plain, &words, &(rk_source){0});
}

// Appends a difference of the whole program.
static rk_err *note_at(rk_explained *item, const rk_source *place, rk_span op, const char *what,
                       const char *before, const char *after) {
    const rk_difference plain = {.kind = RK_DIFFERENCE_ATTRIBUTE};
    const rk_difference_words words = {.function = place->function,
                                       .op = op,
                                       .attribute = rk_span_text(what),
                                       .before = rk_span_text(before),
                                       .after = rk_span_text(after)};
    return rk_differences_note(&item->differences, &plain, &words, place);
}

// The same, placed at the call of the program, which the sketch holds.
static rk_err *note_call(rk_explained *item, const char *what, const char *before,
                         const char *after) {
    const rk_sketch *sketch =
        item->program && item->program->has_sketch ? &item->program->sketch : NULL;
    rk_source place = rk_sketch_source(sketch ? rk_sketch_place(sketch) : NULL);
    return note_at(item, &place, rk_span_text("program"), what, before, after);
}

static rk_err *be_duplicate(const rk_explainer *e, rk_explained *item,
                            const rk_run_compile *earlier) {
    item->cause = RK_CAUSE_DUPLICATE;
    item->nearest = item->program;
    item->nearest_of = earlier;
    item->similarity = 1;
    RK_AUTO(rk_buf) times = {0};
    rk_buf_add_format(&times, "%zu requests", count_requests(e->run, item->compile));
    return note_call(item, "requests", "1 request", rk_buf_text(&times));
}

// An earlier run stored the executable, and it is gone.
static rk_err *be_gone(const rk_explainer *e, rk_explained *item, const rk_past *past) {
    const rk_run_compile *compile = item->compile;
    if (!*e->has_removals && e->corpus->store)
        RK_TRY(rk_removals_read(e->corpus->store, e->removals));
    *e->has_removals = true;
    item->removal = rk_removals_find(e->removals, compile->key, past->time_ns, compile->time_ns);
    item->cause = rk_removal_cause(item->removal);
    return note_call(item, "executable", "stored", rk_removal_text(item->removal));
}

// An earlier run compiled the program, but the executable is gone or was never stored.
static rk_err *be_known(const rk_explainer *e, rk_explained *item, const rk_past *past) {
    item->nearest = item->program;
    item->nearest_run = past->run;
    item->similarity = 1;
    if (strcmp(item->compile->reason, "refresh") == 0) {
        item->cause = RK_CAUSE_ENVIRONMENT;
        return note_variable(item, "REKINDLE_MODE", "readwrite", "refresh");
    }
    if (past->kind == RK_PAST_STORED)
        return be_gone(e, item, past);
    item->was_lost = past->kind == RK_PAST_LOST;
    item->cause = RK_CAUSE_UNCACHEABLE;
    RK_AUTO(rk_buf) text = {0};
    rk_buf_add_format(&text, "not stored by run %s", past->run);
    if (past->reason)
        rk_buf_add_format(&text, ": %s", past->reason);
    return note_call(item, "executable", "compiled", rk_buf_text(&text));
}

// Takes the first line of the compiler's message: dumps may follow.
static rk_err *note_error(rk_explained *item) {
    enum { MOST_BYTES = 500 };
    const char *error = item->compile->error;
    size_t len = strcspn(error, "\n");
    bool cut = len > MOST_BYTES;
    len = cut ? MOST_BYTES : len;
    while (cut && ((uint8_t)error[len] & 0xC0) == 0x80) // do not cut a code point
        len--;
    RK_AUTO(rk_buf) text = {0};
    rk_buf_add(&text, error, len);
    rk_buf_add_text(&text, cut ? "…" : len ? "" : "the message was not recorded");
    RK_TRY(rk_buf_status(&text));
    return note_call(item, RK_COMPILER_ERROR, "", rk_buf_text(&text));
}

// Places the difference at the process reference; if that is not found, at the call.
static rk_err *be_uncacheable(const rk_loaded *loaded, rk_explained *item) {
    item->cause = RK_CAUSE_UNCACHEABLE;
    rk_process_reference reference;
    bool found = loaded->loaded &&
                 rk_find_process_reference(&loaded->index, item->compile->reason, &reference);
    RK_TRY(found && reference.place.file.len
               ? note_at(item, &reference.place, reference.op, RK_WHY_NOT_KEPT, "",
                         item->compile->reason)
               : note_call(item, RK_WHY_NOT_KEPT, "", item->compile->reason));
    return item->compile->failed && !item->compile->refused ? note_error(item) : NULL;
}

// Finds the package whose code made the process reference.
static rk_err *find_package(const rk_loaded *loaded, rk_explained *item) {
    rk_process_reference reference;
    rk_source frame;
    if (!loaded->loaded || item->compile->outcome != RK_OUTCOME_BYPASS ||
        !rk_find_process_reference(&loaded->index, item->compile->reason, &reference) ||
        !rk_source_frames(reference.place.model, reference.place.location, RK_FILE_FRAMEWORK,
                          &frame, 1))
        return NULL;
    rk_span part = rk_file_installed_part(frame.file);
    size_t len = 0;
    while (len < part.len && part.data[len] != '/')
        len++;
    return rk_difference_text(rk_span_of(part.data, len), &item->package);
}

static bool has_failed_before(const rk_explainer *e, const rk_run_compile *of) {
    for (size_t r = 0; r < e->earlier.count; r++)
        for (size_t i = 0; i < e->earlier.items[r].compile_count; i++)
            if (e->earlier.items[r].compiles[i].failed &&
                !e->earlier.items[r].compiles[i].refused &&
                same_key(&e->earlier.items[r].compiles[i], of))
                return true;
    return false;
}

static rk_err *classify(const rk_explainer *e, size_t index, const rk_loaded *loaded,
                        rk_explained *item) {
    const rk_run_compile *compile = item->compile;
    const rk_past past = rk_explain_past(e, compile);
    if (is_uncacheable(compile))
        RK_TRY(find_package(loaded, item));
    bool failed = compile->failed && !compile->refused; // strict mode did not ask the compiler
    // A plugin without callbacks refuses the program. Then the user's own callback explains more
    // than the plugin's error.
    if (failed && is_uncacheable(compile) && !item->package)
        return be_uncacheable(loaded, item);
    if (failed) {
        item->cause = RK_CAUSE_FAILED;
        item->failed_before = has_failed_before(e, compile);
        RK_TRY(note_error(item));
        return rk_explain_by_record(e, item);
    }
    if (was_damaged(compile)) {
        item->cause = RK_CAUSE_DAMAGED;
        item->nearest = item->program;
        item->similarity = 1;
        return note_call(item, "entry", "sound", compile->reason);
    }
    if (!is_uncacheable(compile) && past.kind != RK_PAST_UNKNOWN)
        return be_known(e, item, &past);
    if (is_uncacheable(compile) && past.kind != RK_PAST_UNKNOWN)
        return be_uncacheable(loaded, item);
    if (item->program)
        RK_TRY(rk_explain_compare(e, index, loaded, item));
    if (!is_uncacheable(compile))
        RK_TRY(rk_explain_by_record(e, item));
    if (item->cause == RK_CAUSE_FIRST)
        rk_explain_find_gone(e, index, item);
    return item->cause == RK_CAUSE_FIRST && is_uncacheable(compile) ? be_uncacheable(loaded, item)
                                                                    : NULL;
}

// Opens the item's program once: the comparison, the process references and the blocks read it. A
// duplicate needs none of them.
static rk_err *explain_one(const rk_explainer *e, size_t index, rk_explained *item) {
    const rk_run_compile *earlier = find_duplicate(e->run, index);
    if (earlier && !was_damaged(item->compile))
        return be_duplicate(e, item, earlier);
    RK_AUTO(rk_loaded) loaded = {0};
    if (item->program)
        RK_TRY(rk_corpus_open(e->corpus, item->program, &loaded));
    RK_TRY(classify(e, index, &loaded, item));
    return loaded.loaded ? rk_find_blocks(&loaded.index, &item->blocks) : NULL;
}

// Returns whether a request is explained: a compilation, one that strict mode refused, or a load of
// a program that the process requested three times or more.
static bool is_to_be_explained(const rk_explainer *e, size_t index, bool *out_loaded) {
    enum { STORM = 3 };
    const rk_run_compile *compile = &e->run->compiles[index];
    *out_loaded = !compile->compiled && !compile->refused;
    if (!*out_loaded)
        return true;
    return compile->outcome == RK_OUTCOME_HIT && find_duplicate(e->run, index) &&
           count_requests(e->run, compile) >= STORM;
}

// Finds out what removed the programs that could not be compared.
static rk_err *find_removals(const rk_explainer *e) {
    for (size_t i = 0; i < e->out->count; i++) {
        rk_explained *item = &e->out->items[i];
        const rk_run_compile *gone = item->gone ? item->gone : item->compile;
        if (!rk_explained_is_uncompared(item) || !*gone->key)
            continue;
        if (!*e->has_removals && e->corpus->store)
            RK_TRY(rk_removals_read(e->corpus->store, e->removals));
        *e->has_removals = true;
        item->unread_removal = rk_removals_find(e->removals, gone->key, gone->time_ns, UINT64_MAX);
    }
    return NULL;
}

// Marks operations that only moved: two programs have the same operations, in another order or with
// other operands, so nothing was added or removed.
static void mark_moved(rk_explained *item) {
    item->is_reordered = rk_explain_is_reordered(item);
    for (size_t i = 0; i < item->differences.count && item->is_reordered; i++) {
        rk_difference *d = &item->differences.items[i];
        d->is_moved = d->kind == RK_DIFFERENCE_OP_ADDED || d->kind == RK_DIFFERENCE_OP_REMOVED;
    }
}

static rk_err *explain_each(rk_explainer *e) {
    rk_explanation *x = e->out;
    for (size_t i = 0; i < e->run->compile_count; i++) {
        bool is_loaded;
        if (!is_to_be_explained(e, i, &is_loaded))
            continue;
        rk_explained *item = &x->items[x->count++];
        *item = (rk_explained){
            .compile = &e->run->compiles[i], .program = e->seen[i], .is_loaded = is_loaded};
        item->is_eager = item->program && item->program->has_sketch &&
                         rk_is_framework_operation(&item->program->sketch);
        RK_TRY(explain_one(e, i, item));
    }
    RK_AUTO(rk_steps) steps = {0};
    RK_TRY(rk_steps_read(e->run, &steps));
    rk_explain_find_many_sizes(x);
    RK_TRY(rk_explain_drop_causes(x, &steps));
    RK_TRY(rk_explain_choose_heads(x));
    rk_explain_find_many_sizes(x); // some causes are others now
    for (size_t i = 0; i < x->count; i++) {
        x->items[i].step = rk_steps_of_compile(&steps, x->items[i].compile);
        x->items[i].is_after_steps = rk_steps_is_after_last(&steps, x->items[i].compile);
        rk_explain_find_no_change(e, &x->items[i]);
        mark_moved(&x->items[i]);
        RK_TRY(rk_advise(e->run, &x->items[i]));
    }
    return rk_advise_on_order(x);
}

static void rk_explainer_cleanup(rk_explainer *e) {
    rk_start_cleanup(&e->now);
    for (size_t i = 0; i < e->start_count; i++)
        rk_start_cleanup(&e->starts[i]);
}

rk_err *rk_explain(const rk_run_model *run, rk_earlier_runs earlier, const rk_corpus *corpus,
                   rk_explanation *out_explanation) {
    *out_explanation = (rk_explanation){.run = run, .corpus = corpus};
    rk_autofree const rk_known **seen = rk_calloc(run->compile_count + 1, sizeof(rk_known *));
    out_explanation->items = rk_calloc(run->compile_count + 1, sizeof *out_explanation->items);
    if (!seen || !out_explanation->items)
        return rk_err_no_memory();
    for (size_t i = 0; i < run->compile_count; i++)
        seen[i] = has_key(&run->compiles[i]) ? rk_corpus_find(corpus, run->compiles[i].key) : NULL;
    RK_AUTO(rk_buf) removals = {0};
    bool has_removals = false;
    RK_AUTO(rk_explainer)
    e = {.run = run,
         .earlier = earlier,
         .corpus = corpus,
         .out = out_explanation,
         .seen = seen,
         .removals = &removals,
         .has_removals = &has_removals};
    RK_TRY(rk_explain_find_starts(&e));
    RK_TRY(explain_each(&e));
    RK_TRY(find_removals(&e));
    RK_TRY(rk_find_patterns(&e));
    for (size_t i = 0; i < out_explanation->count; i++)
        if (out_explanation->items[i].cause != RK_CAUSE_FIRST)
            out_explanation->lost_ns += rk_explained_cost_ns(&out_explanation->items[i]);
    return rk_answer_questions(out_explanation);
}
