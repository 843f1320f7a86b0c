#include "store/evict_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/temporary.h"
#include "base/tree.h"
#include "store/entry_head_internal.h"

enum {
    MAX_FILES_IN_A_FOLDER = 1 << 20,
    MAX_CANDIDATES = 1 << 22, // about 0.5 GB; only `rekindle gc` may need nearly so many
    METADATA_MAX_BYTES = 1 << 20,
    BLOCK_BYTES = 4096,
    PROGRAM_DIVISOR = 10,
};

double rk_evict_worth(rk_entry_kind kind, uint64_t bytes, uint64_t compile_ns, uint64_t age_ns) {
    const double ns_per_second = 1e9, ns_per_hour = 3600e9;
    double seconds = (double)compile_ns / ns_per_second;
    if (kind == RK_ENTRY_PROGRAM)
        seconds /= (double)PROGRAM_DIVISOR;
    return seconds / (((double)bytes + (double)BLOCK_BYTES) * ((double)age_ns / ns_per_hour + 1));
}

rk_err *rk_survey_begin(rk_store *store, bool dry_run, rk_survey *out_survey) {
    *out_survey = (rk_survey){.store = store, .dry_run = dry_run, .removal = RK_REMOVAL_EVICTED};
    RK_TRY(rk_last_use_load_clock(store, &out_survey->clock));
    return rk_pins_load(store, &out_survey->pins);
}

void rk_survey_cleanup(rk_survey *survey) {
    rk_pins_cleanup(&survey->pins);
    rk_free(survey->items);
    *survey = (rk_survey){0};
}

// A folder of one kind, while its files are visited.
typedef struct folder {
    rk_survey *survey;
    rk_entry_kind kind;
    const char *digits; // "ab"; borrowed
    int fd;             // owned
    rk_usage_count count;
} folder;

static void folder_cleanup(folder *self) {
    rk_autofd_cleanup(&self->fd);
}

static rk_err *add_candidate(rk_survey *survey, rk_entry_kind kind, const char *name,
                             const struct stat *info) {
    if (survey->count == survey->capacity) {
        size_t capacity = survey->capacity ? 2 * survey->capacity : 1024;
        rk_evict_candidate *items =
            capacity > MAX_CANDIDATES ? NULL : rk_realloc(survey->items, capacity * sizeof *items);
        if (!items)
            return rk_err_no_memory();
        survey->items = items;
        survey->capacity = capacity;
    }
    rk_evict_candidate *one = &survey->items[survey->count++];
    *one = (rk_evict_candidate){
        .kind = (uint8_t)kind,
        .bytes = (uint64_t)info->st_size,
        .modified_ns = rk_stat_modified_ns(info),
        .age_ns = rk_last_use_age(&survey->clock, rk_stat_modified_ns(info)),
    };
    memcpy(one->hex, name, RK_DIGEST_HEX_CHARS);
    one->pinned = rk_pins_has(&survey->pins, one->hex);
    one->recent = one->age_ns < RK_EVICT_RECENT_NS;
    return NULL;
}

// Sets a time stamp in the future to now. Otherwise the entry would keep age 0 until that time.
static void mend_stamp(const folder *self, const char *name, const struct stat *info) {
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
    if (!self->survey->dry_run &&
        rk_last_use_is_future(&self->survey->clock, rk_stat_modified_ns(info)))
        (void)rk_sys()->utimensat_fn(self->fd, name, times);
}

// Removes the temporary file of a dead writer. Other temporary files do not count here, since their
// writers count them as pending.
static void visit_temporary(const folder *self, const char *name, const struct stat *info) {
    rk_survey *survey = self->survey;
    uint64_t age_ns = rk_last_use_age(&survey->clock, rk_stat_modified_ns(info));
    if (!rk_temporary_is_abandoned(name, age_ns) ||
        (!survey->dry_run && rk_sys()->unlinkat_fn(self->fd, name, 0) != 0))
        return;
    survey->leftovers.files++;
    survey->leftovers.bytes += info->st_size;
}

static rk_err *visit_file(void *context, const char *name) {
    folder *self = context;
    struct stat info;
    if (rk_sys()->fstatat_fn(self->fd, name, &info) != 0) {
        if (errno == ENOENT)
            return NULL; // removed since it was listed
        return rk_error_errno(errno, "cannot stat %s in the folder %s of the store", name,
                              self->digits);
    }
    if (!S_ISREG(info.st_mode))
        return NULL;
    if (rk_temporary_is_name(name)) {
        visit_temporary(self, name, &info);
        return NULL;
    }
    if (!rk_store_name_is_entry(self->kind, self->digits, name))
        return NULL; // a foreign file
    self->count.files++;
    self->count.bytes += info.st_size;
    mend_stamp(self, name, &info);
    return add_candidate(self->survey, self->kind, name, &info);
}

