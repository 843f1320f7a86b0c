#include "store/marker_internal.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/tree.h"
#include "store/entry_head_internal.h"
#include "store/loads.h"
#include "store/own_internal.h"

#define MARKER_START "rekindle store "

static const char marker_text[] =
    MARKER_START "1\n"
                 "This folder belongs to rekindle, which keeps compiled programs here.\n";

enum { MARKER_MAX_BYTES = 4096, MAX_NAMES = 1 << 20, MOST_LOOKS = 4096 };

// Checks the version in a marker: the rest of its first line, "1" for this version.
static rk_err *check_version(const rk_store *store, const char *version) {
    size_t len = strcspn(version, "\n");
    if (len == 1 && version[0] == '1')
        return NULL;
    return rk_error(RK_FAILED_PRECONDITION,
                    "%s is a store of version \"%.*s\" (according to its file " RK_MARKER_NAME
                    "), and this rekindle supports only version 1: use the rekindle that made it, "
                    "or point REKINDLE_DIR at another folder",
                    store->directory, (int)(len < 20 ? len : 20), version);
}

// Sets `*out_ours` if the folder has rekindle's marker. A damaged marker counts as missing.
static rk_err *read_marker(const rk_store *store, bool *out_ours) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(MARKER_MAX_BYTES + 4096);
    *out_ours = false;
    rk_err *err = rk_tree_read(store->directory, RK_MARKER_NAME, MARKER_MAX_BYTES, &text);
    const size_t start_len = sizeof MARKER_START - 1;
    if (!err && strncmp(rk_buf_text(&text), MARKER_START, start_len) == 0 &&
        strchr(rk_buf_text(&text), '\n')) {
        *out_ours = true;
        return check_version(store, rk_buf_text(&text) + start_len);
    }
    rk_err_drop(err, "no readable marker: the other files decide");
    return NULL;
}

// Search for rekindle's files, in a folder without a marker.

typedef struct search {
    const rk_store *store;
    const char *top;   // the folder of the store that is walked; borrowed
    unsigned looks;    // files still to check at most: a foreign folder may be large
    bool ours;         // found a file that only rekindle creates
    char *other;       // owned; the first file not recognized as rekindle's; NULL: none
    const char *below; // the folder that is visited now; borrowed
} search;

static void search_cleanup(search *self) {
    rk_free(self->other);
}

// Folders of a store, the most likely to prove a store first.
static const char *const folders[] = {"usage", "objects", "programs", "quarantine",    "plugins",
                                      "pins",  "leases",  "jobs",     RK_LOADS_FOLDER, "runs"};

// "torch-compile" lies beside the default store (torch/directory.h).
static bool is_ignored(const search *self, const char *name) {
    return name[0] == '.' || strcmp(name, "lost+found") == 0 ||
           strcmp(name, "torch-compile") == 0 || strcmp(name, "config") == 0 ||
           (strcmp(name, RK_MARKER_NAME) == 0 &&
            rk_own_may_replace(self->store, RK_MARKER_NAME, MARKER_START));
}

static bool stat_quietly(const search *self, const char *path, struct stat *out_info) {
    rk_err *err = rk_tree_stat(self->store->directory, path, out_info);
    bool there = !err;
    rk_err_drop(err, "gone, or not to be looked at");
    return there;
}

static rk_err *note_other(search *self, const char *path) {
    if (self->other)
        return NULL;
    self->other = rk_strdup(path);
    return self->other ? NULL : rk_err_no_memory();
}

static rk_err *visit_top(void *context, const char *name) {
    search *self = context;
    struct stat info;
    if (is_ignored(self, name))
        return NULL;
    for (size_t i = 0; i < RK_ARRAY_LEN(folders); i++)
        if (strcmp(name, folders[i]) == 0 && stat_quietly(self, name, &info) &&
            S_ISDIR(info.st_mode))
            return NULL; // look_around walks it later
    return note_other(self, name);
}

static bool is_entry(const search *self, rk_entry_kind kind, const char *path, const char *name) {
    // `path` must be <top>/ab/<name>.
    const char *folder = path + strlen(self->top) + 1;
    return strlen(self->below) == strlen(self->top) + 3 &&
           rk_store_name_is_entry(kind, folder, name) &&
           rk_own_begins(self->store, path, rk_span_of(rk_entry_magic, sizeof rk_entry_magic));
}

