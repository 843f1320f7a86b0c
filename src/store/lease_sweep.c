#include <errno.h>
#include <unistd.h>

#include "base/fs.h"
#include "store/lease.h"
#include "store/store_path.h"

// What cannot be judged otherwise is left alone for so long. Signs of life keep a lease young.
static const uint64_t old_ns = 3600 * (uint64_t)1000000000u;

typedef struct sweep {
    const rk_store *store;
    const char *folder; // borrowed
    rk_process self;
    uint64_t removed;
} sweep;

static bool is_old(const char *path) {
    struct stat info;
    if (rk_sys()->lstat_fn(path, &info) != 0)
        return false;
    uint64_t now_ns = rk_realtime_ns();
    uint64_t changed_ns =
        (uint64_t)info.st_mtim.tv_sec * 1000000000u + (uint64_t)info.st_mtim.tv_nsec;
    return now_ns > changed_ns && now_ns - changed_ns > old_ns;
}

// ".tmp-<process>-<16 digits>", and the writer is dead; or older than anything in use.
static bool is_left_behind(const char *name, const char *path) {
    enum { SUFFIX_CHARS = 1 + 16 };
    static const char prefix[] = ".tmp-";
    size_t prefix_len = sizeof prefix - 1, len = strlen(name);
    rk_process writer;
    if (len > prefix_len + SUFFIX_CHARS && memcmp(name, prefix, prefix_len) == 0 &&
        rk_process_parse(rk_span_of(name + prefix_len, len - prefix_len - SUFFIX_CHARS), &writer)) {
        rk_liveness liveness = rk_process_liveness(&writer);
        if (liveness != RK_LIVENESS_UNKNOWN)
            return liveness == RK_LIVENESS_DEAD;
    }
    return is_old(path);
}

// A lease is removed as it is taken over: by whoever has claimed it.
static rk_err *sweep_lease(sweep *self, const rk_digest *key, const char *path) {
    rk_lease_view view;
    rk_lease mine;
    RK_TRY(rk_lease_read(self->store, key, &view));
    if (view.state == RK_LEASE_NONE || (!rk_lease_is_over(&view) && !is_old(path)))
        return NULL;
    RK_TRY(rk_lease_take_over(self->store, &view, key, &self->self, &mine));
    self->removed += mine.identity != 0;
    rk_lease_release(self->store, &mine);
    return NULL;
}

static rk_err *visit(void *context, const char *name) {
    sweep *self = context;
    RK_AUTO(rk_buf) path = {0};
    rk_buf_add_format(&path, "%s/%s", self->folder, name);
    RK_TRY(rk_buf_status(&path));
    rk_digest key;
    if (rk_digest_from_hex(rk_span_text(name), &key)) {
        rk_err_drop(sweep_lease(self, &key, rk_buf_text(&path)),
                    "the others can be swept all the same, and this one next time");
        return NULL;
    }
    // NFS keeps what is removed while open under such a name, and removes it itself.
    if (strncmp(name, ".nfs", 4) == 0)
        return NULL;
    bool over = is_left_behind(name, rk_buf_text(&path));
    if (over && rk_sys()->unlink_fn(rk_buf_text(&path)) == 0)
        self->removed++;
    return NULL;
}

rk_err *rk_lease_sweep(const rk_store *store, uint64_t *out_removed) {
    enum { MAX_LEASES = 1 << 16 };
    if (out_removed)
        *out_removed = 0;
    if (store->readonly)
        return NULL;
    RK_AUTO(rk_buf) folder = {0};
    rk_buf_add_format(&folder, "%s/leases", store->directory);
    RK_TRY(rk_buf_status(&folder));
    sweep self = {.store = store, .folder = rk_buf_text(&folder)};
    rk_process_self(&self.self);
    rk_err *err = rk_fs_list(rk_buf_text(&folder), MAX_LEASES, visit, &self);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "no leases yet");
        return NULL;
    }
    if (out_removed)
        *out_removed = self.removed;
    return err;
}
