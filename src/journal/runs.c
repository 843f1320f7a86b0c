#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "journal/read.h"
#include "journal/read_event_internal.h"

typedef struct entry {
    char *run; // owned
    uint64_t start_ns;
} entry;

typedef struct entries {
    entry *items; // owned
    size_t count, capacity;
    const char *directory; // runs/; borrowed
} entries;

static void entries_cleanup(entries *list) {
    for (size_t i = 0; i < list->count; i++)
        rk_free(list->items[i].run);
    rk_free(list->items);
}

// If `*text` begins with `expected`, moves `*text` past it and returns true.
static bool skip(const char **text, const char *expected) {
    size_t len = strlen(expected);
    bool same = strncmp(*text, expected, len) == 0;
    *text += same ? len : 0;
    return same;
}

static uint64_t take_number(const char **text) {
    char *end = NULL;
    uint64_t number = strtoull(*text, &end, 10);
    *text = end;
    return number;
}

// Returns the time in the first line, {"v":1,"t":1795262400.123456,…; 0 if the line begins in
// another way. Uses no JSON parser, because there may be thousands of runs.
static uint64_t read_first_time(const char *path) {
    const uint64_t latest_seconds = (uint64_t)1 << 33; // in the year 2242
    char head[64] = "";
    rk_autofd fd = rk_sys()->open_fn(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0 || rk_sys()->read_fn(fd, head, sizeof head - 1) <= 0)
        return 0;
    const char *next = head;
    if (!skip(&next, "{\"v\":") || take_number(&next) == 0 || !skip(&next, ",\"t\":"))
        return 0;
    uint64_t seconds = take_number(&next);
    if (!skip(&next, ".") || seconds > latest_seconds)
        return 0;
    uint64_t fraction_ns = 0;
    for (uint64_t unit_ns = 100000000; unit_ns && *next >= '0' && *next <= '9'; unit_ns /= 10)
        fraction_ns += unit_ns * (uint64_t)(*next++ - '0');
    return seconds * 1000000000 + fraction_ns;
}

// Keeps the name of the run's first file in `context`: rank 0 if it exists, and for one rank the
// file without a pid in its name. This is the shortest name.
static rk_err *note_first_file(void *context, const char *name) {
    static const char ending[] = ".jsonl";
    char *first = context; // NAME_MAX + 1 bytes; "" until a file is found
    size_t len = strlen(name);
    if (len < sizeof ending || len > NAME_MAX ||
        strcmp(name + len - (sizeof ending - 1), ending) != 0)
        return NULL;
    if (!first[0] || len < strlen(first))
        memcpy(first, name, len + 1);
    return NULL;
}

// A directory without a journal is not a run: the job may have ended before its first line.
static rk_err *look_at_run(const char *directory, bool *out_is_run, uint64_t *out_start_ns) {
    enum { MOST_NAMES = 2 * RK_RUN_MAX_PROCESSES };
    struct stat info;
    *out_is_run = false;
    if (rk_sys()->lstat_fn(directory, &info) != 0 || !S_ISDIR(info.st_mode))
        return NULL;
    char first[NAME_MAX + 1] = "";
    rk_err *err = rk_fs_list(directory, MOST_NAMES, note_first_file, first);
    if (rk_err_code(err) == RK_NOT_FOUND || rk_err_code(err) == RK_PERMISSION_DENIED) {
        rk_err_drop(err, "removed meanwhile or not readable; the other runs are listed");
        return NULL;
    }
    RK_TRY(err);
    if (!first[0])
        return NULL;
    rk_autofree char *path = rk_path_join(directory, first);
    if (!path)
        return rk_err_no_memory();
    *out_is_run = true;
    *out_start_ns = read_first_time(path);
    if (!*out_start_ns)
        *out_start_ns = rk_stat_modified_ns(&info);
    return NULL;
}

static rk_err *add_run(void *context, const char *name) {
    entries *list = context;
    if (!rk_run_id_valid(name))
        return NULL;
    rk_autofree char *directory = rk_path_join(list->directory, name);
    if (!directory)
        return rk_err_no_memory();
    bool is_run = false;
    uint64_t start_ns = 0;
    RK_TRY(look_at_run(directory, &is_run, &start_ns));
    if (!is_run)
        return NULL;
    void *items = rk_run_grow(list->items, list->count, &list->capacity, sizeof *list->items);
    if (!items)
        return rk_err_no_memory();
    list->items = items;
    char *run = rk_strdup(name);
    if (!run)
        return rk_err_no_memory();
    list->items[list->count++] = (entry){run, start_ns};
    return NULL;
}

static int by_start(const void *a, const void *b) {
    const entry *left = a, *right = b;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return strcmp(left->run, right->run);
}

static rk_err *collect(const char *runs, entries *list) {
    enum { MOST_NAMES = 1 << 20 };
    list->directory = runs;
    rk_err *err = rk_fs_list(runs, MOST_NAMES, add_run, list);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "a store without runs yet");
        err = NULL;
    }
    RK_TRY(err);
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_start);
    return NULL;
}

rk_err *rk_run_list(const char *store_directory, rk_run_visit_fn visit, void *context) {
    rk_autofree char *runs = rk_path_join(store_directory, "runs");
    if (!runs)
        return rk_err_no_memory();
    RK_AUTO(entries) list = {0};
    RK_TRY(collect(runs, &list));
    for (size_t i = 0; i < list.count; i++) {
        rk_run_item item = {list.items[i].run, list.items[i].start_ns};
        RK_TRY(visit(context, &item));
    }
    return NULL;
}

// Returns the entry of that run id; NULL if there is none.
static const entry *find_whole(const entries *list, const char *run) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].run, run) == 0)
            return &list->items[i];
    return NULL;
}

// Finds the only entry whose name begins with `prefix`.
static rk_err *find_beginning(const entries *list, const char *prefix, char **out_run) {
    const entry *found = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const entry *item = &list->items[i];
        if (strncmp(item->run, prefix, strlen(prefix)) != 0)
            continue;
        if (found)
            return rk_error(RK_INVALID_ARGUMENT,
                            "\"%s\" matches several runs, such as %s and %s; use a longer prefix",
                            prefix, found->run, item->run);
        found = item;
    }
    if (!found)
        return rk_error(RK_NOT_FOUND, "there is no run \"%s\" in %s; `rekindle runs` lists them",
                        prefix, list->directory);
    *out_run = rk_strdup(found->run);
    return *out_run ? NULL : rk_err_no_memory();
}

static rk_err *choose(const entries *list, const char *id_or_prefix, char **out_run) {
    if (!id_or_prefix && list->count == 0)
        return rk_error(RK_NOT_FOUND, "there is no run in %s yet; start one with `rekindle run`",
                        list->directory);
    const entry *found =
        id_or_prefix ? find_whole(list, id_or_prefix) : &list->items[list->count - 1];
    if (!found)
        return find_beginning(list, id_or_prefix, out_run);
    *out_run = rk_strdup(found->run);
    return *out_run ? NULL : rk_err_no_memory();
}

rk_err *rk_run_find(const char *store_directory, const char *id_or_prefix, char **out_run) {
    if (id_or_prefix && !rk_run_id_valid(id_or_prefix))
        return rk_error(RK_INVALID_ARGUMENT,
                        "\"%.200s\" is not a run id; `rekindle runs` lists them", id_or_prefix);
    rk_autofree char *runs = rk_path_join(store_directory, "runs");
    if (!runs)
        return rk_err_no_memory();
    RK_AUTO(entries) list = {0};
    RK_TRY(collect(runs, &list));
    return choose(&list, id_or_prefix, out_run);
}
