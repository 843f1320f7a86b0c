#include "store/loads.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "base/alloc.h"
#include "base/tree.h"
#include "store/load_note.h"
#include "store/load_verdict.h"

enum {
    MAX_FILES = 1 << 16,
    COMPILED_SLOTS = 31, // at most so many RK_LOAD_COMPILED; the other slots are for loads
};

typedef struct known {
    rk_digest key;
    rk_load_verdict verdict;
} known;

struct rk_loads {
    rk_store *store;    // borrowed
    uint64_t opened_ns; // realtime clock
    char *path;         // of the note, relative to the store; owned; NULL: no note is written
    pthread_mutex_t mutex;
    bool closed, made;
    bool has_folder;
    rk_load_note note;
    known *list; // owned
    size_t count, capacity;
    atomic_size_t left; // equal to `count`; read without the mutex
};

static rk_err *add_known(rk_loads *self, const rk_digest *key, const rk_load_verdict *verdict) {
    if (self->count == self->capacity) {
        size_t capacity = self->capacity ? 2 * self->capacity : 16;
        known *list = rk_realloc(self->list, capacity * sizeof *list);
        if (!list)
            return rk_err_no_memory();
        self->list = list;
        self->capacity = capacity;
    }
    self->list[self->count++] = (known){*key, *verdict};
    return NULL;
}

static rk_err *visit(void *context, const char *name) {
    rk_loads *self = context;
    rk_digest key;
    rk_load_verdict verdict;
    if (!rk_digest_from_hex(rk_span_text(name), &key) ||
        !rk_load_verdict_read(self->store, &key, &verdict))
        return NULL;
    return add_known(self, &key, &verdict);
}

static rk_err *read_verdicts(rk_loads *self) {
    rk_err *err = rk_tree_list(self->store->directory, RK_LOADS_FOLDER, MAX_FILES, visit, self);
    self->has_folder = !err;
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "no process died yet");
    return NULL;
}

// Removes the note that this process may have left before it called exec(2), under the same name.
// Its loads ended with its threads and get no verdict.
static void remove_earlier_note(const rk_loads *self) {
    rk_err_drop(rk_tree_remove(self->store->directory, self->path), "there is hardly ever one");
}

static rk_err *name_note(rk_loads *self, const char *tag) {
    rk_process process;
    rk_process_self(&process);
    if (self->store->readonly || !rk_process_is_known(&process))
        return NULL;
    RK_AUTO(rk_buf) path = {0};
    rk_buf_add_format(&path, "%s/", RK_LOADS_FOLDER);
    rk_load_note_add_name(&process, tag, &path);
    RK_TRY(rk_buf_status(&path));
    self->path = rk_strdup(rk_buf_text(&path));
    if (!self->path)
        return rk_err_no_memory();
    if (self->has_folder)
        remove_earlier_note(self);
    return NULL;
}

rk_err *rk_loads_open(rk_store *store, const char *tag, rk_loads **out_loads) {
    *out_loads = NULL;
    rk_loads *self = rk_calloc(1, sizeof *self);
    if (!self)
        return rk_err_no_memory();
    self->store = store;
    self->opened_ns = rk_realtime_ns();
    (void)pthread_mutex_init(&self->mutex, NULL);
    rk_err_drop(rk_loads_judge(store, NULL, RK_DEATH_UNKNOWN, 0), "the next start judges");
    rk_err *err = read_verdicts(self);
    if (!err)
        err = name_note(self, tag);
    if (err) {
        rk_loads_free(self);
        return err;
    }
    atomic_store(&self->left, self->count);
    *out_loads = self;
    return NULL;
}

void rk_loads_free(rk_loads *self) {
    if (!self)
        return;
    rk_loads_close(self);
    (void)pthread_mutex_destroy(&self->mutex);
    rk_free(self->path);
    rk_free(self->list);
    rk_free(self);
}

// The caller holds the mutex.
static void close_note(rk_loads *self) {
    self->closed = true;
    if (self->made)
        rk_err_drop(rk_tree_remove(self->store->directory, self->path),
                    "a note without loads in flight leads to no verdict");
}

void rk_loads_close(rk_loads *self) {
    (void)pthread_mutex_lock(&self->mutex);
    close_note(self);
    (void)pthread_mutex_unlock(&self->mutex);
}

static bool find(const rk_loads *self, const rk_digest *key, rk_load_verdict *out_verdict) {
    for (size_t i = 0; i < self->count; i++)
        if (rk_digest_equal(&self->list[i].key, key)) {
            *out_verdict = self->list[i].verdict;
            return true;
        }
    return false;
}

static bool look(rk_loads *self, const rk_digest *key, rk_load_verdict *out_verdict) {
    if (!self || atomic_load(&self->left) == 0)
        return false;
    (void)pthread_mutex_lock(&self->mutex);
    bool found = find(self, key, out_verdict);
    (void)pthread_mutex_unlock(&self->mutex);
    return found;
}

