// Reads the usage account, base and logs together, and publishes it as a new base.
#include <errno.h>

#include "base/alloc.h"
#include "base/process.h"
#include "base/tree.h"
#include "store/last_use_internal.h"
#include "store/own_internal.h"
#include "store/usage_internal.h"

enum { LOG_MAX_BYTES = 1 << 20 };

// Adds the log's lines that the base does not contain.
static void fold(rk_usage_state *state, rk_usage_log *log, rk_span text) {
    if (log->folded > text.len)
        log->folded = text.len;
    size_t used = 0;
    do {
        rk_span rest = rk_span_of(text.data + log->folded, text.len - log->folded);
        unsigned place = 0;
        rk_usage_count change;
        if (rk_usage_parse_line(rest, &used, &place, &change)) {
            rk_usage_count *count =
                place == RK_PLACE_PENDING ? &log->pending : &state->table.places[place];
            count->files += change.files;
            count->bytes += change.bytes;
        } else if (used && rk_span_is(rk_span_of(rest.data, used), RK_USAGE_CLOSED)) {
            log->finished = true;
        }
        log->folded += used;
    } while (used);
}

static rk_err *read_log(const rk_store *store, rk_usage_state *state, const char *name) {
    rk_usage_log *log = rk_usage_log_named(state, rk_span_text(name));
    rk_autofree char *path = rk_usage_path(name);
    if (!log || !path)
        return rk_err_no_memory();
    RK_AUTO(rk_buf) text = RK_BUF_INIT(LOG_MAX_BYTES + 4096);
    struct stat info;
    rk_err *err = rk_tree_stat(store->directory, path, &info);
    if (!err)
        err = rk_tree_read(store->directory, path, LOG_MAX_BYTES, &text);
    if (rk_err_code(err) == RK_NOT_FOUND || rk_err_code(err) == RK_OUT_OF_RANGE) {
        rk_err_drop(err, "folded and removed since it was listed, or no log");
        return NULL;
    }
    RK_TRY(err);
    log->present = true;
    log->modified_ns = rk_stat_modified_ns(&info);
    fold(state, log, rk_buf_span(&text));
    return NULL;
}

typedef struct reading {
    const rk_store *store;
    rk_usage_state *state;
} reading;

static rk_err *visit(void *context, const char *name) {
    reading *self = context;
    if (!rk_own_log_name(name))
        return NULL;
    return read_log(self->store, self->state, name);
}

// Identifies a base: a new base has another inode, or at least another time.
typedef struct base_id {
    bool present;
    ino_t inode;
    uint64_t modified_ns;
} base_id;

static base_id identify_base(const rk_store *store, const char *path) {
    struct stat info;
    rk_err *err = rk_tree_stat(store->directory, path, &info);
    base_id id = {0};
    if (!err)
        id = (base_id){true, info.st_ino, rk_stat_modified_ns(&info)};
    rk_err_drop(err, "no base, or reading it reports the error");
    return id;
}

static rk_err *read_base(const rk_store *store, const char *path, rk_usage_state *state) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(RK_USAGE_BASE_MAX_BYTES + 4096);
    rk_err *err = rk_tree_read(store->directory, path, RK_USAGE_BASE_MAX_BYTES, &text);
    if (rk_err_code(err) == RK_NOT_FOUND || rk_err_code(err) == RK_OUT_OF_RANGE) {
        rk_err_drop(err, "no base: the store is counted");
        return NULL;
    }
    RK_TRY(err);
    state->known = rk_usage_parse_base(rk_buf_span(&text), state);
    if (!state->known) // a part of a base is useless
        state->table = (rk_usage_table){0};
    return NULL;
}

static rk_err *read_once(const rk_store *store, const char *base, rk_usage_state **out_state,
                         bool *out_stable) {
    RK_AUTO_USAGE state = rk_calloc(1, sizeof *state);
    if (!state)
        return rk_err_no_memory();
    base_id before = identify_base(store, base);
    RK_TRY(read_base(store, base, state));
    reading self = {store, state};
    rk_err *err = rk_tree_list(store->directory, "usage", RK_USAGE_MAX_LOGS, visit, &self);
    if (err && rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "no folder: no logs");
    base_id after = identify_base(store, base);
    state->published_ns = after.modified_ns;
    *out_stable = before.present == after.present && before.inode == after.inode &&
                  before.modified_ns == after.modified_ns;
    *out_state = RK_TAKE(state);
    return NULL;
}

