#include "store/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/process.h"
#include "base/tree.h"
#include "store/used.h"

enum {
    LOG_MAX_BYTES = 1 << 20,    // that are read
    LOG_CLOSED_BYTES = 1 << 16, // past this the writer begins a new one
    OWED_MAX_BYTES = 1 << 16,
};

static const char closed_line[] = "closed\n";
static const char torn_line[] = "!\n"; // whatever it ends is no number then

struct rk_usage {
    uint64_t max_bytes;
    pthread_mutex_t mutex;
    char *log;              // path of this process's log, owned; NULL: none yet
    uint64_t log_bytes;     // written to it
    bool torn;              // its last line is not complete
    rk_buf owed;            // lines that could not be written yet
    rk_usage_count pending; // what this process has announced and not ended
    uint64_t refused_ns;    // monotonic: when room was refused last; 0 for never
    double refused_worth;   // to what
};

rk_err *rk_usage_start(rk_store *store, uint64_t max_bytes) {
    rk_usage *usage = store->usage;
    if (!usage) {
        usage = rk_calloc(1, sizeof *usage);
        if (!usage)
            return rk_err_no_memory();
        (void)pthread_mutex_init(&usage->mutex, NULL);
        store->usage = usage;
    }
    usage->max_bytes = max_bytes;
    return NULL;
}

uint64_t rk_usage_limit(const rk_store *store) {
    return store->usage ? store->usage->max_bytes : UINT64_MAX;
}

void rk_usage_refuse(rk_store *store, double worth) {
    (void)pthread_mutex_lock(&store->usage->mutex);
    store->usage->refused_ns = rk_monotonic_ns();
    store->usage->refused_worth = worth;
    (void)pthread_mutex_unlock(&store->usage->mutex);
}

bool rk_usage_refuses(rk_store *store, double worth) {
    const uint64_t minute_ns = UINT64_C(60) * 1000000000;
    (void)pthread_mutex_lock(&store->usage->mutex);
    const rk_usage *usage = store->usage;
    bool refuses = usage->refused_ns && rk_monotonic_ns() - usage->refused_ns < minute_ns &&
                   worth <= usage->refused_worth;
    (void)pthread_mutex_unlock(&store->usage->mutex);
    return refuses;
}

char *rk_usage_path(const char *name) {
    RK_AUTO(rk_buf) path = {0};
    size_t len = 0;
    rk_buf_add_format(&path, "usage/%s", name);
    return path.failed ? NULL : (char *)rk_buf_detach(&path, &len);
}

void rk_usage_make_folder(const rk_store *store) {
    rk_err_drop(rk_tree_make_dirs(store->directory, "usage"), "what is put there says so");
}

enum { LOG_FLAGS = O_WRONLY | O_APPEND | O_NONBLOCK };

// What is pending when a new log is begun stands in the old one, which will soon count no more.
static rk_err *announce_again(rk_usage *usage, int fd) {
    RK_AUTO(rk_buf) line = {0};
    if (usage->pending.files == 0)
        return NULL;
    rk_usage_write_line(RK_PLACE_PENDING, usage->pending, &line);
    RK_TRY(rk_buf_status(&line));
    rk_err *err = rk_fs_write_all(fd, line.data, line.len);
    usage->torn = err != NULL;
    return err;
}

// Creates the log of this process, whose name says whose it is. `out_fd` is owned.
static rk_err *create_log(rk_store *store, int *out_fd) {
    enum { ATTEMPTS = 64 };
    static atomic_uint serial; // of several logs, of one store or of several
    rk_process self;
    rk_process_self(&self);
    for (int i = 0; i < ATTEMPTS; i++) {
        RK_AUTO(rk_buf) name = {0};
        rk_buf_add_format(&name, "%s%u-", RK_USAGE_LOG_PREFIX, atomic_fetch_add(&serial, 1) + 1);
        rk_process_add_text(&self, &name);
        RK_TRY(rk_buf_status(&name));
        rk_autofree char *path = rk_usage_path(rk_buf_text(&name));
        if (!path)
            return rk_err_no_memory();
        const int flags = LOG_FLAGS | O_CREAT | O_EXCL;
        rk_err *err = rk_tree_open(store->directory, path, flags, 0600, out_fd);
        if (rk_err_code(err) == RK_NOT_FOUND) {
            rk_err_drop(err, "the folder is made lazily");
            rk_usage_make_folder(store);
            err = rk_tree_open(store->directory, path, flags, 0600, out_fd);
        }
        if (rk_err_code(err) == RK_ALREADY_EXISTS) {
            rk_err_drop(err, "of a process of another machine that looks like us");
            continue;
        }
        RK_TRY(err);
        rk_free(store->usage->log);
        store->usage->log = RK_TAKE(path);
        store->usage->log_bytes = 0;
        store->usage->torn = false;
        return announce_again(store->usage, *out_fd);
    }
    return rk_error(RK_ALREADY_EXISTS, "no name is left for a log in %s/usage", store->directory);
}

