#include "store/load_verdict.h"

#include <stdlib.h>

#include "base/tree.h"

static const char magic[] = "rekindle load 1 ";
static const char aside[] = "aside ";
static const char suspect[] = "suspect ";

enum { MAX_BYTES = 128 };

void rk_load_verdict_add_text(const rk_load_verdict *verdict, rk_buf *out) {
    rk_buf_add_format(out, "%s%s%llu %llu %d\n", magic, verdict->aside ? aside : suspect,
                      (unsigned long long)verdict->created_ns,
                      (unsigned long long)verdict->judged_ns, verdict->signal);
}

// Accepts a text only if the parsed verdict gives the same text again.
bool rk_load_verdict_parse(rk_span text, rk_load_verdict *out_verdict) {
    *out_verdict = (rk_load_verdict){0};
    RK_AUTO(rk_buf) copy = {0};
    RK_AUTO(rk_buf) again = {0};
    rk_buf_add_span(&copy, text);
    size_t at = sizeof magic - 1;
    if (copy.failed || copy.len < at || copy.len > MAX_BYTES)
        return false;
    char *next = (char *)copy.data + at;
    out_verdict->aside = strncmp(next, aside, sizeof aside - 1) == 0;
    next += out_verdict->aside ? sizeof aside - 1 : strnlen(next, sizeof suspect - 1);
    out_verdict->created_ns = strtoull(next, &next, 10);
    out_verdict->judged_ns = strtoull(next, &next, 10);
    out_verdict->signal = (int)strtol(next, NULL, 10);
    rk_load_verdict_add_text(out_verdict, &again);
    return !again.failed && rk_span_equal(rk_buf_span(&again), text);
}

bool rk_load_verdict_is_over(const rk_load_verdict *verdict) {
    uint64_t now_ns = rk_realtime_ns();
    uint64_t distance_ns =
        now_ns > verdict->judged_ns ? now_ns - verdict->judged_ns : verdict->judged_ns - now_ns;
    return distance_ns >= RK_LOAD_VERDICT_NS;
}

static void add_path(const char *hex, rk_buf *out) {
    rk_buf_add_format(out, "%s/%s", RK_LOADS_FOLDER, hex);
}

bool rk_load_verdict_read(const rk_store *store, const rk_digest *key,
                          rk_load_verdict *out_verdict) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(key, hex);
    RK_AUTO(rk_buf) path = {0};
    RK_AUTO(rk_buf) text = {0};
    add_path(hex, &path);
    rk_err *err = rk_buf_status(&path);
    if (!err)
        err = rk_tree_read(store->directory, rk_buf_text(&path), MAX_BYTES, &text);
    bool read = !err;
    rk_err_drop(err, "an unreadable verdict counts as missing");
    return read && rk_load_verdict_parse(rk_buf_span(&text), out_verdict) &&
           !rk_load_verdict_is_over(out_verdict);
}

rk_err *rk_load_verdict_write(const rk_store *store, const rk_digest *key,
                              const rk_load_verdict *verdict) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(key, hex);
    RK_AUTO(rk_buf) path = {0};
    RK_AUTO(rk_buf) text = {0};
    add_path(hex, &path);
    rk_load_verdict_add_text(verdict, &text);
    RK_TRY(rk_buf_status(&path));
    RK_TRY(rk_buf_status(&text));
    return rk_tree_publish(store->directory, rk_buf_text(&path), text.data, text.len, 0600);
}

rk_err *rk_load_verdict_remove(const rk_store *store, const char *hex) {
    RK_AUTO(rk_buf) path = {0};
    add_path(hex, &path);
    RK_TRY(rk_buf_status(&path));
    rk_err *err = rk_tree_remove(store->directory, rk_buf_text(&path));
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "there is none");
    return NULL;
}
