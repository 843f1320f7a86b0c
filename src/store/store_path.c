#include "store/store_path_internal.h"

#include <unistd.h>

#include "base/tree.h"

const char *rk_store_kind_folder(rk_entry_kind kind) {
    return kind == RK_ENTRY_PROGRAM ? "programs" : "objects";
}

const char *rk_store_kind_suffix(rk_entry_kind kind) {
    return kind == RK_ENTRY_PROGRAM ? "rkp" : "rkx";
}

void rk_store_add_folder(const rk_store *store, rk_entry_kind kind, const char *hex, rk_buf *out) {
    rk_buf_add_format(out, "%s/%s/%.2s", store->directory, rk_store_kind_folder(kind), hex);
}

void rk_store_add_path(const rk_store *store, rk_entry_kind kind, const char *hex, rk_buf *out) {
    rk_store_add_folder(store, kind, hex, out);
    rk_buf_add_format(out, "/%s.%s", hex, rk_store_kind_suffix(kind));
}

const char *rk_store_below(const rk_store *store, const rk_buf *path) {
    return rk_buf_text(path) + strlen(store->directory) + 1;
}

bool rk_store_name_is_entry(rk_entry_kind kind, const char *folder, const char *name) {
    rk_digest digest;
    return strlen(name) > RK_DIGEST_HEX_CHARS &&
           rk_digest_from_hex(rk_span_of(name, RK_DIGEST_HEX_CHARS), &digest) &&
           strncmp(name, folder, 2) == 0 && name[RK_DIGEST_HEX_CHARS] == '.' &&
           strcmp(name + RK_DIGEST_HEX_CHARS + 1, rk_store_kind_suffix(kind)) == 0;
}

typedef struct search {
    rk_entry_kind kind;
    const char *prefix;
    char *hex; // the key found so far; "": none
    bool ambiguous;
} search;

static rk_err *match(void *context, const char *name) {
    search *found = context;
    if (!rk_store_name_is_entry(found->kind, found->prefix, name) ||
        strncmp(name, found->prefix, strlen(found->prefix)) != 0)
        return NULL;
    if (found->hex[0] && strncmp(found->hex, name, RK_DIGEST_HEX_CHARS) != 0)
        found->ambiguous = true;
    memcpy(found->hex, name, RK_DIGEST_HEX_CHARS);
    found->hex[RK_DIGEST_HEX_CHARS] = '\0';
    return NULL;
}

static rk_err *check_prefix(const char *prefix) {
    size_t len = strlen(prefix);
    if (len < RK_STORE_MIN_PREFIX_DIGITS || len > RK_DIGEST_HEX_CHARS ||
        strspn(prefix, "0123456789abcdef") != len)
        return rk_error(
            RK_INVALID_ARGUMENT,
            "\"%s\" is not a key: give the first %d to %d lower-case hex digits of a key", prefix,
            (int)RK_STORE_MIN_PREFIX_DIGITS, (int)RK_DIGEST_HEX_CHARS);
    return NULL;
}

rk_err *rk_store_resolve(const rk_store *store, unsigned kinds, const char *hex_prefix,
                         char out_hex[RK_DIGEST_HEX_CHARS + 1]) {
    enum { MAX_FILES_IN_A_FOLDER = 1 << 20 };
    RK_TRY(check_prefix(hex_prefix));
    search found = {.prefix = hex_prefix, .hex = out_hex};
    out_hex[0] = '\0';
    for (unsigned kind = RK_ENTRY_EXECUTABLE; kind <= RK_ENTRY_PROGRAM; kind++) {
        if (!(kinds & 1u << kind))
            continue;
        found.kind = (rk_entry_kind)kind;
        RK_AUTO(rk_buf) folder = {0};
        rk_store_add_folder(store, found.kind, hex_prefix, &folder);
        RK_TRY(rk_buf_status(&folder));
        rk_err *err = rk_tree_list(store->directory, rk_store_below(store, &folder),
                                   MAX_FILES_IN_A_FOLDER, match, &found);
        if (err && rk_err_code(err) != RK_NOT_FOUND)
            return err;
        rk_err_drop(err, "no folder: no key that begins so");
    }
    if (found.ambiguous)
        return rk_error(RK_INVALID_ARGUMENT, "several keys begin with %s: give more digits",
                        hex_prefix);
    if (!out_hex[0])
        return rk_error(RK_NOT_FOUND, "no entry's key begins with %s in %s", hex_prefix,
                        store->directory);
    return NULL;
}

bool rk_store_set_aside(rk_store *store, rk_entry_kind kind, const char *hex) {
    static const char folder[] = "quarantine";
    RK_AUTO(rk_buf) from = {0};
    RK_AUTO(rk_buf) to = {0};
    rk_store_add_path(store, kind, hex, &from);
    rk_buf_add_format(&to, "%s/%s.%s-%llu-%ld", folder, hex, rk_store_kind_suffix(kind),
                      (unsigned long long)rk_realtime_ns(), (long)getpid());
    if (from.failed || to.failed || !rk_store_accepts(store))
        return false;
    const char *source = rk_store_below(store, &from);
    rk_err *err = rk_tree_rename(store->directory, source, rk_buf_text(&to));
    struct stat info;
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "either of them is missing");
        err = rk_tree_stat(store->directory, source, &info);
        if (!err)
            err = rk_tree_make_dirs(store->directory, folder);
        if (!err)
            err = rk_tree_rename(store->directory, source, rk_buf_text(&to));
    }
    bool moved = !err;
    rk_store_note_refusal(store, err);
    rk_err_drop(err, "the caller counts the entry as missing anyway");
    return moved;
}