// Opens a folder of the store; `out_fd` is owned.
static rk_err *open_folder(const rk_store *store, const char *path, int *out_fd) {
    struct stat info;
    RK_TRY(rk_tree_open(store->directory, path, O_RDONLY | O_DIRECTORY, 0, out_fd));
    if (rk_sys()->fstat_fn(*out_fd, &info) != 0)
        return rk_error_errno(errno, "cannot stat %s/%s", store->directory, path);
    return rk_tree_check_folder(&info, path);
}

static rk_err *list_folder(folder *self, const char *path) {
    const rk_store *store = self->survey->store;
    RK_TRY(open_folder(store, path, &self->fd));
    return rk_tree_list(store->directory, path, MAX_FILES_IN_A_FOLDER, visit_file, self);
}

static rk_err *visit_kind(rk_survey *survey, rk_entry_kind kind, const char *digits,
                          rk_usage_count *out_count) {
    RK_AUTO(folder) self = {.survey = survey, .kind = kind, .digits = digits, .fd = -1};
    RK_AUTO(rk_buf) path = {0};
    rk_store_add_folder(survey->store, kind, digits, &path);
    RK_TRY(rk_buf_status(&path));
    rk_err *err = list_folder(&self, rk_store_below(survey->store, &path));
    if (err && rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "no such folder: no entries");
    *out_count = self.count;
    return NULL;
}

rk_err *rk_survey_folder(rk_survey *survey, unsigned first_byte, rk_usage_table *table) {
    static const char hex[] = "0123456789abcdef";
    const char digits[3] = {hex[first_byte >> 4 & 15], hex[first_byte & 15], '\0'};
    RK_TRY(visit_kind(survey, RK_ENTRY_EXECUTABLE, digits,
                      &table->places[rk_place_of(RK_ENTRY_EXECUTABLE, digits)]));
    return visit_kind(survey, RK_ENTRY_PROGRAM, digits,
                      &table->places[rk_place_of(RK_ENTRY_PROGRAM, digits)]);
}

// The open folder of a walk over candidates. Successive candidates often lie in the same folder.
typedef struct place_walk {
    const rk_store *store;
    unsigned place;
    int fd; // owned; -1: not open, or the folder does not exist
} place_walk;

static void place_walk_cleanup(place_walk *self) {
    rk_autofd_cleanup(&self->fd);
}

#define PLACE_WALK_INIT(the_store)                                                                 \
    { .store = (the_store), .place = RK_PLACE_COUNT, .fd = -1 }

// Opens the folder of a candidate, and returns the name of its file. `*out_there` is false if the
// folder does not exist.
static rk_err *walk_to(place_walk *self, const rk_evict_candidate *one, rk_buf *out_name,
                       bool *out_there) {
    unsigned place = rk_place_of((rk_entry_kind)one->kind, one->hex);
    rk_buf_clear(out_name);
    rk_buf_add_format(out_name, "%s.%s", one->hex, rk_store_kind_suffix((rk_entry_kind)one->kind));
    RK_TRY(rk_buf_status(out_name));
    if (place != self->place) {
        RK_AUTO(rk_buf) path = {0};
        rk_place_add_name(place, &path);
        RK_TRY(rk_buf_status(&path));
        rk_autofd_cleanup(&self->fd);
        self->fd = -1;
        rk_err *err = open_folder(self->store, rk_buf_text(&path), &self->fd);
        if (err && rk_err_code(err) != RK_NOT_FOUND)
            return err;
        rk_err_drop(err, "another process removed it");
        self->place = place;
    }
    *out_there = self->fd >= 0;
    return NULL;
}

// Opens a file without changing its access time, for tools that use access times. Only the owner
// may use O_NOATIME; for other users, opens normally.
static int open_quietly(int folder_fd, const char *name) {
    const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW;
    int fd = rk_sys()->openat_fn(folder_fd, name, flags | O_NOATIME, 0);
    return fd < 0 && errno == EPERM ? rk_sys()->openat_fn(folder_fd, name, flags, 0) : fd;
}

static bool read_at(int fd, void *data, size_t len, uint64_t offset) {
    size_t got;
    return rk_fd_read_at(fd, offset, data, len, &got) && got == len;
}

// Reads the head without checking the digest. The head decides only the order of eviction.
static bool read_head(int fd, rk_entry_head *out_head) {
    uint8_t data[RK_ENTRY_HEADER_BYTES];
    if (!read_at(fd, data, sizeof data, 0) ||
        memcmp(data, rk_entry_magic, RK_ENTRY_MAGIC_BYTES) != 0)
        return false;
    rk_entry_head_read(data, out_head);
    return true;
}

