#include "pjrt/strict_explain.h"

#include "base/alloc.h"
#include "base/sys.h"
#include "diagnose/diff.h"
#include "pjrt/steps.h"

enum {
    COMPARED_MAX = 4,            // programs
    PROGRAM_MAX_BYTES = 2 << 20, // of the larger ones only the name and place are looked at
};

// A program, read.
typedef struct read_program {
    rk_model *model; // NULL: it could not be read
    rk_view view;
} read_program;

static void read_program_cleanup(read_program *p) {
    rk_view_cleanup(&p->view);
    rk_model_free(p->model);
}

void rk_late_cleanup(rk_late *late) {
    rk_buf_cleanup(&late->name);
    rk_buf_cleanup(&late->place);
    rk_buf_cleanup(&late->cause);
    rk_buf_cleanup(&late->words);
    rk_buf_cleanup(&late->remedy);
}

static bool read_code(rk_span code, rk_span format, read_program *out) {
    rk_autofree char *reason = NULL;
    rk_err *err = rk_model_read(code, format, RK_READ_LOCATIONS, &out->model, &reason);
    if (!err && out->model)
        err = rk_view_make(out->model, &out->view);
    bool good = !err && out->model;
    rk_err_drop(err, "then less is said about it");
    return good;
}

static rk_span name_of(const rk_model *model) {
    uint32_t name = rk_model_attr(model, &model->ops.items[0], "sym_name");
    return name == RK_NO_ID ? (rk_span){0} : model->nodes.items[name].bytes;
}

static const char *bare_op(const char *op) {
    const char *dot = op ? strchr(op, '.') : NULL;
    return dot ? dot + 1 : op ? op : "";
}

static void write_values(const rk_difference *d, rk_buf *out) {
    rk_buf_add_format(out, ": %s -> %s", d->before ? d->before : "none",
                      d->after ? d->after : "none");
}

static void write_difference(const rk_difference *d, const rk_buf *called_at, rk_buf *out) {
    const char *attribute = d->attribute ? d->attribute : "";
    const char *value = d->after ? d->after : d->before;
    switch (d->kind) {
    case RK_DIFFERENCE_PARAMETER_ADDED:
    case RK_DIFFERENCE_PARAMETER_REMOVED:
        rk_buf_add_format(out, "input %s %s", attribute, d->after ? "appeared" : "went");
        break;
    case RK_DIFFERENCE_OP_ADDED:
    case RK_DIFFERENCE_OP_REMOVED:
        rk_buf_add_format(out, "%s %s", bare_op(d->op), d->after ? "added" : "removed");
        if (value)
            rk_buf_add_format(out, ": %s", value);
        break;
    default:
        if (d->op && strcmp(d->op, "parameter") == 0)
            rk_buf_add_format(out, "input %s", attribute);
        else if (d->kind == RK_DIFFERENCE_CONSTANT)
            rk_buf_add_format(out, "constant in %s", bare_op(d->op));
        else
            rk_buf_add_format(out, "%s%s%s", bare_op(d->op), *attribute ? " " : "", attribute);
        write_values(d, out);
    }
    RK_AUTO(rk_buf) place = {0};
    if (d->file)
        rk_buf_add_format(&place, "%s:%u", d->file, d->line);
    if (place.len > 0 && strcmp(rk_buf_text(&place), rk_buf_text(called_at)) != 0)
        rk_buf_add_format(out, " (%s)", rk_buf_text(&place));
}

static const char *remedy_of(rk_cause cause) {
    switch (cause) {
    case RK_CAUSE_SHAPE:
        return "pad it to sizes that were seen (`rekindle shapes` recommends them)";
    case RK_CAUSE_DTYPE:
        return "convert it to one type before the call";
    case RK_CAUSE_CONSTANT:
        return "pass the value as an array, so that it is an input and no constant";
    case RK_CAUSE_PARAMETERS:
        return "call it with the same inputs each time";
    case RK_CAUSE_SHARDING:
        return "place the inputs in the same way each time";
    default:
        return "let this happen during warm-up, or make the call as it was made there";
    }
}

