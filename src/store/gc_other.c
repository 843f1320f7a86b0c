#include "store/gc_other_internal.h"

#include <fcntl.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/tree.h"
#include "store/own_internal.h"

enum {
    MAX_NAMES = 1 << 20,
    SHARE_DIVISOR = 20, // runs, and quarantine/, may each take 1/20 of the cap
};
#define UNCAPPED_BYTES ((uint64_t)1 << 30) // the same for a store without a cap
#define DAY_NS         (UINT64_C(86400) * 1000000000)

// The limits of a place. The oldest items are removed first. Items younger than `least_age_ns`
// stay; items older than `most_age_ns` are removed.
typedef struct place_limit {
    unsigned place;
    const char *what;
    bool folders; // the items are folders of files
    bool capped;  // to a share of the store's cap
    size_t items; // at most so many
    uint64_t least_age_ns, most_age_ns;
} place_limit;

static const place_limit limits[] = {
    {RK_PLACE_QUARANTINE, "quarantine", false, true, 10000, 0, 30 * DAY_NS},
    {RK_PLACE_PLUGINS, "plugin", false, false, 256, 0, 180 * DAY_NS},
    {RK_PLACE_JOBS, "job", true, false, 4096, DAY_NS, 180 * DAY_NS},
    {RK_PLACE_RUNS, "run", true, true, 10000, DAY_NS, UINT64_MAX},
};

typedef struct item {
    char *name; // owned
    uint64_t modified_ns;
    rk_usage_count count;
} item;

typedef struct items {
    const rk_store *store;    // borrowed
    const char *top, *folder; // borrowed
    unsigned place;
    bool folders;
    item *list; // owned
    size_t count, capacity;
} items;

static void items_cleanup(items *self) {
    for (size_t i = 0; i < self->count; i++)
        rk_free(self->list[i].name);
    rk_free(self->list);
}

// A walk through the files of one item that is a folder.
typedef struct inner {
    const items *in;
    const char *top, *folder;
    item *of;
    bool removes;
} inner;

static bool stat_quietly(const char *top, const char *path, struct stat *out_info) {
    rk_err *err = rk_tree_stat(top, path, out_info);
    bool there = !err;
    rk_err_drop(err, "gone, or nothing of ours");
    return there;
}

// Counts or removes a file of a folder item.
static rk_err *visit_inner(void *context, const char *name) {
    inner *self = context;
    struct stat info;
    rk_autofree char *path = rk_path_join(self->folder, name);
    if (!path)
        return rk_err_no_memory();
    if (!stat_quietly(self->top, path, &info) ||
        !rk_own_file(self->in->store, self->in->place, path, &info))
        return NULL;
    if (self->removes) {
        rk_err *err = rk_tree_remove(self->top, path);
        if (rk_err_code(err) != RK_NOT_FOUND)
            return err;
        rk_err_drop(err, "removed by another process");
        return NULL;
    }
    self->of->count.files++;
    self->of->count.bytes += info.st_size;
    uint64_t modified_ns = rk_stat_modified_ns(&info);
    self->of->modified_ns =
        modified_ns > self->of->modified_ns ? modified_ns : self->of->modified_ns;
    return NULL;
}

static rk_err *walk_inner(const items *in, const char *folder, item *of, bool removes) {
    inner self = {in, in->top, folder, of, removes};
    rk_err *err = rk_tree_list(in->top, folder, MAX_NAMES, visit_inner, &self);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "removed by another process");
    return NULL;
}

static rk_err *add_item(void *context, const char *name) {
    items *self = context;
    struct stat info;
    rk_autofree char *path = rk_path_join(self->folder, name);
    if (!path)
        return rk_err_no_memory();
    if (!stat_quietly(self->top, path, &info) ||
        (self->folders ? !S_ISDIR(info.st_mode)
                       : !rk_own_file(self->store, self->place, path, &info)))
        return NULL;
    item found = {0};
    if (self->folders)
        RK_TRY(walk_inner(self, path, &found, false));
    else
        found.count = (rk_usage_count){1, info.st_size};
    // The age of a folder is that of its newest own file. The folder's modification time does not
    // count: it changes when a summary is added later. (A summary gets the modification time of the
    // run's newest journal.)
    if (!self->folders || !found.count.files)
        found.modified_ns = rk_stat_modified_ns(&info);
    // A folder without own files is foreign, except a run that never began.
    if (!found.count.files && !(self->place == RK_PLACE_RUNS && rk_own_run_name(name)))
        return NULL;
    if (self->count == self->capacity) {
        size_t capacity = self->capacity ? 2 * self->capacity : 64;
        item *list = rk_realloc(self->list, capacity * sizeof *list);
        if (!list)
            return rk_err_no_memory();
        self->list = list;
        self->capacity = capacity;
    }
    found.name = rk_strdup(name);
    if (!found.name)
        return rk_err_no_memory();
    self->list[self->count++] = found;
    return NULL;
}

