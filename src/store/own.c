#include "store/own_internal.h"

#include <errno.h>
#include <fcntl.h>

#include "base/alloc.h"
#include "base/process.h"
#include "base/temporary.h"
#include "base/tree.h"
#include "store/load_note.h"

enum { HEAD_BYTES = 128 };

static const char hex_digits[] = "0123456789abcdef", digits[] = "0123456789";

// Moves `*text` past one or more characters of `set`.
static bool take_some(const char **text, const char *set) {
    size_t len = strspn(*text, set);
    *text += len;
    return len > 0;
}

static bool take_text(const char **text, const char *expected) {
    size_t len = strlen(expected);
    bool same = strncmp(*text, expected, len) == 0;
    *text += same ? len : 0;
    return same;
}

// Moves `*text` past the 64 digits of a key.
static bool take_key(const char **text) {
    bool is_key = strspn(*text, hex_digits) == RK_DIGEST_HEX_CHARS;
    *text += is_key ? RK_DIGEST_HEX_CHARS : 0;
    return is_key;
}

// <key>.<rkx|rkp>-<time>-<pid>
static bool is_set_aside(const char *name) {
    return take_key(&name) && (take_text(&name, ".rkx-") || take_text(&name, ".rkp-")) &&
           take_some(&name, digits) && take_text(&name, "-") && take_some(&name, digits) && !*name;
}

// plugin-<device>-<inode>
static bool is_memo(const char *name) {
    return take_text(&name, "plugin-") && take_some(&name, hex_digits) && take_text(&name, "-") &&
           take_some(&name, hex_digits) && !*name;
}

// manifest, manifest-<rank>
static bool is_manifest(const char *name) {
    return take_text(&name, "manifest") &&
           (!*name || (take_text(&name, "-") && take_some(&name, digits) && !*name));
}

// <rank>.jsonl, <rank>.<pid>.jsonl, <rank>.<pid>.<n>.jsonl
static bool is_journal(const char *name) {
    enum { MOST_NUMBERS = 3 };
    for (int i = 0; i < MOST_NUMBERS; i++) {
        if (!take_some(&name, digits) || !take_text(&name, "."))
            return false;
        if (strcmp(name, "jsonl") == 0)
            return true;
    }
    return false;
}

// summary.json, the summary of a run (journal/summary.h).
static bool is_summary(const char *name) {
    return strcmp(name, "summary.json") == 0;
}

// A kind of rekindle's own files: the place, the form of the name, and the first bytes.
typedef struct own_kind {
    unsigned place;
    bool (*is_name)(const char *name);
    const char *begins; // the file begins with this text; NULL: the name suffices
    const char *then;   // a later text in the first HEAD_BYTES; NULL: none
    bool names_run;     // a summary, which must name the run of its folder
} own_kind;

static const own_kind kinds[] = {
    {RK_PLACE_QUARANTINE, is_set_aside, NULL, NULL, false},
    {RK_PLACE_PLUGINS, is_memo, "rekindle plugin ", NULL, false},
    {RK_PLACE_JOBS, is_manifest, "rekindle manifest ", NULL, false},
    {RK_PLACE_RUNS, is_journal, "{\"v\":", "\"ev\":\"start\"", false},
    {RK_PLACE_RUNS, is_summary, "{\"v\":", NULL, true},
};

// Reads the first bytes of a file as text. Returns their number, or -1 if they cannot be read.
static ssize_t read_head(const rk_store *store, const char *path, char head[HEAD_BYTES + 1]) {
    rk_autofd fd = -1;
    rk_err *err = rk_tree_open(store->directory, path, O_RDONLY | O_NONBLOCK, 0, &fd);
    ssize_t got = -1;
    head[0] = '\0';
    if (!err) {
        do
            got = rk_sys()->pread_fn(fd, head, HEAD_BYTES, 0);
        while (got < 0 && errno == EINTR);
    }
    rk_err_drop(err, "files that cannot be read are left alone");
    head[got > 0 ? got : 0] = '\0';
    return got;
}

bool rk_own_run_name(const char *name) {
    enum { DATE_DIGITS = 8, TIME_DIGITS = 6 };
    return strspn(name, digits) == DATE_DIGITS && name[DATE_DIGITS] == 'T' &&
           strspn(name + DATE_DIGITS + 1, digits) == TIME_DIGITS &&
           strncmp(name + DATE_DIGITS + 1 + TIME_DIGITS, "Z-", 2) == 0;
}

// True for a journal without a complete first line, which a full disk may cause. The name of its
// run identifies it.
static bool is_cut_journal(const own_kind *kind, const char *path, const char *head) {
    const char *folder = strchr(path, '/');
    size_t len = strlen(head), whole = strlen(kind->begins);
    return kind->place == RK_PLACE_RUNS && folder && rk_own_run_name(folder + 1) &&
           strncmp(head, kind->begins, len < whole ? len : whole) == 0 && !strchr(head, '\n') &&
           len < HEAD_BYTES;
}

// True if the text begins {"v":<n>,"run":"<name of the folder>". Compares only as far as `head`
// reaches.
static bool is_summary_of(const char *path, const char *head) {
    const char *slash = strchr(path, '/'), *run = slash ? slash + 1 : path;
    if (!take_text(&head, "{\"v\":") || !take_some(&head, digits) ||
        !take_text(&head, ",\"run\":\""))
        return false;
    size_t len = strcspn(run, "/"), there = strlen(head);
    return strncmp(head, run, there < len ? there : len) == 0 && (there <= len || head[len] == '"');
}

