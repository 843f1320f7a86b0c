#include "cli/shapes_seen.h"

#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"
#include "cli/out.h"
#include "cli/term.h"
#include "diagnose/diff/sketch.h"
#include "program/read.h"

void rk_seen_list_cleanup(rk_seen_list *list) {
    for (size_t i = 0; i < list->count; i++) {
        rk_parameters_cleanup(&list->items[i].parameters);
        rk_free(list->items[i].kind);
    }
    rk_free(list->items);
    *list = (rk_seen_list){0};
}

uint64_t rk_seen_size(const rk_seen *seen, const rk_family *family) {
    int64_t size = seen->parameters.dims[family->axis];
    return size > 0 ? (uint64_t)size : 0;
}

bool rk_seen_is_of_several_tensors(const rk_seen_list *list, const rk_family *family) {
    const rk_seen *member = &list->items[family->members[0]];
    RK_AUTO(rk_buf) name = {0};
    rk_seen_print_name(member, &name);
    if (rk_span_is(rk_buf_span(&name), "SyncTensorsGraph")) // all graphs of PyTorch/XLA
        return false;
    for (size_t i = 0; i < list->count; i++) {
        const rk_seen *other = &list->items[i];
        RK_AUTO(rk_buf) its = {0};
        if (other->operations != member->operations ||
            other->parameters.dim_count == member->parameters.dim_count)
            continue;
        rk_seen_print_name(other, &its);
        if (rk_span_equal(rk_buf_span(&its), rk_buf_span(&name)))
            return true;
    }
    return false;
}

void rk_seen_print_name(const rk_seen *seen, rk_buf *out) {
    const char *name = seen->compile->name;
    size_t len = strlen(name), digits = 0;
    while (digits < len && name[len - digits - 1] >= '0' && name[len - digits - 1] <= '9')
        digits++;
    if (digits > 0 && digits + 1 < len && name[len - digits - 1] == '.')
        len -= digits + 1; // PyTorch/XLA appends a number: SyncTensorsGraph.42
    rk_buf_add(out, name, len);
}

static void make_kind(rk_seen *seen) {
    RK_AUTO(rk_buf) kind = {0};
    rk_seen_print_name(seen, &kind);
    rk_buf_add_format(&kind, "\n%s\n%s\n%llx\n", seen->compile->options, seen->compile->environment,
                      (unsigned long long)seen->operations);
    rk_buf_add_span(&kind, rk_buf_span(&seen->parameters.text));
    seen->kind = rk_need(rk_strdup(rk_need_text(&kind)));
}

static rk_err *look_up(rk_store *store, const rk_seen *seen, rk_store_lookup *out_lookup) {
    rk_err *err =
        rk_store_read(store, RK_ENTRY_PROGRAM, seen->compile->key, RK_WANT_PAYLOAD, out_lookup);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "it was not kept, or is not any more");
    return NULL;
}

static rk_err *read_model(const rk_store_lookup *lookup, unsigned flags, rk_model **out_model) {
    json_t *metadata = rk_out_parsed(lookup->view.entry.metadata);
    const char *format = json_string_value(json_object_get(metadata, "format"));
    rk_autofree char *reason = NULL;
    rk_err *err = rk_model_read(lookup->view.entry.payload, rk_span_text(format ? format : ""),
                                flags, out_model, &reason);
    json_decref(metadata);
    return err;
}

// `*out_read` is false if rekindle cannot read the program.
static rk_err *read_program(const rk_store_lookup *lookup, rk_seen *seen, bool *out_read) {
    rk_model *model = NULL;
    rk_err *err = read_model(lookup, 0, &model);
    *out_read = !err && model;
    if (*out_read) {
        err = rk_parameters_read(model, &seen->parameters);
        if (rk_err_code(err) == RK_INVALID_ARGUMENT) {
            rk_err_drop(err, "a program without an entry has no parameters to pad");
            err = NULL;
            *out_read = false;
        } else if (!err) {
            seen->operations = rk_parameters_operations(model);
            make_kind(seen);
        }
    }
    rk_model_free(model);
    return err;
}

static rk_err *read_kept(rk_store *store, rk_seen *seen, bool *out_read) {
    __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
    *out_read = false;
    RK_TRY(look_up(store, seen, &lookup));
    return lookup.found ? read_program(&lookup, seen, out_read) : NULL;
}

static rk_err *judge_call(const rk_program_index *index, rk_seen_call *out) {
    __attribute__((cleanup(rk_sketch_cleanup))) rk_sketch sketch = {0};
    RK_TRY(rk_sketch_make(index, &sketch));
    rk_source place = rk_sketch_source(rk_sketch_place(&sketch));
    out->is_line = !index->call.line;
    if (index->call.line > 0)
        place = index->call;
    if (place.line > 0)
        rk_source_write(&place, &out->place);
    out->is_eager = rk_sketch_is_eager(&sketch);
    return NULL;
}

