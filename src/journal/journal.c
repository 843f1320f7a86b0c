#include "journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/tree.h"
#include "journal/line_internal.h"
#include "journal/process_internal.h"
#include "journal/run_id.h"
#include "journal/turn_internal.h"

struct rk_journal {
    pthread_mutex_t lock; // guards the members below `owner`
    char *run;            // owned
    char *store;          // owned
    char *path;           // owned; of the file, relative to the store
    pid_t owner;          // the process that opened the journal; a forked child differs
    int fd;
    dev_t device; // of the file that was opened, to detect that the program closed fd
    ino_t inode;
    rk_buf line; // one line; allocated at the start, so that no event is lost without memory
    bool silent;
    rk_err *failure; // owned; why it is silent, until rk_journal_take_failure
};

// The beginning of every line: {"v":1,"t":…,"ev":"…".
static rk_json begin_line(rk_journal *journal, const char *event) {
    rk_buf_clear(&journal->line);
    rk_json json = rk_json_on(&journal->line);
    rk_json_begin_object(&json);
    rk_json_member_uint(&json, "v", RK_LINE_VERSION);
    rk_json_member_seconds(&json, "t", rk_realtime_ns());
    rk_json_member_string(&json, "ev", event);
    return json;
}

// Checks that fd is still the journal. A program that becomes a daemon closes every descriptor, and
// the next file it opens gets the same number.
static rk_err *check_descriptor(const rk_journal *journal) {
    struct stat info;
    if (rk_sys()->fstat_fn(journal->fd, &info) != 0)
        return rk_error_errno(errno, "cannot stat the journal's file descriptor");
    if (info.st_dev != journal->device || info.st_ino != journal->inode)
        return rk_error(RK_ABORTED, "the journal's file descriptor was closed by the program");
    return NULL;
}

static rk_err *end_line(rk_journal *journal, rk_json *json) {
    rk_json_end_object(json);
    rk_buf_add_byte(&journal->line, '\n');
    RK_TRY(rk_buf_status(&journal->line));
    RK_TRY(check_descriptor(journal));
    return rk_fd_write_all(journal->fd, journal->line.data, journal->line.len);
}

// Marks the file as incomplete by its sticky bit, which needs no disk space. Opens the file again
// if the program has closed our descriptor.
static void mark_incomplete(const rk_journal *journal) {
    enum { INCOMPLETE_MODE = 0600 | S_ISVTX };
    rk_autofd other = -1;
    rk_err *foreign = check_descriptor(journal);
    if (foreign)
        rk_err_drop(rk_tree_open(journal->store, journal->path, O_WRONLY, 0, &other),
                    "the file stays unmarked");
    int fd = foreign ? other : journal->fd;
    rk_err_drop(foreign, "reported as the reason why the journal ends");
    if (fd >= 0)
        (void)rk_sys()->fchmod_fn(fd, INCOMPLETE_MODE); // best effort
}

rk_turn rk_turn_begin(rk_journal *journal, const char *event) {
    rk_turn mine = {.saved_errno = errno};
    // A forked child may have inherited a locked mutex that no thread will unlock, so it does not
    // lock it.
    if (!journal || getpid() != journal->owner)
        return mine;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &mine.saved_cancel_state);
    (void)pthread_mutex_lock(&journal->lock);
    mine.journal = journal;
    mine.json = begin_line(journal, event);
    return mine;
}

void rk_turn_end(rk_turn *turn) {
    rk_journal *journal = turn->journal;
    if (journal) {
        if (!journal->silent) {
            rk_err *err = end_line(journal, &turn->json);
            journal->silent = err != NULL;
            journal->failure = err;
            if (err)
                mark_incomplete(journal);
        }
        (void)pthread_mutex_unlock(&journal->lock);
        (void)pthread_setcancelstate(turn->saved_cancel_state, NULL);
    }
    errno = turn->saved_errno;
}

static rk_err *create_file(rk_journal *journal, const char *store, const char *name) {
    rk_autofree char *folder = rk_path_join("runs", journal->run);
    rk_autofree char *path = folder ? rk_path_join(folder, name) : NULL;
    if (!path)
        return rk_err_no_memory();
    RK_TRY(rk_tree_open(store, path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600, &journal->fd));
    journal->path = RK_TAKE(path);
    return NULL;
}