// Somebody may have taken the log for a dead process's and removed it; then there is a new one.
static rk_err *open_log(rk_store *store, int *out_fd) {
    if (store->usage->log) {
        rk_err *err = rk_tree_open(store->directory, store->usage->log, LOG_FLAGS, 0, out_fd);
        if (rk_err_code(err) != RK_NOT_FOUND)
            return err;
        rk_err_drop(err, "there is a new one");
    }
    return create_log(store, out_fd);
}

// Writes what it can, and says how much that was.
static size_t write_some(int fd, rk_span data) {
    size_t written = 0;
    while (written < data.len) {
        ssize_t taken = rk_sys()->write_fn(fd, data.data + written, data.len - written);
        if (taken <= 0 && errno != EINTR)
            break;
        written += taken > 0 ? (size_t)taken : 0;
    }
    return written;
}

// Writes lines; those that are not complete then are left in `out_rest`.
static rk_err *write_lines(rk_usage *usage, int fd, rk_span lines, rk_buf *out_rest) {
    size_t written = write_some(fd, lines), complete = written;
    int error_number = errno;
    while (complete && lines.data[complete - 1] != '\n')
        complete--;
    usage->log_bytes += written;
    usage->torn = complete != written;
    rk_buf_add(out_rest, lines.data + complete, lines.len - complete);
    return written == lines.len ? NULL : rk_error_errno(error_number, "%s", usage->log);
}

// What could not be written before.
static rk_err *write_owed(rk_usage *usage, int fd) {
    if (usage->torn)
        RK_TRY(rk_fs_write_all(fd, torn_line, sizeof torn_line - 1));
    usage->torn = false;
    if (usage->owed.len == 0)
        return NULL;
    rk_buf owed = usage->owed;
    usage->owed = RK_BUF_INIT(OWED_MAX_BYTES);
    rk_err *err = write_lines(usage, fd, rk_buf_span(&owed), &usage->owed);
    rk_buf_cleanup(&owed);
    return err;
}

// Called with the mutex held.
static rk_err *append(rk_store *store, rk_span lines, bool must) {
    rk_usage *usage = store->usage;
    RK_AUTO(rk_buf) rest = RK_BUF_INIT(OWED_MAX_BYTES);
    rk_autofd fd = -1;
    rk_err *err = open_log(store, &fd);
    if (!err)
        err = write_owed(usage, fd);
    if (err)
        rk_buf_add_span(&rest, lines);
    else
        err = write_lines(usage, fd, lines, &rest);
    if (err && must && !rest.failed) // else the next count finds what went amiss
        rk_buf_add_span(&usage->owed, rk_buf_span(&rest));
    if (!err && usage->log_bytes > LOG_CLOSED_BYTES) {
        rk_err_drop(rk_fs_write_all(fd, closed_line, sizeof closed_line - 1),
                    "it is collected when this process has ended");
        rk_free(RK_TAKE(usage->log));
    }
    return err;
}

// With `must`, lines that cannot be written now are written before the next ones. `pending` is by
// how much they change what is pending.
static rk_err *note(rk_store *store, rk_span lines, bool must, rk_usage_count pending) {
    if (!store->usage || lines.len == 0)
        return NULL;
    (void)pthread_mutex_lock(&store->usage->mutex);
    rk_err *err = append(store, lines, must);
    if (!err || must) {
        store->usage->pending.files += pending.files;
        store->usage->pending.bytes += pending.bytes;
    }
    (void)pthread_mutex_unlock(&store->usage->mutex);
    return rk_err_wrap(err, "cannot keep account of the store");
}

rk_err *rk_usage_note(rk_store *store, unsigned place, rk_usage_count change) {
    RK_AUTO(rk_buf) line = {0};
    if (change.files || change.bytes)
        rk_usage_write_line(place, change, &line);
    RK_TRY(rk_buf_status(&line));
    // Who cannot announce what it is going to write does not write it.
    bool announces = place == RK_PLACE_PENDING;
    return note(store, rk_buf_span(&line), !announces, announces ? change : (rk_usage_count){0});
}