rk_load_doubt rk_loads_doubt_key(rk_loads *self, const rk_digest *key, int *out_signal) {
    rk_load_verdict verdict = {0};
    bool found = look(self, key, &verdict);
    if (out_signal)
        *out_signal = verdict.signal;
    if (!found)
        return RK_LOAD_TRUSTED;
    return verdict.aside ? RK_LOAD_ASIDE : RK_LOAD_SUSPECT;
}

// An entry that was created after this process opened its loads is not tried here, but only in a
// process that starts later.
rk_load_doubt rk_loads_doubt_entry(rk_loads *self, const rk_digest *key, uint64_t created_ns) {
    rk_load_verdict verdict;
    if (!look(self, key, &verdict))
        return RK_LOAD_TRUSTED;
    if (verdict.aside)
        return RK_LOAD_ASIDE;
    return created_ns == verdict.created_ns || created_ns >= self->opened_ns ? RK_LOAD_SUSPECT
                                                                             : RK_LOAD_TRIAL;
}

static rk_err *open_note(rk_loads *self, int *out_fd) {
    int flags = O_WRONLY | (self->made ? 0 : O_CREAT);
    const char *top = self->store->directory;
    if (!self->has_folder)
        RK_TRY(rk_tree_make_dirs(top, RK_LOADS_FOLDER));
    self->has_folder = true;
    RK_TRY(rk_tree_open(top, self->path, flags, 0600, out_fd));
    self->made = true;
    return NULL;
}

// Writes the whole note each time, so that a write corrects an earlier one that failed.
static rk_err *write_note(rk_loads *self) {
    uint8_t image[RK_LOAD_NOTE_BYTES];
    rk_autofd fd = -1;
    RK_TRY(open_note(self, &fd));
    rk_load_note_encode(&self->note, image);
    return rk_fd_write_all(fd, image, sizeof image);
}

// True if later writes to the folder would fail as well.
static bool is_refusal(const rk_err *err) {
    int error_number = rk_err_errno(err);
    return error_number == EROFS || error_number == EACCES || error_number == EPERM;
}

static int find_slot(const rk_loads *self, rk_load_state state) {
    int slot = -1;
    unsigned same = 0;
    for (int i = 0; i < RK_LOAD_SLOTS; i++) {
        same += self->note.slots[i].state == state;
        if (slot < 0 && self->note.slots[i].state == RK_LOAD_FREE)
            slot = i;
    }
    return state == RK_LOAD_COMPILED && same >= COMPILED_SLOTS ? -1 : slot;
}

// The caller holds the mutex.
static int begin(rk_loads *self, const rk_load_slot *what) {
    int slot = self->closed ? -1 : find_slot(self, what->state);
    if (slot < 0)
        return -1;
    self->note.slots[slot] = *what;
    rk_err *err = write_note(self);
    if (err) {
        self->closed = self->closed || is_refusal(err);
        rk_err_drop(err, "it is loaded without a note");
        self->note.slots[slot].state = RK_LOAD_FREE;
        return -1;
    }
    return slot;
}

int rk_loads_begin(rk_loads *self, const rk_digest *key, uint64_t created_ns, rk_load_state state) {
    if (!self || !self->path || !rk_store_accepts(self->store))
        return -1;
    const rk_load_slot what = {
        .state = state, .created_ns = created_ns, .since_ns = rk_realtime_ns(), .key = *key};
    (void)pthread_mutex_lock(&self->mutex);
    int slot = begin(self, &what);
    (void)pthread_mutex_unlock(&self->mutex);
    return slot;
}

void rk_loads_end(rk_loads *self, int slot) {
    if (slot < 0)
        return;
    (void)pthread_mutex_lock(&self->mutex);
    self->note.slots[slot].state = RK_LOAD_FREE;
    rk_err *err = self->closed ? NULL : write_note(self);
    if (err) {
        rk_err_drop(err, "a note with finished loads must be removed");
        close_note(self);
    }
    (void)pthread_mutex_unlock(&self->mutex);
}

void rk_loads_acquit(rk_loads *self, const rk_digest *key) {
    rk_load_verdict verdict;
    if (!look(self, key, &verdict) || verdict.aside)
        return;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(key, hex);
    if (rk_store_accepts(self->store))
        rk_err_drop(rk_load_verdict_remove(self->store, hex), "the next load removes it");
    (void)pthread_mutex_lock(&self->mutex);
    for (size_t i = 0; i < self->count; i++)
        if (rk_digest_equal(&self->list[i].key, key)) {
            self->list[i] = self->list[--self->count];
            (void)atomic_fetch_sub(&self->left, 1);
            break;
        }
    (void)pthread_mutex_unlock(&self->mutex);
}