static bool has_content(const rk_store *store, const own_kind *kind, const char *path) {
    char head[HEAD_BYTES + 1];
    if (!kind->begins)
        return true;
    if (read_head(store, path, head) < 0)
        return false;
    bool begins = strncmp(head, kind->begins, strlen(kind->begins)) == 0;
    return (begins && (!kind->then || strstr(head, kind->then)) &&
            (!kind->names_run || is_summary_of(path, head))) ||
           is_cut_journal(kind, path, head);
}

bool rk_own_file(const rk_store *store, unsigned place, const char *path, const struct stat *info) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (!S_ISREG(info->st_mode))
        return false;
    if (rk_temporary_is_name(name))
        return true;
    for (size_t i = 0; i < RK_ARRAY_LEN(kinds); i++)
        if (kinds[i].place == place && kinds[i].is_name(name) &&
            has_content(store, &kinds[i], path))
            return true;
    return false;
}

bool rk_own_log_name(const char *name) {
    rk_process writer;
    return take_text(&name, RK_USAGE_LOG_PREFIX) && take_some(&name, digits) &&
           take_text(&name, "-") && rk_process_parse(rk_span_text(name), &writer);
}

bool rk_own_claim_name(const char *name) {
    enum { IDENTITY_DIGITS = 16 };
    return take_text(&name, ".claim-") && take_key(&name) && take_text(&name, "-") &&
           strspn(name, hex_digits) == IDENTITY_DIGITS && !name[IDENTITY_DIGITS];
}

bool rk_own_lease(const rk_store *store, const char *path) {
    static const char begins[] = "rekindle lease ";
    char head[HEAD_BYTES + 1];
    ssize_t got = read_head(store, path, head);
    // Leases are not synced, so a power cut may leave an empty file.
    return got == 0 || (got > 0 && strncmp(head, begins, sizeof begins - 1) == 0);
}

static bool is_load(const rk_store *store, const char *path, const char *name, bool is_key) {
    rk_process process;
    return is_key ? rk_own_begins(store, path, rk_span_text("rekindle load "))
                  : rk_load_note_parse_name(name, &process);
}

bool rk_own_other(const rk_store *store, const char *folder, const char *name,
                  const struct stat *info) {
    const char *rest = name;
    bool is_key = take_key(&rest) && !*rest;
    if (!S_ISREG(info->st_mode))
        return false;
    if (strcmp(folder, "usage") == 0)
        return strcmp(name, "base") == 0 || strcmp(name, "clock") == 0 ||
               strcmp(name, "removals") == 0 || rk_own_log_name(name);
    if (strcmp(folder, "pins") == 0)
        return is_key && info->st_size == 0;
    rk_autofree char *path = rk_path_join(folder, name);
    if (strcmp(folder, RK_LOADS_FOLDER) == 0)
        return path && is_load(store, path, name, is_key);
    return strcmp(folder, "leases") == 0 && path &&
           (rk_own_claim_name(name) || (is_key && rk_own_lease(store, path)));
}

bool rk_own_begins(const rk_store *store, const char *path, rk_span start) {
    char head[HEAD_BYTES + 1];
    ssize_t got = read_head(store, path, head);
    return got >= (ssize_t)start.len && memcmp(head, start.data, start.len) == 0;
}

bool rk_own_may_replace(const rk_store *store, const char *path, const char *start) {
    struct stat info;
    rk_err *err = rk_tree_stat(store->directory, path, &info);
    bool missing = rk_err_code(err) == RK_NOT_FOUND, there = !err;
    rk_err_drop(err, "files that cannot be read are left alone");
    if (!there || !S_ISREG(info.st_mode))
        return missing;
    char head[HEAD_BYTES + 1];
    ssize_t got = read_head(store, path, head);
    if (got < 0)
        return (info.st_mode & S_IRUSR) != 0; // readable by its mode, so the disk is at fault
    size_t len = strlen(start), same = 0, zeros = 0;
    len = (size_t)got < len ? (size_t)got : len;
    for (size_t i = 0; i < len; i++) {
        same += head[i] == start[i];
        zeros += head[i] == '\0';
    }
    return zeros == len || 2 * same > len;
}

rk_err *rk_own_check_replace(const rk_store *store, const char *path, const char *start) {
    if (rk_own_may_replace(store, path, start))
        return NULL;
    return rk_error(RK_FAILED_PRECONDITION,
                    "%s/%s is not a file of rekindle and is not replaced: move it away, or point "
                    "REKINDLE_DIR at a folder of its own",
                    store->directory, path);
}

bool rk_store_may_keep_summary(const rk_store *store, const char *run) {
    RK_AUTO(rk_buf) path = {0};
    RK_AUTO(rk_buf) start = {0};
    rk_buf_add_format(&path, "runs/%s/summary.json", run);
    rk_buf_add_format(&start, "{\"v\":1,\"run\":\"%s\"", run);
    return !path.failed && !start.failed &&
           rk_own_may_replace(store, rk_buf_text(&path), rk_buf_text(&start));
}

bool rk_store_is_set_aside(const char *name) {
    return is_set_aside(name);
}