// Creates <rank>.jsonl; if it exists, <rank>.<pid>.jsonl; if that exists too,
// <rank>.<pid>.<n>.jsonl. A pid can repeat in containers that share a directory, or after exec(3).
static rk_err *create_first_free(rk_journal *journal, const char *store) {
    enum { MOST_TRIES = 1000 };
    unsigned rank = rk_process_rank();
    for (int n = 0;; n++) {
        RK_AUTO(rk_buf) name = {0};
        rk_buf_add_format(&name, "%u", rank);
        if (n > 0)
            rk_buf_add_format(&name, ".%ld", (long)getpid());
        if (n > 1)
            rk_buf_add_format(&name, ".%d", n);
        rk_buf_add_text(&name, ".jsonl");
        RK_TRY(rk_buf_status(&name));
        rk_err *err = create_file(journal, store, rk_buf_text(&name));
        if (rk_err_code(err) != RK_ALREADY_EXISTS || n == MOST_TRIES)
            return err;
        rk_err_drop(err, "another process has this name; the next one is tried");
    }
}

static rk_err *open_file(rk_journal *journal, const char *store) {
    rk_autofree char *folder = rk_path_join("runs", journal->run);
    if (!folder)
        return rk_err_no_memory();
    RK_TRY(rk_tree_make_dirs(store, folder));
    RK_TRY(create_first_free(journal, store));
    struct stat info;
    if (rk_sys()->fstat_fn(journal->fd, &info) != 0)
        return rk_error_errno(errno, "cannot stat %s", journal->path);
    journal->device = info.st_dev;
    journal->inode = info.st_ino;
    return NULL;
}

static rk_err *write_start(rk_journal *journal, const rk_journal_start *start) {
    rk_json json = begin_line(journal, "start");
    rk_line_add_name(&json, "run", journal->run);
    rk_line_add_name(&json, "job", start->job);
    rk_line_add_name(&json, "mode", start->mode);
    rk_line_add_name(&json, "version", start->version);
    rk_line_add_name(&json, "way_in", start->way_in);
    rk_json_member_uint(&json, "rank", rk_process_rank());
    RK_TRY(rk_process_describe(&json));
    return end_line(journal, &json);
}

static rk_err *choose_run(const char *requested, char **out_run) {
    if (!requested[0])
        return rk_run_id_make(out_run);
    if (!rk_run_id_valid(requested))
        return rk_error(
            RK_INVALID_ARGUMENT,
            "the run id \"%.200s\" cannot be used; use at most %d letters, digits, '.', "
            "'_' and '-', not beginning with '.'",
            requested, RK_RUN_ID_MAX_CHARS);
    *out_run = rk_strdup(requested);
    return *out_run ? NULL : rk_err_no_memory();
}

static void close_and_free(rk_journal **journal) {
    rk_journal_close(RK_TAKE(*journal));
}

rk_err *rk_journal_open(const rk_journal_start *start, rk_journal **out_journal) {
    *out_journal = NULL;
    __attribute__((cleanup(close_and_free))) rk_journal *journal = rk_calloc(1, sizeof *journal);
    if (!journal)
        return rk_err_no_memory();
    journal->fd = -1;
    journal->owner = getpid();
    if (pthread_mutex_init(&journal->lock, NULL) != 0) {
        rk_free(RK_TAKE(journal));
        return rk_err_no_memory();
    }
    journal->line = RK_BUF_INIT(RK_LINE_MAX_BYTES);
    rk_buf_reserve(&journal->line, RK_LINE_MAX_BYTES);
    RK_TRY(rk_buf_status(&journal->line));
    RK_TRY(choose_run(start->run, &journal->run));
    journal->store = rk_strdup(start->store_directory);
    if (!journal->store)
        return rk_err_no_memory();
    rk_err *err = open_file(journal, start->store_directory);
    if (!err)
        err = write_start(journal, start);
    if (err && journal->path) // without its first line, the file is useless
        rk_err_drop(rk_tree_remove(start->store_directory, journal->path), "it may stay");
    RK_TRY(rk_err_wrap(err, "the journal of run %s", journal->run));
    *out_journal = RK_TAKE(journal);
    return NULL;
}

void rk_journal_close(rk_journal *journal) {
    if (!journal)
        return;
    rk_err *foreign = journal->fd >= 0 ? check_descriptor(journal) : NULL;
    if (journal->fd >= 0 && !foreign)
        (void)rk_sys()->close_fn(journal->fd);
    rk_err_drop(foreign, "the descriptor belongs to another file now");
    if (getpid() == journal->owner)
        (void)pthread_mutex_destroy(&journal->lock);
    rk_err_free(journal->failure);
    rk_buf_cleanup(&journal->line);
    rk_free(journal->path);
    rk_free(journal->store);
    rk_free(journal->run);
    rk_free(journal);
}

const char *rk_journal_run(const rk_journal *journal) {
    return journal ? journal->run : "";
}

rk_err *rk_journal_take_failure(rk_journal *journal) {
    if (!journal || getpid() != journal->owner)
        return NULL;
    (void)pthread_mutex_lock(&journal->lock);
    rk_err *failure = RK_TAKE(journal->failure);
    (void)pthread_mutex_unlock(&journal->lock);
    return rk_err_wrap(failure, "the journal of run %s is incomplete from here on", journal->run);
}