rk_err *rk_usage_note_end(rk_store *store, rk_usage_count pending, unsigned place,
                          rk_usage_count change) {
    RK_AUTO(rk_buf) lines = {0};
    if (change.files || change.bytes)
        rk_usage_write_line(place, change, &lines);
    pending.files = -pending.files;
    pending.bytes = -pending.bytes;
    rk_usage_write_line(RK_PLACE_PENDING, pending, &lines);
    RK_TRY(rk_buf_status(&lines));
    return note(store, rk_buf_span(&lines), true, pending);
}

rk_err *rk_usage_note_table(rk_store *store, const rk_usage_table *changes) {
    RK_AUTO(rk_buf) lines = {0};
    for (unsigned place = 0; place < RK_PLACE_COUNT; place++)
        if (changes->places[place].files || changes->places[place].bytes)
            rk_usage_write_line(place, changes->places[place], &lines);
    RK_TRY(rk_buf_status(&lines));
    return note(store, rk_buf_span(&lines), true, (rk_usage_count){0});
}

void rk_usage_end(rk_store *store) {
    rk_usage *usage = store->usage;
    if (!usage)
        return;
    if (usage->log) {
        rk_autofd fd = -1;
        rk_err *err = rk_tree_open(store->directory, usage->log, LOG_FLAGS, 0, &fd);
        if (!err)
            err = write_owed(usage, fd);
        if (!err)
            err = rk_fs_write_all(fd, closed_line, sizeof closed_line - 1);
        rk_err_drop(err, "it is collected when this process has ended");
    }
    (void)pthread_mutex_destroy(&usage->mutex);
    rk_free(usage->log);
    rk_buf_cleanup(&usage->owed);
    rk_free(RK_TAKE(store->usage));
}

// Adds the log's lines that are not folded yet.
static void fold(rk_usage_state *state, rk_usage_log *log, rk_span text) {
    if (log->folded > text.len)
        log->folded = text.len;
    size_t used = 0;
    do {
        rk_span rest = rk_span_of(text.data + log->folded, text.len - log->folded);
        unsigned place = 0;
        rk_usage_count change;
        if (rk_usage_parse_line(rest, &used, &place, &change)) {
            rk_usage_count *count =
                place == RK_PLACE_PENDING ? &log->pending : &state->table.places[place];
            count->files += change.files;
            count->bytes += change.bytes;
        } else if (used && rk_span_is(rk_span_of(rest.data, used), closed_line)) {
            log->finished = true;
        }
        log->folded += used;
    } while (used);
}

static rk_err *read_log(const rk_store *store, rk_usage_state *state, const char *name) {
    rk_usage_log *log = rk_usage_log_named(state, rk_span_text(name));
    rk_autofree char *path = rk_usage_path(name);
    if (!log || !path)
        return rk_err_no_memory();
    RK_AUTO(rk_buf) text = RK_BUF_INIT(LOG_MAX_BYTES + 4096);
    struct stat info;
    rk_err *err = rk_tree_stat(store->directory, path, &info);
    if (!err)
        err = rk_tree_read(store->directory, path, LOG_MAX_BYTES, &text);
    if (rk_err_code(err) == RK_NOT_FOUND || rk_err_code(err) == RK_OUT_OF_RANGE) {
        rk_err_drop(err, "folded and removed since it was listed, or no log");
        return NULL;
    }
    RK_TRY(err);
    log->present = true;
    log->modified_ns = rk_stat_modified_ns(&info);
    fold(state, log, rk_buf_span(&text));
    return NULL;
}

typedef struct reading {
    const rk_store *store;
    rk_usage_state *state;
} reading;

static rk_err *visit(void *context, const char *name) {
    static const char safe[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-";
    reading *self = context;
    size_t prefix_len = sizeof RK_USAGE_LOG_PREFIX - 1;
    if (strncmp(name, RK_USAGE_LOG_PREFIX, prefix_len) != 0 || name[strspn(name, safe)])
        return NULL;
    return read_log(self->store, self->state, name);
}

// Which base it is: a new one has another inode, or at least another time.
typedef struct base_id {
    bool present;
    ino_t inode;
    uint64_t modified_ns;
} base_id;

static base_id identify_base(const rk_store *store, const char *path) {
    struct stat info;
    rk_err *err = rk_tree_stat(store->directory, path, &info);
    base_id id = {0};
    if (!err)
        id = (base_id){true, info.st_ino, rk_stat_modified_ns(&info)};
    rk_err_drop(err, "no base, or one that reading it says more about");
    return id;
}

static rk_err *read_base(const rk_store *store, const char *path, rk_usage_state *state) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(RK_USAGE_BASE_MAX_BYTES + 4096);
    rk_err *err = rk_tree_read(store->directory, path, RK_USAGE_BASE_MAX_BYTES, &text);
    if (rk_err_code(err) == RK_NOT_FOUND || rk_err_code(err) == RK_OUT_OF_RANGE) {
        rk_err_drop(err, "no base: what there is must be counted");
        return NULL;
    }
    RK_TRY(err);
    state->known = rk_usage_parse_base(rk_buf_span(&text), state);
    if (!state->known) // half a base is none
        state->table = (rk_usage_table){0};
    return NULL;
}

