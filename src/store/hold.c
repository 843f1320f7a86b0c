#include "store/hold.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/process.h"
#include "base/temporary.h"
#include "base/tree.h"
#include "store/usage.h"
#include "store/used.h"

enum { MAX_BYTES = 1024, LATE_SECONDS = 300, TORN_SECONDS = 2, POLL_MS = 20 };

static rk_err *create(const rk_store *store, const char *path, bool *out_created) {
    const int flags = O_WRONLY | O_CREAT | O_EXCL;
    RK_AUTO(rk_buf) text = {0};
    rk_process self;
    rk_process_self(&self);
    rk_process_add_text(&self, &text);
    RK_TRY(rk_buf_status(&text));
    *out_created = false;
    rk_autofd fd = -1;
    rk_err *err = rk_tree_open(store->directory, path, flags, 0600, &fd);
    if (rk_err_code(err) == RK_ALREADY_EXISTS) {
        rk_err_drop(err, "somebody has it");
        return NULL;
    }
    RK_TRY(err);
    err = rk_fs_write_all(fd, text.data, text.len);
    if (err) {
        rk_err_drop(rk_tree_remove(store->directory, path), "it is late in five minutes");
        return rk_err_wrap(err, "%s/%s", store->directory, path);
    }
    *out_created = true;
    return NULL;
}

// What the file says, and when it was written; `*out_present` is false if it is not there.
static rk_err *read_holder(const rk_store *store, const char *path, rk_buf *out_text,
                           uint64_t *out_since_ns, bool *out_present) {
    struct stat info;
    *out_present = false;
    rk_err *err = rk_tree_stat(store->directory, path, &info);
    if (!err)
        err = rk_tree_read(store->directory, path, MAX_BYTES, out_text);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "released meanwhile");
        return NULL;
    }
    RK_TRY(err);
    *out_since_ns = rk_stat_modified_ns(&info);
    *out_present = true;
    return NULL;
}

static bool is_stale(const rk_buf *text, uint64_t since_ns) {
    rk_process holder;
    rk_liveness liveness = RK_LIVENESS_UNKNOWN;
    // A file that names nobody is being written just now, or its writer was killed over it.
    unsigned late_seconds = TORN_SECONDS;
    if (rk_process_parse(rk_buf_span(text), &holder)) {
        liveness = rk_process_liveness(&holder);
        late_seconds = LATE_SECONDS;
    }
    uint64_t now_ns = rk_realtime_ns();
    bool late = now_ns > since_ns && (now_ns - since_ns) / 1000000000u >= late_seconds;
    return liveness == RK_LIVENESS_DEAD || late;
}

// Moves the stale file away; should it be another one by now, two hold, which does no harm.
static void take_away(const rk_store *store, const char *path) {
    RK_AUTO(rk_buf) aside = {0};
    rk_buf_add_text(&aside, "usage/");
    rk_temporary_add_name(&aside);
    rk_err *err = rk_buf_status(&aside);
    if (!err)
        err = rk_tree_rename(store->directory, path, rk_buf_text(&aside));
    if (!err)
        err = rk_tree_remove(store->directory, rk_buf_text(&aside));
    rk_err_drop(err, "another process did, or it is not to be had");
}

rk_err *rk_hold_try(const rk_store *store, bool *out_held) {
    static const char path[] = "usage/gc";
    RK_TRY(rk_usage_make_folder(store));
    RK_TRY(create(store, path, out_held));
    if (*out_held)
        return NULL;
    RK_AUTO(rk_buf) text = RK_BUF_INIT(2 * MAX_BYTES);
    uint64_t since_ns = 0;
    bool present = false;
    RK_TRY(read_holder(store, path, &text, &since_ns, &present));
    if (present && !is_stale(&text, since_ns))
        return NULL;
    if (present)
        take_away(store, path);
    return create(store, path, out_held);
}

void rk_hold_pause(unsigned milliseconds) {
    struct timespec pause = {.tv_sec = milliseconds / 1000,
                             .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
}

rk_err *rk_hold_wait(const rk_store *store, unsigned timeout_ms, bool *out_held) {
    for (unsigned waited_ms = 0;; waited_ms += POLL_MS) {
        RK_TRY(rk_hold_try(store, out_held));
        if (*out_held || waited_ms >= timeout_ms)
            return NULL;
        rk_hold_pause(POLL_MS);
    }
}

// Should somebody have taken it away for being late, two hold, which does no harm.
void rk_hold_release(const rk_store *store) {
    enum { ATTEMPTS = 2 }; // what failed may pass, and others would wait for five minutes
    for (int i = 0; i < ATTEMPTS; i++) {
        rk_err *err = rk_tree_remove(store->directory, "usage/gc");
        bool gone = !err || rk_err_code(err) == RK_NOT_FOUND;
        rk_err_drop(err, "it is late in five minutes");
        if (gone)
            return;
    }
}

void rk_hold_cleanup(const rk_store **held) {
    if (*held)
        rk_hold_release(*held);
}
