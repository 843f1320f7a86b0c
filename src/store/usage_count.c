// Counts the files of the store by listing it, when the usage account is missing or is rebuilt.
#include "base/alloc.h"
#include "base/temporary.h"
#include "base/tree.h"
#include "store/own_internal.h"
#include "store/usage_internal.h"

enum { MAX_NAMES = 1 << 20 };

typedef struct counting {
    const rk_store *store;
    const char *folder; // relative to the store; borrowed
    unsigned place;
    bool deep; // the files are one level deeper: runs and jobs
    rk_usage_count *count;
} counting;

static rk_err *count_folder(const rk_store *store, unsigned place, const char *folder, bool deep,
                            rk_usage_count *count);

// True if the file is rekindle's own. Foreign files may lie in the same folders.
static bool is_ours(const counting *self, const char *path, const char *name,
                    const struct stat *info) {
    if (self->place >= RK_PLACE_QUARANTINE)
        return rk_own_file(self->store, self->place, path, info);
    rk_entry_kind kind = self->place >= RK_PLACE_PROGRAMS ? RK_ENTRY_PROGRAM : RK_ENTRY_EXECUTABLE;
    return S_ISREG(info->st_mode) &&
           rk_store_name_is_entry(kind, strrchr(self->folder, '/') + 1, name);
}

static rk_err *count_file(void *context, const char *name) {
    const counting *self = context;
    if (rk_temporary_is_name(name))
        return NULL; // counted as pending by its writer, or the writer is dead
    rk_autofree char *path = rk_path_join(self->folder, name);
    if (!path)
        return rk_err_no_memory();
    struct stat info;
    rk_err *err = rk_tree_stat(self->store->directory, path, &info);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "removed since it was listed");
        return NULL;
    }
    RK_TRY(err);
    if (S_ISDIR(info.st_mode))
        return self->deep ? count_folder(self->store, self->place, path, false, self->count) : NULL;
    if (!self->deep && is_ours(self, path, name, &info)) {
        self->count->files++;
        self->count->bytes += info.st_size;
    }
    return NULL;
}

static rk_err *count_folder(const rk_store *store, unsigned place, const char *folder, bool deep,
                            rk_usage_count *count) {
    counting self = {store, folder, place, deep, count};
    rk_err *err = rk_tree_list(store->directory, folder, MAX_NAMES, count_file, &self);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "no such folder: it holds nothing");
    return NULL;
}

rk_err *rk_usage_count_place(const rk_store *store, unsigned place, rk_usage_count *out_count) {
    *out_count = (rk_usage_count){0};
    RK_AUTO(rk_buf) folder = {0};
    rk_place_add_name(place, &folder);
    RK_TRY(rk_buf_status(&folder));
    bool deep = place == RK_PLACE_RUNS || place == RK_PLACE_JOBS;
    return count_folder(store, place, rk_buf_text(&folder), deep, out_count);
}

typedef struct counting_all {
    const rk_store *store;
    rk_entry_kind kind;
    rk_usage_table *table;
} counting_all;

static rk_err *count_named(void *context, const char *name) {
    static const char digits[] = "0123456789abcdef";
    const counting_all *self = context;
    if (strspn(name, digits) != 2 || name[2])
        return NULL;
    unsigned place = rk_place_of(self->kind, name);
    return rk_usage_count_place(self->store, place, &self->table->places[place]);
}

// Lists the folders instead of trying all 256, since a new store has none of them.
static rk_err *count_kind(const rk_store *store, rk_entry_kind kind, rk_usage_table *table) {
    counting_all self = {store, kind, table};
    rk_err *err =
        rk_tree_list(store->directory, rk_store_kind_folder(kind), MAX_NAMES, count_named, &self);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "no such folder: it holds nothing");
    return NULL;
}

rk_err *rk_usage_count_all(const rk_store *store, rk_usage_table *out_table) {
    *out_table = (rk_usage_table){0};
    RK_TRY(count_kind(store, RK_ENTRY_EXECUTABLE, out_table));
    RK_TRY(count_kind(store, RK_ENTRY_PROGRAM, out_table));
    for (unsigned place = RK_PLACE_QUARANTINE; place < RK_PLACE_COUNT; place++)
        RK_TRY(rk_usage_count_place(store, place, &out_table->places[place]));
    return NULL;
}
