#include "store/pins.h"

#include <fcntl.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/tree.h"
#include "store/store_path_internal.h"

enum { MAX_PINS = 100000 };

// Returns pins/<key>. `*out_path` is owned: rk_free.
static rk_err *path_of(const char *hex, char **out_path) {
    rk_digest digest;
    if (!rk_digest_from_hex(rk_span_text(hex), &digest))
        return rk_error(RK_INVALID_ARGUMENT, "\"%s\" is not a key", hex);
    *out_path = rk_path_join("pins", hex);
    return *out_path ? NULL : rk_err_no_memory();
}

static rk_err *refuse_readonly(const rk_store *store) {
    if (!store->readonly)
        return NULL;
    return rk_error(RK_PERMISSION_DENIED, "the store %s is open for reading only",
                    store->directory);
}

rk_err *rk_store_pin(rk_store *store, const char *hex, bool *out_was_pinned) {
    const int flags = O_WRONLY | O_CREAT | O_EXCL;
    rk_autofree char *path = NULL;
    RK_TRY(refuse_readonly(store));
    RK_TRY(path_of(hex, &path));
    rk_autofd fd = -1;
    rk_err *err = rk_tree_open(store->directory, path, flags, 0600, &fd);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "the folder is made lazily");
        RK_TRY(rk_tree_make_dirs(store->directory, "pins"));
        err = rk_tree_open(store->directory, path, flags, 0600, &fd);
    }
    bool was_pinned = rk_err_code(err) == RK_ALREADY_EXISTS;
    if (was_pinned)
        rk_err_drop(RK_TAKE(err), "already pinned");
    if (out_was_pinned)
        *out_was_pinned = was_pinned;
    return err;
}

rk_err *rk_store_unpin(rk_store *store, const char *hex, bool *out_was_pinned) {
    rk_autofree char *path = NULL;
    RK_TRY(refuse_readonly(store));
    RK_TRY(path_of(hex, &path));
    rk_err *err = rk_tree_remove(store->directory, path);
    bool absent = rk_err_code(err) == RK_NOT_FOUND;
    if (absent)
        rk_err_drop(RK_TAKE(err), "already not pinned");
    if (out_was_pinned)
        *out_was_pinned = !err && !absent;
    return err;
}

static rk_err *add(void *context, const char *name) {
    rk_pins *pins = context;
    rk_digest digest;
    if (!rk_digest_from_hex(rk_span_text(name), &digest))
        return NULL;
    if (pins->count == MAX_PINS)
        return rk_error(RK_OUT_OF_RANGE, "more than %d keys are pinned", (int)MAX_PINS);
    if (pins->count == pins->capacity) {
        size_t capacity = pins->capacity ? 2 * pins->capacity : 16;
        void *keys = rk_realloc(pins->keys, capacity * sizeof *pins->keys);
        if (!keys)
            return rk_err_no_memory();
        pins->keys = keys;
        pins->capacity = capacity;
    }
    memcpy(pins->keys[pins->count++], name, sizeof *pins->keys);
    return NULL;
}

rk_err *rk_pins_load(const rk_store *store, rk_pins *out_pins) {
    rk_err *err = rk_tree_list(store->directory, "pins", MAX_PINS + 1, add, out_pins);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "nothing was ever pinned");
    return NULL;
}

void rk_pins_cleanup(rk_pins *pins) {
    rk_free(pins->keys);
    *pins = (rk_pins){0};
}

static int compare(const void *key, const void *item) {
    return strcmp(key, item);
}

bool rk_pins_has(const rk_pins *pins, const char *hex) {
    return pins->count && bsearch(hex, pins->keys, pins->count, sizeof *pins->keys, compare);
}
