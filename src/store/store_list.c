#include "base/alloc.h"
#include "base/tree.h"
#include "store/load_verdict.h"
#include "store/removals.h"
#include "store/usage_internal.h"

// A walk through the folders of one kind.
typedef struct walk {
    const rk_store *store;
    rk_entry_kind kind;
    rk_store_visit_fn visit;
    void *context;
    const char *folder; // "ab"; borrowed while its files are visited
    bool stopped;       // the visitor returned an error, perhaps RK_NOT_FOUND
} walk;

enum { MAX_FOLDERS = 4096, MAX_FILES_IN_A_FOLDER = 1 << 20 };

static rk_err *visit_file(void *context, const char *name) {
    walk *self = context;
    if (!rk_store_name_is_entry(self->kind, self->folder, name))
        return NULL;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    memcpy(hex, name, RK_DIGEST_HEX_CHARS);
    hex[RK_DIGEST_HEX_CHARS] = '\0';
    RK_AUTO(rk_buf) path = {0};
    rk_store_add_path(self->store, self->kind, hex, &path);
    RK_TRY(rk_buf_status(&path));
    struct stat info;
    rk_err *err = rk_tree_stat(self->store->directory, rk_store_below(self->store, &path), &info);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "removed since it was listed");
        return NULL;
    }
    RK_TRY(err);
    if (!S_ISREG(info.st_mode))
        return NULL;
    const rk_store_item item = {
        .hex = hex,
        .path = rk_buf_text(&path),
        .stored_bytes = (uint64_t)info.st_size,
        .modified_ns = rk_stat_modified_ns(&info),
    };
    err = self->visit(self->context, &item);
    self->stopped = err != NULL;
    return err;
}

// Drops RK_NOT_FOUND of a missing folder, which has no entries. Keeps errors of the visitor.
static rk_err *ignore_absence(const walk *self, rk_err *err) {
    if (self->stopped || rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "no such folder: no entries");
    return NULL;
}

static rk_err *visit_folder(void *context, const char *name) {
    walk *self = context;
    if (strlen(name) != 2 || strspn(name, "0123456789abcdef") != 2)
        return NULL;
    RK_AUTO(rk_buf) folder = {0};
    rk_store_add_folder(self->store, self->kind, name, &folder);
    RK_TRY(rk_buf_status(&folder));
    self->folder = name;
    return ignore_absence(self,
                          rk_tree_list(self->store->directory, rk_store_below(self->store, &folder),
                                       MAX_FILES_IN_A_FOLDER, visit_file, self));
}

rk_err *rk_store_each(rk_store *store, rk_entry_kind kind, rk_store_visit_fn visit, void *context) {
    walk self = {.store = store, .kind = kind, .visit = visit, .context = context};
    return ignore_absence(&self, rk_tree_list(store->directory, rk_store_kind_folder(kind),
                                              MAX_FOLDERS, visit_folder, &self));
}

static rk_err *remove_kind(rk_store *store, rk_entry_kind kind, const char *hex,
                           uint64_t *freed_bytes) {
    RK_AUTO(rk_buf) path = {0};
    rk_store_add_path(store, kind, hex, &path);
    RK_TRY(rk_buf_status(&path));
    struct stat info;
    rk_err *err = rk_tree_stat(store->directory, rk_store_below(store, &path), &info);
    if (!err)
        err = rk_tree_remove(store->directory, rk_store_below(store, &path));
    if (!err) {
        *freed_bytes += (uint64_t)info.st_size;
        rk_err_drop(
            rk_usage_note(store, rk_place_of(kind, hex), (rk_usage_count){-1, -info.st_size}),
            "the next collection counts again");
    }
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "a key need not have both files, and another process may remove them too");
    return NULL;
}

rk_err *rk_store_remove(rk_store *store, const char *hex_prefix, uint64_t *out_bytes) {
    *out_bytes = 0;
    if (store->readonly)
        return rk_error(RK_PERMISSION_DENIED, "the store %s is open for reading only",
                        store->directory);
    char hex[RK_DIGEST_HEX_CHARS + 1];
    RK_TRY(rk_store_resolve(store, 1u << RK_ENTRY_EXECUTABLE | 1u << RK_ENTRY_PROGRAM, hex_prefix,
                            hex));
    RK_TRY(remove_kind(store, RK_ENTRY_EXECUTABLE, hex, out_bytes));
    if (*out_bytes)
        rk_removals_note_one(store, RK_REMOVAL_BY_HAND, hex);
    RK_TRY(remove_kind(store, RK_ENTRY_PROGRAM, hex, out_bytes));
    return rk_load_verdict_remove(store, hex);
}

rk_err *rk_store_remove_quarantined(rk_store *store, const char *name, uint64_t *out_bytes) {
    *out_bytes = 0;
    if (store->readonly)
        return rk_error(RK_PERMISSION_DENIED, "the store %s is open for reading only",
                        store->directory);
    if (!rk_store_is_set_aside(name))
        return rk_error(RK_NOT_FOUND, "%s/quarantine/%s was not set aside by rekindle",
                        store->directory, name);
    struct stat info;
    rk_autofree char *path = rk_path_join("quarantine", name);
    if (!path)
        return rk_err_no_memory();
    RK_TRY(rk_tree_stat(store->directory, path, &info));
    RK_TRY(rk_tree_remove(store->directory, path));
    *out_bytes = (uint64_t)info.st_size;
    rk_err_drop(rk_usage_note(store, RK_PLACE_QUARANTINE, (rk_usage_count){-1, -info.st_size}),
                "the next collection counts again");
    return NULL;
}