rk_err *rk_usage_read(const rk_store *store, rk_usage_state **out_state) {
    enum { ATTEMPTS = 5 };
    *out_state = NULL;
    rk_autofree char *base = rk_usage_path("base");
    if (!base)
        return rk_err_no_memory();
    bool stable = false;
    // Reads again if the base changed meanwhile: another process may have folded a log into the new
    // base and removed the log, which would then be missing in the sum.
    for (int i = 0; !stable && i < ATTEMPTS; i++) {
        rk_usage_state_free(RK_TAKE(*out_state));
        RK_TRY(read_once(store, base, out_state, &stable));
    }
    return NULL;
}

void rk_usage_state_free(rk_usage_state *state) {
    if (!state)
        return;
    for (size_t i = 0; i < state->log_count; i++)
        rk_free(state->logs[i].name);
    rk_free(state->logs);
    rk_free(state);
}

void rk_usage_state_cleanup(rk_usage_state **state) {
    rk_usage_state_free(RK_TAKE(*state));
}

static bool writer_is_gone(const rk_usage_log *log, uint64_t now_ns) {
    const uint64_t day_ns = UINT64_C(86400) * 1000000000;
    const char *serial = log->name + sizeof RK_USAGE_LOG_PREFIX - 1;
    const char *whose = strchr(serial, '-');
    rk_process writer;
    rk_liveness liveness = RK_LIVENESS_UNKNOWN;
    if (whose && rk_process_parse(rk_span_text(whose + 1), &writer))
        liveness = rk_process_liveness(&writer);
    if (liveness == RK_LIVENESS_UNKNOWN)
        return now_ns > log->modified_ns && now_ns - log->modified_ns > day_ns;
    return liveness == RK_LIVENESS_DEAD;
}

size_t rk_usage_find_finished(rk_usage_state *state, uint64_t now_ns) {
    size_t count = 0;
    for (size_t i = 0; i < state->log_count; i++) {
        rk_usage_log *log = &state->logs[i];
        log->finished = log->present && (log->finished || writer_is_gone(log, now_ns));
        count += log->finished;
    }
    return count;
}

rk_err *rk_usage_publish(const rk_store *store, const rk_usage_state *state) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(RK_USAGE_BASE_MAX_BYTES);
    rk_autofree char *base = rk_usage_path("base");
    rk_usage_write_base(state, &text);
    RK_TRY(rk_buf_status(&text));
    if (!base)
        return rk_err_no_memory();
    RK_TRY(rk_own_check_replace(store, base, RK_USAGE_START));
    RK_TRY(rk_usage_make_folder(store));
    RK_TRY(rk_tree_publish(store->directory, base, text.data, text.len, 0600));
    for (size_t i = 0; i < state->log_count; i++) {
        const rk_usage_log *log = &state->logs[i];
        rk_autofree char *path = log->finished ? rk_usage_path(log->name) : NULL;
        if (path)
            rk_err_drop(rk_tree_remove(store->directory, path),
                        "the base contains its lines, so none counts twice");
    }
    return NULL;
}

rk_err *rk_usage_publish_if_space(const rk_store *store, const rk_usage_state *state,
                                  bool *out_published) {
    rk_err *err = rk_usage_publish(store, state);
    if (out_published)
        *out_published = !err;
    if (rk_err_errno(err) != ENOSPC && rk_err_errno(err) != EDQUOT)
        return err;
    rk_err_drop(err, "a later process counts again when the disk has space");
    return NULL;
}

rk_usage_count rk_usage_sum(const rk_usage_state *state) {
    rk_usage_count sum = {0};
    for (unsigned place = 0; place < RK_PLACE_COUNT; place++) {
        sum.files += state->table.places[place].files;
        sum.bytes += state->table.places[place].bytes;
    }
    for (size_t i = 0; i < state->log_count; i++) {
        if (state->logs[i].present && !state->logs[i].finished) {
            sum.files += state->logs[i].pending.files;
            sum.bytes += state->logs[i].pending.bytes;
        }
    }
    return (rk_usage_count){sum.files > 0 ? sum.files : 0, sum.bytes > 0 ? sum.bytes : 0};
}
