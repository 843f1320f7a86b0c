#include "store/manifest.h"

#include <stdio.h>

#include "base/alloc.h"

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
