#include "store/usage_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/process.h"
#include "base/tree.h"
#include "store/last_use_internal.h"

enum {
    LOG_CLOSED_BYTES = 1 << 16, // the writer closes a longer log and begins a new one
    OWED_MAX_BYTES = 1 << 16,
};

// A sum is not read again for believed_ns if it is far below the limit: by a quarter of the limit
// and by least_margin_bytes. All processes together add less than that in believed_ns.
static const uint64_t believed_ns = 1000000000, least_margin_bytes = 1 << 30;

static const char closed_line[] = RK_USAGE_CLOSED;
static const char torn_line[] = "!\n"; // after an incomplete line: makes that line invalid

struct rk_usage {
    uint64_t max_bytes;
    pthread_mutex_t mutex;
    char *log;              // path of this process's log, owned; NULL: none yet
    uint64_t log_bytes;     // written to `log`
    bool torn;              // the last line of `log` is incomplete
    rk_buf owed;            // lines that could not be written yet
    rk_usage_count pending; // pending files of this process
    uint64_t refused_ns;    // monotonic; last time that an entry found no space; 0: never
    double refused_worth;   // worth of that entry
    uint64_t sum_read_ns;   // monotonic; when the sum was last read; 0: never
    uint64_t spare_bytes;   // bytes that may be put before the sum is read again
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

void rk_usage_note_sum(rk_store *store, uint64_t sum_bytes) {
    rk_usage *usage = store->usage;
    uint64_t margin_bytes = usage->max_bytes / 4;
    margin_bytes = margin_bytes < least_margin_bytes ? least_margin_bytes : margin_bytes;
    (void)pthread_mutex_lock(&usage->mutex);
    bool enough = usage->max_bytes > margin_bytes && sum_bytes < usage->max_bytes - margin_bytes;
    usage->spare_bytes = enough ? usage->max_bytes - margin_bytes - sum_bytes : 0;
    usage->sum_read_ns = rk_monotonic_ns();
    (void)pthread_mutex_unlock(&usage->mutex);
}

bool rk_usage_has_space(rk_store *store, uint64_t bytes) {
    rk_usage *usage = store->usage;
    (void)pthread_mutex_lock(&usage->mutex);
    bool enough =
        bytes <= usage->spare_bytes && rk_monotonic_ns() - usage->sum_read_ns < believed_ns;
    usage->spare_bytes -= enough ? bytes : 0;
    (void)pthread_mutex_unlock(&usage->mutex);
    return enough;
}

char *rk_usage_path(const char *name) {
    RK_AUTO(rk_buf) path = {0};
    size_t len = 0;
    rk_buf_add_format(&path, "usage/%s", name);
    return path.failed ? NULL : (char *)rk_buf_detach(&path, &len);
}

rk_err *rk_usage_make_folder(const rk_store *store) {
    return rk_tree_make_dirs(store->directory, "usage");
}

enum { LOG_FLAGS = O_WRONLY | O_APPEND | O_NONBLOCK };

// Writes the pending files into a new log. The old log has them too, but soon counts as finished.
static rk_err *announce_again(rk_usage *usage, int fd) {
    RK_AUTO(rk_buf) line = {0};
    if (usage->pending.files == 0)
        return NULL;
    rk_usage_write_line(RK_PLACE_PENDING, usage->pending, &line);
    RK_TRY(rk_buf_status(&line));
    rk_err *err = rk_fd_write_all(fd, line.data, line.len);
    usage->torn = err != NULL;
    return err;
}

// Creates a log, whose name contains this process. `out_fd` is owned.
static rk_err *create_log(rk_store *store, int *out_fd) {
    enum { ATTEMPTS = 64 };
    static atomic_uint serial; // distinguishes the logs of this process, in all its stores
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
            RK_TRY(rk_usage_make_folder(store));
            err = rk_tree_open(store->directory, path, flags, 0600, out_fd);
        }
        if (rk_err_code(err) == RK_ALREADY_EXISTS) {
            rk_err_drop(err, "the name is taken by a process on another host");
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

// Opens the log. Creates a new one if another process removed the log, because it could not find
// out that this process lives.
static rk_err *open_log(rk_store *store, int *out_fd) {
    if (store->usage->log) {
        rk_err *err = rk_tree_open(store->directory, store->usage->log, LOG_FLAGS, 0, out_fd);
        if (rk_err_code(err) != RK_NOT_FOUND)
            return err;
        rk_err_drop(err, "there is a new one");
    }
    return create_log(store, out_fd);
}

// Writes as much as possible, and returns the number of bytes.
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

// Writes lines. Adds those that were not written completely to `out_rest`.
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

// Writes the lines of `owed`, after ending an incomplete line.
static rk_err *write_owed(rk_usage *usage, int fd) {
    if (usage->torn)
        RK_TRY(rk_fd_write_all(fd, torn_line, sizeof torn_line - 1));
    usage->torn = false;
    if (usage->owed.len == 0)
        return NULL;
    rk_buf owed = usage->owed;
    usage->owed = RK_BUF_INIT(OWED_MAX_BYTES);
    rk_err *err = write_lines(usage, fd, rk_buf_span(&owed), &usage->owed);
    rk_buf_cleanup(&owed);
    return err;
}

// Appends lines to the log. With `must`, lines that cannot be written now go to `owed`. The caller
// holds the mutex.
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
    if (err && must && !rest.failed) // else the next count corrects the sum
        rk_buf_add_span(&usage->owed, rk_buf_span(&rest));
    if (!err && usage->log_bytes > LOG_CLOSED_BYTES) {
        rk_err_drop(rk_fd_write_all(fd, closed_line, sizeof closed_line - 1),
                    "it is collected when this process has ended");
        rk_free(RK_TAKE(usage->log));
    }
    return err;
}

// As append; takes the mutex. `pending` is the change that the lines make to the pending files.
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
    return rk_err_wrap(err, "cannot update the usage account of the store");
}

rk_err *rk_usage_note(rk_store *store, unsigned place, rk_usage_count change) {
    RK_AUTO(rk_buf) line = {0};
    if (change.files || change.bytes)
        rk_usage_write_line(place, change, &line);
    RK_TRY(rk_buf_status(&line));
    // If a pending file cannot be recorded, the caller does not write it: the line is not owed.
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

// Ends the log with a `closed` line, so that any process may fold and remove it from now on.
static void close_log(rk_store *store) {
    rk_usage *usage = store->usage;
    rk_autofd fd = -1;
    rk_err *err = rk_tree_open(store->directory, usage->log, LOG_FLAGS, 0, &fd);
    if (!err)
        err = write_owed(usage, fd);
    if (!err)
        err = rk_fd_write_all(fd, closed_line, sizeof closed_line - 1);
    rk_err_drop(err, "it is collected when this process has ended");
    rk_free(RK_TAKE(usage->log));
}

void rk_store_flush_usage(rk_store *store) {
    rk_usage *usage = store->usage;
    if (!usage || !rk_store_accepts(store))
        return;
    (void)pthread_mutex_lock(&usage->mutex);
    if (usage->log && usage->pending.files == 0)
        close_log(store);
    (void)pthread_mutex_unlock(&usage->mutex);
}

void rk_usage_end(rk_store *store) {
    rk_usage *usage = store->usage;
    if (!usage)
        return;
    if (usage->log)
        close_log(store);
    (void)pthread_mutex_destroy(&usage->mutex);
    rk_buf_cleanup(&usage->owed);
    rk_free(RK_TAKE(store->usage));
}
