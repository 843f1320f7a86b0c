// Reads and updates the files jobs/<job>/manifest.
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/tree.h"
#include "store/manifest.h"
#include "store/manifest_lock_internal.h"
#include "store/own_internal.h"
#include "store/store_path_internal.h"

// Returns jobs/JOB/manifest, with "-RANK" for ranks above 0. `*out_path` is owned: rk_free.
static rk_err *path_of(const char *job, uint32_t rank, char **out_path) {
    RK_AUTO(rk_buf) path = {0};
    if (!*job || strchr(job, '/') || job[0] == '.')
        return rk_error(RK_INVALID_ARGUMENT, "\"%s\" is not a valid job name", job);
    rk_buf_add_format(&path, "jobs/%s/manifest", job);
    if (rank)
        rk_buf_add_format(&path, "-%u", rank);
    RK_TRY(rk_buf_status(&path));
    size_t len;
    *out_path = (char *)rk_buf_detach(&path, &len);
    return NULL;
}

static rk_err *read_file(const rk_store *store, const char *job, uint32_t rank,
                         rk_manifest *out_manifest, bool *out_found) {
    rk_autofree char *path = NULL;
    RK_AUTO(rk_buf) data = RK_BUF_INIT(RK_MANIFEST_MAX_BYTES + 4096);
    RK_TRY(path_of(job, rank, &path));
    rk_err *err = rk_tree_read(store->directory, path, RK_MANIFEST_MAX_BYTES, &data);
    *out_found = !err;
    if (rk_err_code(err) == RK_NOT_FOUND || rk_err_code(err) == RK_OUT_OF_RANGE) {
        rk_err_drop(err, "there is none, or none that we wrote");
        return NULL;
    }
    RK_TRY(err);
    bool sound = false;
    return rk_manifest_decode(rk_buf_span(&data), out_manifest, &sound);
}

rk_err *rk_manifest_read(const rk_store *store, const char *job, uint32_t rank,
                         rk_manifest *out_manifest) {
    bool found = false;
    RK_TRY(read_file(store, job, rank, out_manifest, &found));
    return found || rank == 0 ? NULL : read_file(store, job, 0, out_manifest, &found);
}

// Removes temporary files of dead writers from the folder, once per process.
static void sweep_once(const rk_store *store, const char *folder) {
    static atomic_bool swept;
    if (!atomic_exchange(&swept, true))
        rk_err_drop(rk_tree_sweep(store->directory, folder, 0, NULL),
                    "leftover files only use space");
}

static rk_err *publish(const rk_store *store, const char *job, const char *path, rk_span data) {
    RK_AUTO(rk_buf) folder = {0};
    rk_buf_add_format(&folder, "jobs/%s", job);
    RK_TRY(rk_buf_status(&folder));
    rk_err *err = rk_tree_publish(store->directory, path, data.data, data.len, 0600);
    if (!err)
        sweep_once(store, rk_buf_text(&folder));
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "the folder is made lazily");
    RK_TRY(rk_tree_make_dirs(store->directory, rk_buf_text(&folder)));
    return rk_tree_publish(store->directory, path, data.data, data.len, 0600);
}

static rk_err *update(rk_store *store, const char *job, uint32_t rank, const char *path,
                      const char *run_id, const rk_manifest *seen) {
    RK_AUTO(rk_manifest) manifest = {0};
    RK_AUTO(rk_buf) data = RK_BUF_INIT(RK_MANIFEST_MAX_BYTES);
    RK_TRY(rk_manifest_read(store, job, rank, &manifest));
    RK_TRY(rk_own_check_replace(store, path, "rekindle manifest "));
    RK_TRY(rk_manifest_merge(&manifest, run_id, seen));
    RK_TRY(rk_manifest_encode(&manifest, &data));
    rk_err *err = publish(store, job, path, rk_buf_span(&data));
    rk_store_note_refusal(store, err);
    return err;
}

rk_err *rk_manifest_update(rk_store *store, const char *job, uint32_t rank, const char *run_id,
                           const rk_manifest *seen) {
    rk_autofree char *path = NULL;
    RK_TRY(rk_store_check_accepts(store));
    RK_TRY(path_of(job, rank, &path));
    rk_manifest_lock lock = rk_manifest_lock_take(store, job);
    rk_err *err = rk_store_check_accepts(store); // a refusal of the folder holds for the file too
    if (!err)
        err = update(store, job, rank, path, run_id, seen);
    rk_manifest_unlock(&lock);
    return err;
}