static rk_err *read_metadata(int fd, const rk_entry_head *head, rk_buf *out) {
    uint64_t at = RK_ENTRY_HEADER_BYTES;
    uint64_t len = head->sections[RK_SECTION_METADATA].stored_bytes;
    if (len > METADATA_MAX_BYTES ||
        __builtin_add_overflow(at, head->sections[RK_SECTION_COMPONENTS].stored_bytes, &at) ||
        at > RK_ENTRY_MAX_BYTES)
        return NULL;
    rk_buf_reserve(out, (size_t)len);
    RK_TRY(rk_buf_status(out));
    if (len && read_at(fd, out->data, (size_t)len, at))
        out->len = (size_t)len;
    return NULL;
}

static rk_err *judge(place_walk *walk, rk_evict_candidate *one, const rk_gc_options *options) {
    const uint64_t unknown_compile_ns = 1000000000; // for an entry of another version
    RK_AUTO(rk_buf) metadata = {0};
    RK_AUTO(rk_buf) name = {0};
    rk_entry_head head = {0};
    bool there = false;
    RK_TRY(walk_to(walk, one, &name, &there));
    // A file that cannot be read has compile_ns 0, and so a worth of 0.
    rk_autofd fd = there ? open_quietly(walk->fd, rk_buf_text(&name)) : -1;
    bool readable = fd >= 0 && read_head(fd, &head);
    bool current = readable && head.version == RK_ENTRY_VERSION;
    if (current)
        one->compile_ns = head.compile_ns;
    else if (readable)
        one->compile_ns = unknown_compile_ns;
    if (options && options->belongs) {
        if (current)
            RK_TRY(read_metadata(fd, &head, &metadata));
        one->belongs = options->belongs(options->context, rk_buf_span(&metadata));
    } else {
        one->belongs = true;
    }
    one->worth = rk_evict_worth((rk_entry_kind)one->kind, one->bytes, one->compile_ns, one->age_ns);
    one->judged = true;
    return NULL;
}

rk_err *rk_survey_judge(rk_survey *survey, bool recent_too, const rk_gc_options *options) {
    RK_AUTO(place_walk) walk = PLACE_WALK_INIT(survey->store);
    for (size_t i = 0; i < survey->count; i++) {
        rk_evict_candidate *one = &survey->items[i];
        if (!one->judged && (!one->recent || recent_too))
            RK_TRY(judge(&walk, one, options));
    }
    return NULL;
}

static int by_worth(const void *a, const void *b) {
    const rk_evict_candidate *left = a, *right = b;
    if (left->recent != right->recent)
        return left->recent ? 1 : -1;
    if (left->worth < right->worth || left->worth > right->worth)
        return left->worth < right->worth ? -1 : 1;
    int order = strcmp(left->hex, right->hex);
    return order ? order : left->kind - right->kind;
}

void rk_survey_sort(rk_survey *survey) {
    if (survey->count)
        qsort(survey->items, survey->count, sizeof *survey->items, by_worth);
}

static int by_place(const void *a, const void *b) {
    const rk_evict_candidate *left = a, *right = b;
    if (left->kind != right->kind)
        return left->kind - right->kind;
    return strcmp(left->hex, right->hex);
}

// Removes a candidate, unless it was used or replaced since the visit.
static rk_err *remove_marked(const rk_survey *survey, place_walk *walk, rk_evict_candidate *one,
                             rk_usage_table *gone) {
    RK_AUTO(rk_buf) name = {0};
    struct stat info;
    bool there = false;
    RK_TRY(walk_to(walk, one, &name, &there));
    if (!there || rk_sys()->fstatat_fn(walk->fd, rk_buf_text(&name), &info) != 0 ||
        rk_stat_modified_ns(&info) != one->modified_ns)
        return NULL;
    if (!survey->dry_run && rk_sys()->unlinkat_fn(walk->fd, rk_buf_text(&name), 0) != 0) {
        if (errno == ENOENT)
            return NULL;
        return rk_error_errno(errno, "cannot remove %s from %s", rk_buf_text(&name),
                              survey->store->directory);
    }
    gone->places[walk->place].files--;
    gone->places[walk->place].bytes -= info.st_size;
    one->gone = true;
    return NULL;
}

rk_err *rk_survey_remove_marked(rk_survey *survey, rk_usage_table *gone,
                                void (*removed)(void *context, const rk_evict_candidate *one),
                                void *context) {
    RK_AUTO(place_walk) walk = PLACE_WALK_INIT(survey->store);
    RK_AUTO(rk_buf) record = {0};
    rk_err *err = NULL;
    if (survey->count)
        qsort(survey->items, survey->count, sizeof *survey->items, by_place);
    for (size_t i = 0; i < survey->count && !err; i++) {
        rk_evict_candidate *one = &survey->items[i];
        if (!one->marked || one->gone)
            continue;
        one->marked = false;
        err = remove_marked(survey, &walk, one, gone);
        if (one->gone && one->kind == RK_ENTRY_EXECUTABLE && !survey->dry_run)
            rk_removals_add(&record, survey->removal, one->hex);
        if (one->gone && removed)
            removed(context, one);
    }
    rk_removals_note(survey->store, &record);
    return err;
}