// True if only rekindle creates such a file.
static bool is_proof(const search *self, const char *path, const char *name,
                     const struct stat *info) {
    static const struct {
        const char *folder;
        unsigned place;
    } places[] = {{"quarantine", RK_PLACE_QUARANTINE},
                  {"plugins", RK_PLACE_PLUGINS},
                  {"jobs", RK_PLACE_JOBS},
                  {"runs", RK_PLACE_RUNS}};
    if (!S_ISREG(info->st_mode))
        return false;
    for (unsigned kind = RK_ENTRY_EXECUTABLE; kind <= RK_ENTRY_PROGRAM; kind++)
        if (strcmp(self->top, rk_store_kind_folder((rk_entry_kind)kind)) == 0)
            return is_entry(self, (rk_entry_kind)kind, path, name);
    for (size_t i = 0; i < RK_ARRAY_LEN(places); i++)
        if (strcmp(self->top, places[i].folder) == 0)
            return rk_own_file(self->store, places[i].place, path, info);
    if (strcmp(self->top, "usage") == 0)
        return rk_own_log_name(name) ||
               (strcmp(name, "base") == 0 &&
                rk_own_begins(self->store, path, rk_span_text(RK_USAGE_START)));
    return rk_own_other(self->store, self->below, name, info);
}

static rk_err *walk(search *self, const char *folder, unsigned depth);

typedef struct step {
    search *of;
    const char *folder;
    unsigned depth;
} step;

static rk_err *visit(void *context, const char *name) {
    const step *self = context;
    search *of = self->of;
    struct stat info;
    if (name[0] == '.' || of->ours)
        return NULL;
    rk_autofree char *path = rk_path_join(self->folder, name);
    if (!path)
        return rk_err_no_memory();
    if (of->looks == 0)
        return note_other(of, path);
    of->looks--;
    if (!stat_quietly(of, path, &info))
        return NULL;
    if (S_ISDIR(info.st_mode) && self->depth > 0)
        return walk(of, path, self->depth - 1);
    of->below = self->folder;
    of->ours = is_proof(of, path, name, &info);
    return of->ours ? NULL : note_other(of, path);
}

static rk_err *walk(search *self, const char *folder, unsigned depth) {
    step one = {self, folder, depth};
    rk_err *err = rk_tree_list(self->store->directory, folder, MAX_NAMES, visit, &one);
    if (!err || rk_err_errno(err) == ENOMEM)
        return err;
    bool gone = rk_err_code(err) == RK_NOT_FOUND;
    rk_err_drop(err, "a folder that cannot be read proves nothing");
    return gone ? NULL : note_other(self, folder);
}

// Sets `*out_ours` if the folder has a file that only rekindle creates, or nothing but empty
// folders of a store.
static rk_err *look_around(search *self, bool *out_ours) {
    enum { DEPTH = 1 }; // objects/ab/…, runs/<run>/…
    RK_TRY(rk_fs_list(self->store->directory, MAX_NAMES, visit_top, self));
    for (size_t i = 0; i < RK_ARRAY_LEN(folders) && !self->ours; i++) {
        self->top = folders[i];
        self->looks = MOST_LOOKS;
        RK_TRY(walk(self, folders[i], DEPTH));
    }
    *out_ours = self->ours || !self->other;
    return NULL;
}

static rk_err *refuse(const rk_store *store, const char *other) {
    return rk_error(RK_FAILED_PRECONDITION,
                    "%s is no store of rekindle's: it holds other things, such as %s. Point "
                    "REKINDLE_DIR at a folder of its own; a path that does not exist yet will do",
                    store->directory, other);
}

static void write_marker(const rk_store *store) {
    if (store->readonly || !rk_own_may_replace(store, RK_MARKER_NAME, MARKER_START))
        return;
    rk_err_drop(rk_tree_publish(store->directory, RK_MARKER_NAME, marker_text,
                                sizeof marker_text - 1, 0600),
                "the other files prove the store too; the next process tries again");
}

rk_err *rk_marker_check(const rk_store *store) {
    bool ours = false;
    RK_TRY(read_marker(store, &ours));
    if (ours)
        return NULL;
    RK_AUTO(search) self = {.store = store};
    RK_TRY(look_around(&self, &ours));
    if (ours) {
        write_marker(store);
        return NULL;
    }
    // Another process may have created the store since the first check.
    RK_TRY(read_marker(store, &ours));
    return ours ? NULL : refuse(store, self.other);
}
