#include "store/removals.h"

#include <fcntl.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/tree.h"
#include "store/own_internal.h"
#include "store/usage_internal.h"

#define REMOVALS_START "rekindle removals "

static const char file_name[] = "removals", first_line[] = REMOVALS_START "1\n";

enum { KEPT_BYTES = 1 << 20, MOST_BYTES = 2 * KEPT_BYTES };

static const char *const words[RK_REMOVAL_COUNT] = {"", "evicted", "collected", "removed",
                                                    "set-aside"};

void rk_removals_add(rk_buf *record, rk_removal removal, const char *hex) {
    rk_buf_add_format(record, "%llu %s %.*s\n", (unsigned long long)rk_realtime_ns(),
                      words[removal], (int)RK_DIGEST_HEX_CHARS, hex);
}

static rk_err *read_file(const rk_store *store, const char *path, rk_buf *out_record) {
    *out_record = RK_BUF_INIT(2 * (size_t)MOST_BYTES);
    rk_err *err = rk_tree_read(store->directory, path, (size_t)MOST_BYTES + KEPT_BYTES, out_record);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "nothing was removed yet");
    return NULL;
}

// Publishes the latest lines in place of the file. A line that another process appends meanwhile is
// lost.
static rk_err *shorten(const rk_store *store, const char *path) {
    struct stat info;
    RK_AUTO(rk_buf) record = {0};
    RK_TRY(rk_tree_stat(store->directory, path, &info));
    if (info.st_size <= MOST_BYTES)
        return NULL;
    RK_TRY(read_file(store, path, &record));
    const char *text = rk_buf_text(&record);
    size_t cut = record.len > KEPT_BYTES ? record.len - KEPT_BYTES : 0;
    cut += strcspn(text + cut, "\n");
    cut += text[cut] == '\n';
    RK_AUTO(rk_buf) kept = RK_BUF_INIT(2 * (size_t)MOST_BYTES);
    rk_buf_add_text(&kept, first_line);
    rk_buf_add(&kept, text + cut, record.len - cut);
    RK_TRY(rk_buf_status(&kept));
    return rk_tree_publish(store->directory, path, kept.data, kept.len, 0600);
}

// `*out_new`: the file does not exist, or is empty. A file of another program is left alone.
static bool may_append(const rk_store *store, const char *path, bool *out_new) {
    struct stat info;
    rk_err *err = rk_tree_stat(store->directory, path, &info);
    bool missing = rk_err_code(err) == RK_NOT_FOUND, there = !err;
    rk_err_drop(err, "not to be written either");
    *out_new = missing || (there && info.st_size == 0);
    return *out_new || (there && rk_own_begins(store, path, rk_span_text(REMOVALS_START)));
}

static rk_err *append(const rk_store *store, const rk_buf *record) {
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK;
    rk_autofree char *path = rk_usage_path(file_name);
    rk_autofd fd = -1;
    bool is_new = false;
    RK_AUTO(rk_buf) lines = RK_BUF_INIT(64u << 20);
    RK_TRY(rk_buf_status(record));
    if (!path)
        return rk_err_no_memory();
    if (!may_append(store, path, &is_new))
        return NULL;
    rk_buf_add_text(&lines, is_new ? first_line : "");
    rk_buf_add_span(&lines, rk_buf_span(record));
    RK_TRY(rk_buf_status(&lines));
    rk_err *err = rk_tree_open(store->directory, path, flags, 0600, &fd);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "the folder is made lazily");
        RK_TRY(rk_usage_make_folder(store));
        err = rk_tree_open(store->directory, path, flags, 0600, &fd);
    }
    RK_TRY(err);
    RK_TRY(rk_fd_write_all(fd, lines.data, lines.len));
    return shorten(store, path);
}

void rk_removals_note(rk_store *store, const rk_buf *record) {
    if (record->len && !store->readonly)
        rk_err_drop(append(store, record), "explain then does not know what removed them");
}

void rk_removals_note_one(rk_store *store, rk_removal removal, const char *hex) {
    RK_AUTO(rk_buf) record = {0};
    rk_removals_add(&record, removal, hex);
    rk_removals_note(store, &record);
}

bool rk_removals_set_aside(rk_store *store, rk_entry_kind kind, const char *hex) {
    bool moved = rk_store_set_aside(store, kind, hex);
    if (moved && kind == RK_ENTRY_EXECUTABLE)
        rk_removals_note_one(store, RK_REMOVAL_SET_ASIDE, hex);
    return moved;
}

rk_err *rk_removals_read(const rk_store *store, rk_buf *out_record) {
    rk_autofree char *path = rk_usage_path(file_name);
    *out_record = (rk_buf){0};
    return path ? read_file(store, path, out_record) : rk_err_no_memory();
}

static rk_removal removal_of(const char *word) {
    for (int i = RK_REMOVAL_EVICTED; i < RK_REMOVAL_COUNT; i++) {
        size_t len = strlen(words[i]);
        if (strncmp(word, words[i], len) == 0 && word[len] == ' ')
            return (rk_removal)i;
    }
    return RK_REMOVAL_NONE;
}

rk_removal rk_removals_find(const rk_buf *record, const char *hex, uint64_t after_ns,
                            uint64_t before_ns) {
    rk_removal found = RK_REMOVAL_NONE;
    for (const char *line = rk_buf_text(record); *line; line += strcspn(line, "\n")) {
        line += *line == '\n';
        char *word;
        uint64_t time_ns = strtoull(line, &word, 10);
        size_t len = strcspn(line, "\n");
        if (len <= RK_DIGEST_HEX_CHARS || *word != ' ' || time_ns < after_ns ||
            time_ns > before_ns ||
            strncmp(line + len - RK_DIGEST_HEX_CHARS, hex, RK_DIGEST_HEX_CHARS) != 0)
            continue;
        found = removal_of(word + 1);
    }
    return found;
}