static int oldest_first(const void *a, const void *b) {
    const item *left = a, *right = b;
    if (left->modified_ns != right->modified_ns)
        return left->modified_ns < right->modified_ns ? -1 : 1;
    return strcmp(left->name, right->name);
}

// Removes a folder, unless it still has other files.
static rk_err *remove_folder(const items *self, const char *name) {
    rk_autofd fd = -1;
    RK_TRY(rk_tree_open(self->top, self->folder, O_PATH | O_DIRECTORY, 0, &fd));
    (void)rk_sys()->unlinkat_fn(fd, name, AT_REMOVEDIR);
    return NULL;
}

static rk_err *remove_item(const items *self, item *one) {
    rk_autofree char *path = rk_path_join(self->folder, one->name);
    if (!path)
        return rk_err_no_memory();
    if (self->folders) {
        RK_TRY(walk_inner(self, path, one, true));
        return remove_folder(self, one->name);
    }
    rk_err *err = rk_tree_remove(self->top, path);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "removed by another process");
    return NULL;
}

static rk_gc_total *total_of(rk_gc_report *report, unsigned place) {
    if (place == RK_PLACE_RUNS)
        return &report->runs;
    if (place == RK_PLACE_JOBS)
        return &report->jobs;
    return place == RK_PLACE_PLUGINS ? &report->plugins : &report->quarantine;
}

static rk_err *drop_item(const rk_survey *survey, const place_limit *limit, const items *self,
                         item *one, const rk_gc_options *options, rk_gc_report *report) {
    if (!survey->dry_run)
        RK_TRY(remove_item(self, one));
    if (report) {
        total_of(report, limit->place)->files += (uint64_t)one->count.files;
        total_of(report, limit->place)->bytes += (uint64_t)one->count.bytes;
    }
    const rk_gc_removal removal = {
        .what = limit->what,
        .name = one->name,
        .bytes = (uint64_t)one->count.bytes,
        .age_ns = rk_last_use_age(&survey->clock, one->modified_ns),
    };
    if (options && options->removed)
        options->removed(options->context, &removal);
    return NULL;
}

static rk_err *collect(const rk_survey *survey, const place_limit *limit, uint64_t quota_bytes,
                       items *self, const rk_gc_options *options, rk_usage_count *count,
                       rk_gc_report *report) {
    if (self->count)
        qsort(self->list, self->count, sizeof *self->list, oldest_first);
    for (size_t i = 0; i < self->count; i++) {
        count->files += self->list[i].count.files;
        count->bytes += self->list[i].count.bytes;
    }
    size_t left = self->count;
    for (size_t i = 0; i < self->count; i++) {
        item *one = &self->list[i];
        uint64_t age_ns = rk_last_use_age(&survey->clock, one->modified_ns);
        bool too_much = left > limit->items || (uint64_t)count->bytes > quota_bytes;
        if (age_ns < limit->least_age_ns || (!too_much && age_ns <= limit->most_age_ns))
            break;
        RK_TRY(drop_item(survey, limit, self, one, options, report));
        count->files -= one->count.files;
        count->bytes -= one->count.bytes;
        left--;
    }
    return NULL;
}

rk_err *rk_others_collect(const rk_survey *survey, uint64_t max_bytes, const rk_gc_options *options,
                          rk_usage_table *table, rk_gc_report *report) {
    uint64_t share = max_bytes == UINT64_MAX ? UNCAPPED_BYTES : max_bytes / SHARE_DIVISOR;
    for (size_t i = 0; i < RK_ARRAY_LEN(limits); i++) {
        const place_limit *limit = &limits[i];
        RK_AUTO(rk_buf) folder = {0};
        rk_place_add_name(limit->place, &folder);
        RK_TRY(rk_buf_status(&folder));
        RK_AUTO(items)
        list = {.store = survey->store,
                .top = survey->store->directory,
                .folder = rk_buf_text(&folder),
                .place = limit->place,
                .folders = limit->folders};
        rk_err *err = rk_tree_list(list.top, list.folder, MAX_NAMES, add_item, &list);
        if (err && rk_err_code(err) != RK_NOT_FOUND)
            return err;
        rk_err_drop(err, "no such folder: it holds nothing");
        rk_usage_count *count = &table->places[limit->place];
        *count = (rk_usage_count){0};
        RK_TRY(collect(survey, limit, limit->capped ? share : UINT64_MAX, &list, options, count,
                       report));
    }
    return NULL;
}