// What was found so far to be the nearest.
typedef struct nearest {
    size_t distance;
    bool found;
    rk_cause cause;
    rk_buf words;
} nearest;

static void compare(const read_program *before, const read_program *after, const rk_late *late,
                    nearest *best) {
    RK_AUTO(rk_program_diff) diff = {0};
    rk_err *err = rk_diff_programs(&before->view, &after->view, &diff);
    size_t distance = diff.added + diff.removed + diff.list.cause_count;
    if (!err && (!best->found || distance < best->distance)) {
        best->found = true;
        best->distance = distance;
        best->cause = diff.cause;
        rk_buf_clear(&best->words);
        if (diff.list.count > 0)
            write_difference(&diff.list.items[0], &late->place, &best->words);
        if (diff.list.cause_count > 1)
            rk_buf_add_format(&best->words, ", and %zu more", diff.list.cause_count - 1);
    }
    rk_err_drop(err, "then it is not the nearest one");
}

// The program of a key, if the store has it, and it may be compared.
static void compare_kept(const rk_request *r, const rk_digest *key, const read_program *after,
                         const rk_late *late, nearest *best) {
    __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
    __attribute__((cleanup(read_program_cleanup))) read_program before = {0};
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(key, hex);
    rk_err *err = rk_store_read(r->runtime->store, RK_ENTRY_PROGRAM, hex, RK_WANT_PAYLOAD, &lookup);
    rk_err_drop(err, "it is not kept, or not yet");
    if (lookup.found && lookup.view.entry.payload.len <= PROGRAM_MAX_BYTES &&
        read_code(lookup.view.entry.payload, r->format, &before))
        compare(&before, after, late, best);
}

static void find_cause(const rk_request *r, const read_program *program, rk_late *late) {
    rk_digest keys[COMPARED_MAX];
    uint64_t start_ns = rk_monotonic_ns();
    nearest best = {0};
    size_t count = rk_steps_find_named(rk_buf_text(&late->name), keys, COMPARED_MAX);
    for (size_t i = 0; i < count && rk_monotonic_ns() - start_ns < RK_LATE_NS; i++)
        if (!r->has_key || !rk_digest_equal(&keys[i], &r->key.digest))
            compare_kept(r, &keys[i], program, late, &best);
    if (best.found && best.distance == 0) {
        rk_buf_add_text(&late->words, "the program is one that was compiled before; compile "
                                      "options or devices differ");
    } else if (best.found) {
        rk_buf_add_text(&late->cause, rk_cause_name(best.cause));
        rk_buf_add_span(&late->words, rk_buf_span(&best.words));
        rk_buf_add_text(&late->remedy, remedy_of(best.cause));
    } else if (count == 0) {
        rk_buf_add_text(&late->cause, rk_cause_name(RK_CAUSE_FIRST));
        rk_buf_add_text(&late->words, "this process had no program of that name before");
    }
    rk_buf_cleanup(&best.words);
}

void rk_late_explain(const rk_request *r, rk_late *out_late) {
    __attribute__((cleanup(read_program_cleanup))) read_program program = {0};
    bool good =
        r->code.len <= (size_t)16 * PROGRAM_MAX_BYTES && read_code(r->code, r->format, &program);
    if (good) {
        rk_buf_add_span(&out_late->name, name_of(program.model));
        if (program.view.call.line > 0)
            rk_source_write(&program.view.call, &out_late->place);
        if (r->runtime->store && r->code.len <= PROGRAM_MAX_BYTES)
            find_cause(r, &program, out_late);
    }
    if (out_late->name.len == 0)
        rk_buf_add_text(&out_late->name, "a program without a name");
    if (out_late->remedy.len == 0)
        rk_buf_add_text(&out_late->remedy, remedy_of(RK_CAUSE_FIRST));
}
