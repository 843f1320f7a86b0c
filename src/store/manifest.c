#include "store/manifest.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/tree.h"
#include "store/manifest_lock_internal.h"
#include "store/own_internal.h"
#include "store/store_path_internal.h"

void rk_manifest_cleanup(rk_manifest *manifest) {
    for (size_t i = 0; i < manifest->options_count; i++)
        rk_buf_cleanup(&manifest->options[i].bytes);
    rk_free(manifest->options);
    rk_free(manifest->uses);
    *manifest = (rk_manifest){0};
}

uint64_t rk_manifest_latest_run(const rk_manifest *manifest) {
    return manifest->run_count ? manifest->runs[manifest->run_count - 1].number : 0;
}

uint64_t rk_manifest_add_run(rk_manifest *manifest, const char *id) {
    rk_manifest_run run = {.number = rk_manifest_latest_run(manifest) + 1};
    (void)snprintf(run.id, sizeof run.id, "%s", id);
    for (size_t i = 0; i < manifest->run_count; i++)
        if (strcmp(manifest->runs[i].id, run.id) == 0)
            return manifest->runs[i].number;
    if (manifest->run_count == RK_MANIFEST_MAX_RUNS) {
        memmove(manifest->runs, manifest->runs + 1,
                (RK_MANIFEST_MAX_RUNS - 1) * sizeof manifest->runs[0]);
        manifest->run_count--;
    }
    manifest->runs[manifest->run_count++] = run;
    return run.number;
}

// Grows the array so that one more element fits. NULL if memory is short; the old array is
// unchanged.
static void *grow(void *items, size_t count, size_t *capacity, size_t size) {
    enum { FIRST_CAPACITY = 32 };
    if (count < *capacity)
        return items;
    size_t larger = *capacity ? 2 * *capacity : FIRST_CAPACITY;
    void *moved = rk_realloc(items, larger * size);
    if (moved)
        *capacity = larger;
    return moved;
}

static rk_manifest_options *find_options(const rk_manifest *manifest, const rk_digest *digest) {
    for (size_t i = 0; i < manifest->options_count; i++)
        if (rk_digest_equal(&manifest->options[i].digest, digest))
            return &manifest->options[i];
    return NULL;
}

rk_span rk_manifest_find_options(const rk_manifest *manifest, const rk_digest *digest) {
    const rk_manifest_options *found = find_options(manifest, digest);
    return found ? rk_buf_span(&found->bytes) : (rk_span){0};
}

static size_t all_options_bytes(const rk_manifest *manifest) {
    size_t bytes = 0;
    for (size_t i = 0; i < manifest->options_count; i++)
        bytes += manifest->options[i].bytes.len;
    return bytes;
}

// Records compile options. `*out_noted` is false if a limit is reached, which is no error.
static rk_err *note_options(rk_manifest *manifest, const rk_digest *digest, rk_span bytes,
                            bool *out_noted) {
    *out_noted = false;
    rk_manifest_options *place = find_options(manifest, digest);
    if (place && rk_span_equal(rk_buf_span(&place->bytes), bytes)) {
        *out_noted = true;
        return NULL;
    }
    size_t others = all_options_bytes(manifest) - (place ? place->bytes.len : 0);
    if (bytes.len > RK_MANIFEST_OPTIONS_MAX_BYTES ||
        bytes.len + others > RK_MANIFEST_ALL_OPTIONS_MAX_BYTES)
        return NULL;
    RK_AUTO(rk_buf) copy = {0};
    rk_buf_add_span(&copy, bytes);
    RK_TRY(rk_buf_status(&copy));
    if (!place) {
        if (manifest->options_count == RK_MANIFEST_MAX_OPTIONS)
            return NULL;
        rk_manifest_options *items = grow(manifest->options, manifest->options_count,
                                          &manifest->options_capacity, sizeof *items);
        if (!items)
            return rk_err_no_memory();
        manifest->options = items;
        place = &items[manifest->options_count++];
        *place = (rk_manifest_options){.digest = *digest};
    }
    rk_buf_cleanup(&place->bytes);
    place->bytes = copy;
    copy = (rk_buf){0};
    *out_noted = true;
    return NULL;
}

static rk_manifest_use *find_use(const rk_manifest *manifest, const rk_manifest_use *like) {
    for (size_t i = 0; i < manifest->use_count; i++) {
        rk_manifest_use *use = &manifest->uses[i];
        if (use->occurrence == like->occurrence && use->client == like->client &&
            rk_key_equal(&use->key, &like->key))
            return use;
    }
    return NULL;
}

rk_err *rk_manifest_note(rk_manifest *manifest, const rk_manifest_use *use, rk_span options) {
    rk_manifest_use *known = find_use(manifest, use);
    if (!known && manifest->use_count == RK_MANIFEST_MAX_USES)
        return NULL;
    bool noted = false;
    RK_TRY(note_options(manifest, &use->key.options, options, &noted));
    if (!noted)
        return NULL;
    if (!known) {
        rk_manifest_use *uses =
            grow(manifest->uses, manifest->use_count, &manifest->use_capacity, sizeof *uses);
        if (!uses)
            return rk_err_no_memory();
        manifest->uses = uses;
        known = &uses[manifest->use_count++];
    }
    *known = *use;
    return NULL;
}

static bool is_used(const rk_manifest *manifest, const rk_digest *options) {
    for (size_t i = 0; i < manifest->use_count; i++)
        if (rk_digest_equal(&manifest->uses[i].key.options, options))
            return true;
    return false;
}

// Removes uses that are older than the listed runs, and compile options without a use.
static void remove_unused(rk_manifest *manifest) {
    size_t kept = 0;
    uint64_t oldest = manifest->run_count ? manifest->runs[0].number : 0;
    for (size_t i = 0; i < manifest->use_count; i++)
        if (manifest->uses[i].run >= oldest)
            manifest->uses[kept++] = manifest->uses[i];
    manifest->use_count = kept;
    kept = 0;
    for (size_t i = 0; i < manifest->options_count; i++) {
        rk_manifest_options *one = &manifest->options[i];
        if (is_used(manifest, &one->digest))
            manifest->options[kept++] = *one;
        else
            rk_buf_cleanup(&one->bytes);
    }
    manifest->options_count = kept;
}

rk_err *rk_manifest_merge(rk_manifest *manifest, const char *run_id, const rk_manifest *seen) {
    uint64_t run = rk_manifest_add_run(manifest, run_id);
    remove_unused(manifest); // first, to free space for new uses
    for (size_t i = 0; i < seen->use_count; i++) {
        rk_manifest_use use = seen->uses[i];
        const rk_manifest_use *known = find_use(manifest, &use);
        use.run = run;
        if (known && use.bytes == 0) { // compiled, not loaded: keeps the earlier load time
            use.bytes = known->bytes;
            use.load_ns = known->load_ns;
        }
        RK_TRY(rk_manifest_note(manifest, &use, rk_manifest_find_options(seen, &use.key.options)));
    }
    return NULL;
}

// Files.

// Returns jobs/JOB/manifest, with "-RANK" for ranks above 0. `*out_path` is owned: rk_free.
static rk_err *path_of(const char *job, uint32_t rank, char **out_path) {
    RK_AUTO(rk_buf) path = {0};
    if (!*job || strchr(job, '/') || job[0] == '.')
        return rk_error(RK_INVALID_ARGUMENT, "\"%s\" is no name of a job's folder", job);
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
        rk_err_drop(rk_tree_sweep(store->directory, folder, 0, NULL), "it costs space only");
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
