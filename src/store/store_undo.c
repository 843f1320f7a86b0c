#include "base/alloc.h"
#include "base/tree.h"
#include "store/marker_internal.h"

rk_store_before rk_store_look(const char *directory) {
    struct stat info;
    rk_autofree char *path = rk_path_join(directory, RK_MARKER_NAME);
    // If nothing is known, nothing is removed.
    return (rk_store_before){
        .has_folder = !path || rk_sys()->lstat_fn(directory, &info) == 0,
        .has_marker = !path || rk_sys()->lstat_fn(path, &info) == 0,
    };
}

static rk_err *count_others(void *context, const char *name) {
    *(size_t *)context += strcmp(name, RK_MARKER_NAME) != 0;
    return NULL;
}

void rk_store_undo_open(rk_store *store, rk_store_before before) {
    enum { MOST_NAMES = 1 << 20 };
    size_t others = 0;
    rk_err *err = rk_fs_list(store->directory, MOST_NAMES, count_others, &others);
    if (!err && others == 0 && !before.has_marker) {
        err = rk_tree_remove(store->directory, RK_MARKER_NAME);
        // Fails if another process has stored something since.
        if (!before.has_folder && rk_sys()->rmdir_fn(store->directory) != 0)
            rk_err_drop(rk_marker_check(store), "the next process writes the marker again");
    }
    rk_err_drop(err, "an empty store stays");
    rk_store_free(store);
}