static rk_err *read_once(const rk_store *store, const char *base, rk_usage_state **out_state,
                         bool *out_stable) {
    RK_AUTO_USAGE state = rk_calloc(1, sizeof *state);
    if (!state)
        return rk_err_no_memory();
    base_id before = identify_base(store, base);
    RK_TRY(read_base(store, base, state));
    reading self = {store, state};
    rk_err *err = rk_tree_list(store->directory, "usage", RK_USAGE_MAX_LOGS, visit, &self);
    if (err && rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "no folder: no logs");
    base_id after = identify_base(store, base);
    state->published_ns = after.modified_ns;
    *out_stable = before.present == after.present && before.inode == after.inode &&
                  before.modified_ns == after.modified_ns;
    *out_state = RK_TAKE(state);
    return NULL;
}

rk_err *rk_usage_read(const rk_store *store, rk_usage_state **out_state) {
    enum { ATTEMPTS = 5 };
    *out_state = NULL;
    rk_autofree char *base = rk_usage_path("base");
    if (!base)
        return rk_err_no_memory();
    bool stable = false;
    // A log that was folded into a newer base and removed meanwhile would be missing in the sum.
    for (int i = 0; !stable && i < ATTEMPTS; i++) {
        rk_usage_state_free(RK_TAKE(*out_state));
        RK_TRY(read_once(store, base, out_state, &stable));
    }
    return NULL;
}

void rk_usage_state_free(rk_usage_state *state) {
    if (!state)
        return;
    for (size_t i = 0; i < state->log_count; i++)
        rk_free(state->logs[i].name);
    rk_free(state->logs);
    rk_free(state);
}

void rk_usage_state_cleanup(rk_usage_state **state) {
    rk_usage_state_free(RK_TAKE(*state));
}

static bool writer_is_gone(const rk_usage_log *log, uint64_t now_ns) {
    const uint64_t day_ns = UINT64_C(86400) * 1000000000;
    const char *serial = log->name + sizeof RK_USAGE_LOG_PREFIX - 1;
    const char *whose = strchr(serial, '-');
    rk_process writer;
    rk_liveness liveness = RK_LIVENESS_UNKNOWN;
    if (whose && rk_process_parse(rk_span_text(whose + 1), &writer))
        liveness = rk_process_liveness(&writer);
    if (liveness == RK_LIVENESS_UNKNOWN)
        return now_ns > log->modified_ns && now_ns - log->modified_ns > day_ns;
    return liveness == RK_LIVENESS_DEAD;
}

size_t rk_usage_find_finished(rk_usage_state *state, uint64_t now_ns) {
    size_t count = 0;
    for (size_t i = 0; i < state->log_count; i++) {
        rk_usage_log *log = &state->logs[i];
        log->finished = log->present && (log->finished || writer_is_gone(log, now_ns));
        count += log->finished;
    }
    return count;
}

rk_err *rk_usage_publish(const rk_store *store, const rk_usage_state *state) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(RK_USAGE_BASE_MAX_BYTES);
    rk_autofree char *base = rk_usage_path("base");
    rk_usage_write_base(state, &text);
    RK_TRY(rk_buf_status(&text));
    if (!base)
        return rk_err_no_memory();
    rk_usage_make_folder(store);
    RK_TRY(rk_tree_publish(store->directory, base, text.data, text.len, 0600));
    for (size_t i = 0; i < state->log_count; i++) {
        const rk_usage_log *log = &state->logs[i];
        rk_autofree char *path = log->finished ? rk_usage_path(log->name) : NULL;
        if (path)
            rk_err_drop(rk_tree_remove(store->directory, path),
                        "what it says is in the base: no line counts twice");
    }
    return NULL;
}

rk_usage_count rk_usage_sum(const rk_usage_state *state) {
    rk_usage_count sum = {0};
    for (unsigned place = 0; place < RK_PLACE_COUNT; place++) {
        sum.files += state->table.places[place].files;
        sum.bytes += state->table.places[place].bytes;
    }
    for (size_t i = 0; i < state->log_count; i++) {
        if (state->logs[i].present && !state->logs[i].finished) {
            sum.files += state->logs[i].pending.files;
            sum.bytes += state->logs[i].pending.bytes;
        }
    }
    return (rk_usage_count){sum.files > 0 ? sum.files : 0, sum.bytes > 0 ? sum.bytes : 0};
}