void rk_seen_find_call(rk_store *store, const rk_seen *seen, rk_seen_call *out) {
    __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
    rk_program_index index = {0};
    rk_model *model = NULL;
    rk_err *err = look_up(store, seen, &lookup);
    if (!err && lookup.found)
        err = read_model(&lookup, RK_READ_LOCATIONS, &model);
    if (!err && model)
        err = rk_program_index_make(model, &index);
    if (!err && model)
        err = judge_call(&index, out);
    rk_err_drop(err, "the place is shown if it is known");
    rk_program_index_cleanup(&index);
    rk_model_free(model);
}

static int by_key(const void *a, const void *b) {
    const rk_run_compile *const *one = a, *const *other = b;
    int order = strcmp((*one)->key, (*other)->key);
    return order != 0 ? order : (*one > *other) - (*one < *other);
}

static int by_executed(const void *a, const void *b) {
    const rk_run_executed *const *one = a, *const *other = b;
    int order = strcmp((*one)->key, (*other)->key);
    if (order == 0 && (*one)->process != (*other)->process)
        order = (*one)->process < (*other)->process ? -1 : 1;
    return order != 0 ? order : (*one > *other) - (*one < *other);
}

// Counts the executions of each program in all processes. Of several records of one process the
// last one counts. Without any record (a run that was killed, or of an older version), a request
// counts as a use.
static void count_executions(const rk_run_model *model, rk_seen_list *list) {
    const rk_run_executed **sorted = rk_need(rk_calloc(model->executed_count + 1, sizeof *sorted));
    for (size_t i = 0; i < model->executed_count; i++)
        sorted[i] = &model->executed[i];
    qsort(sorted, model->executed_count, sizeof *sorted, by_executed);
    size_t at = 0; // both lists are sorted by key
    for (size_t i = 0; i < list->count; i++) {
        rk_seen *seen = &list->items[i];
        uint64_t executions = 0;
        while (at < model->executed_count && strcmp(sorted[at]->key, seen->compile->key) < 0)
            at++;
        for (; at < model->executed_count && strcmp(sorted[at]->key, seen->compile->key) == 0;
             at++) {
            bool is_last = at + 1 == model->executed_count ||
                           sorted[at + 1]->process != sorted[at]->process ||
                           strcmp(sorted[at + 1]->key, sorted[at]->key) != 0;
            executions += is_last ? sorted[at]->executions : 0;
        }
        if (executions > 0)
            seen->uses = executions;
    }
    rk_free(sorted);
}

static int by_first(const void *a, const void *b) {
    const rk_seen *one = a, *other = b;
    return (one->compile > other->compile) - (one->compile < other->compile);
}

// Makes one item per key, without parameters.
static void collect_keys(const rk_run_model *model, rk_seen_list *list) {
    const rk_run_compile **sorted = rk_need(rk_calloc(model->compile_count + 1, sizeof *sorted));
    size_t count = 0;
    for (size_t i = 0; i < model->compile_count; i++)
        if (model->compiles[i].key[0] && !model->compiles[i].failed)
            sorted[count++] = &model->compiles[i];
    qsort(sorted, count, sizeof *sorted, by_key);
    list->items = rk_need(rk_calloc(count + 1, sizeof *list->items));
    for (size_t i = 0; i < count; i++) {
        const rk_run_compile *one = sorted[i];
        if (i == 0 || strcmp(one->key, sorted[i - 1]->key) != 0)
            list->items[list->count++].compile = one;
        rk_seen *seen = &list->items[list->count - 1];
        uint64_t took_ns = one->compiled ? one->compile_ns : one->saved_ns;
        seen->compile_ns = took_ns > seen->compile_ns ? took_ns : seen->compile_ns;
        seen->uses++;
    }
    rk_free(sorted);
    count_executions(model, list);
    qsort(list->items, list->count, sizeof *list->items, by_first);
}

rk_err *rk_seen_collect(rk_store *store, const rk_run_model *model, rk_seen_list *out_list) {
    collect_keys(model, out_list);
    size_t all = out_list->count;
    rk_progress progress = rk_progress_start("reading programs");
    rk_err *err = NULL;
    out_list->count = 0;
    for (size_t i = 0; i < all && !err; i++) {
        rk_seen seen = out_list->items[i];
        bool read = false;
        rk_progress_step(&progress, i, all);
        err = store ? read_kept(store, &seen, &read) : NULL;
        if (read)
            out_list->items[out_list->count++] = seen;
        else
            rk_parameters_cleanup(&seen.parameters);
        out_list->unread += read ? 0 : 1;
    }
    rk_progress_end(&progress);
    return err;
}
