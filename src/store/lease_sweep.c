#include <errno.h>

#include "base/temporary.h"
#include "base/tree.h"
#include "store/lease.h"
#include "store/own_internal.h"
#include "store/store_path_internal.h"

typedef struct sweep {
    const rk_store *store;
    rk_process self;
    uint64_t removed;
} sweep;

// True if the file was not changed for an hour. Heartbeats change a lease that is in use.
static bool is_old(const rk_store *store, const char *path) {
    struct stat info;
    rk_err *err = rk_tree_stat(store->directory, path, &info);
    if (err) {
        rk_err_drop(err, "files that cannot be read stay");
        return false;
    }
    uint64_t now_ns = rk_realtime_ns();
    uint64_t changed_ns = rk_stat_modified_ns(&info);
    return now_ns > changed_ns && now_ns - changed_ns >= RK_TEMPORARY_LATE_NS;
}

// Removes a lease that is over or old. Takes it over first, so that no other process can take it in
// between.
static rk_err *sweep_lease(sweep *self, const rk_digest *key, const char *path) {
    rk_lease_view view;
    rk_lease mine;
    if (!rk_own_lease(self->store, path))
        return NULL; // a foreign file
    RK_TRY(rk_lease_read(self->store, key, &view));
    if (view.state == RK_LEASE_NONE || (!rk_lease_is_over(&view) && !is_old(self->store, path)))
        return NULL;
    RK_TRY(rk_lease_take_over(self->store, &view, key, &self->self, &mine));
    self->removed += mine.identity != 0;
    rk_lease_release(self->store, &mine);
    return NULL;
}

// Removes an old claim. A claim in use exists only for moments.
static rk_err *sweep_other(sweep *self, const char *name, const char *path) {
    if (!rk_own_claim_name(name) || !is_old(self->store, path))
        return NULL;
    RK_TRY(rk_tree_remove(self->store->directory, path));
    self->removed++;
    return NULL;
}

static rk_err *visit(void *context, const char *name) {
    sweep *self = context;
    RK_AUTO(rk_buf) path = {0};
    rk_buf_add_format(&path, "leases/%s", name);
    RK_TRY(rk_buf_status(&path));
    rk_digest key;
    rk_err *err = rk_digest_from_hex(rk_span_text(name), &key)
                      ? sweep_lease(self, &key, rk_buf_text(&path))
                      : sweep_other(self, name, rk_buf_text(&path));
    rk_err_drop(err, "the other files are swept now, this one next time");
    return NULL;
}

rk_err *rk_lease_sweep(const rk_store *store, uint64_t *out_removed) {
    enum { MAX_LEASES = 1 << 16 };
    sweep self = {.store = store};
    size_t temporaries = 0;
    if (out_removed)
        *out_removed = 0;
    if (!rk_store_accepts(store))
        return NULL;
    rk_process_self(&self.self);
    rk_err *err = rk_tree_sweep(store->directory, "leases", rk_realtime_ns(), &temporaries);
    if (!err)
        err = rk_tree_list(store->directory, "leases", MAX_LEASES, visit, &self);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "no leases yet");
        err = NULL;
    }
    if (out_removed)
        *out_removed = self.removed + temporaries;
    return err;
}
