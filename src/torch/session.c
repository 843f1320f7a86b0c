#include "torch/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "pack/restore.h"
#include "store/pins.h"
#include "torch/groups.h"
#include "torch/headers.h"

enum { TRIES = 3, BLOCK_BYTES = 4096, KEPT_FREE = 4, FREE_SHARE = 16 };
#define KNOWN_MAX_BYTES ((uint64_t)4 << 30)

void rk_torch_session_cleanup(rk_torch_session *session) {
    for (size_t i = 0; i < session->known_count; i++)
        rk_free(session->known[i].name);
    rk_free(session->known);
    rk_free(session->sources);
    rk_free(session->own);
    rk_pack_files_cleanup(&session->before);
    rk_torch_directory_cleanup(&session->directory);
    *session = (rk_torch_session){0};
}

// Of two equal times the pack that was read later counts: it may have taken over the other one.
static int by_name(const void *a, const void *b) {
    const rk_pack_known *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    if (order)
        return order;
    if (left->modified_ns != right->modified_ns)
        return left->modified_ns > right->modified_ns ? -1 : 1;
    return left->source > right->source ? -1 : left->source < right->source;
}

static int compare_name(const void *name, const void *known) {
    return strcmp(name, ((const rk_pack_known *)known)->name);
}

rk_pack_known *rk_torch_session_find(const rk_torch_session *session, const char *name) {
    return session->known_count ? bsearch(name, session->known, session->known_count,
                                          sizeof *session->known, compare_name)
                                : NULL;
}

static rk_err *add_known(rk_torch_session *s, const rk_pack_item *item, size_t source) {
    if (s->known_count == s->known_capacity) {
        size_t capacity = s->known_capacity ? 2 * s->known_capacity : 256;
        rk_pack_known *known = rk_realloc(s->known, capacity * sizeof *known);
        if (!known)
            return rk_err_no_memory();
        s->known = known;
        s->known_capacity = capacity;
    }
    char *name = rk_strndup((const char *)item->name.data, item->name.len);
    if (!name)
        return rk_err_no_memory();
    s->known[s->known_count++] = (rk_pack_known){
        .name = name,
        .bytes = item->content.len,
        .modified_ns = item->modified_ns,
        .digest = item->digest,
        .source = source,
    };
    return NULL;
}

// Keeps one version of each file: the newest.
static void settle_known(rk_torch_session *s) {
    size_t used = 0;
    if (s->known_count)
        qsort(s->known, s->known_count, sizeof *s->known, by_name);
    for (size_t i = 0; i < s->known_count; i++) {
        rk_pack_known *one = &s->known[i];
        if (used && strcmp(s->known[used - 1].name, one->name) == 0) {
            s->sources[one->source].superseded++;
            rk_free(one->name);
            continue;
        }
        s->known[used++] = *one;
    }
    s->known_count = used;
}

static bool is_source(const rk_torch_session *s, const rk_key *key) {
    for (size_t i = 0; i < s->source_count; i++)
        if (rk_key_equal(&s->sources[i].pack.key, key))
            return true;
    return false;
}

static rk_err *add_source(rk_torch_session *s, const rk_pack *pack, const rk_pins *pins) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_pack_source *sources = rk_realloc(s->sources, (s->source_count + 1) * sizeof *s->sources);
    if (!sources)
        return rk_err_no_memory();
    s->sources = sources;
    rk_digest_to_hex(&pack->key.digest, hex);
    sources[s->source_count++] =
        (rk_pack_source){.pack = *pack, .is_pinned = rk_pins_has(pins, hex)};
    return NULL;
}

// Reads one pack. `*out_gone`: it was removed, perhaps because a newer one took over its files.
static rk_err *learn_pack(rk_torch_session *s, const rk_pack *pack, const rk_pins *pins,
                          bool *out_gone) {
    RK_AUTO(rk_pack_view) view = {0};
    RK_TRY(rk_pack_read(&s->place, pack, &view));
    s->counts.damaged += view.is_damaged;
    *out_gone |= !view.found && !view.is_damaged;
    if (!view.found)
        return NULL;
    RK_TRY(add_source(s, pack, pins));
    rk_pack_source *source = &s->sources[s->source_count - 1];
    source->count = view.count;
    for (size_t i = 0; i < view.count; i++) {
        source->bytes += view.items[i].content.len;
        RK_TRY(add_known(s, &view.items[i], s->source_count - 1));
    }
    s->known_bytes += source->bytes;
    return NULL;
}

static rk_err *learn_listed(rk_torch_session *s, const rk_pins *pins, bool *out_gone) {
    RK_AUTO(rk_pack_list) packs = {0};
    *out_gone = false;
    RK_TRY(rk_pack_list_read(&s->place, &packs));
    for (size_t i = 0; i < packs.count && s->known_bytes < KNOWN_MAX_BYTES; i++)
        if (!is_source(s, &packs.items[i].key))
            RK_TRY(learn_pack(s, &packs.items[i], pins, out_gone));
    return NULL;
}

rk_err *rk_torch_session_learn(rk_torch_session *session) {
    __attribute__((cleanup(rk_pins_cleanup))) rk_pins pins = {0};
    RK_TRY(rk_pins_load(session->place.store, &pins));
    bool gone = true; // once more if another start has just replaced packs
    rk_err *err = NULL;
    for (int i = 0; i < TRIES && gone && !err; i++)
        err = learn_listed(session, &pins, &gone);
    settle_known(session);
    return err;
}

// Lists the packs that a start of mode refresh replaces.
static rk_err *list_outdated(rk_torch_session *s) {
    __attribute__((cleanup(rk_pins_cleanup))) rk_pins pins = {0};
    RK_AUTO(rk_pack_list) packs = {0};
    RK_TRY(rk_pins_load(s->place.store, &pins));
    RK_TRY(rk_pack_list_read(&s->place, &packs));
    for (size_t i = 0; i < packs.count; i++) {
        RK_TRY(add_source(s, &packs.items[i], &pins));
        s->sources[s->source_count - 1].is_outdated = true;
    }
    return NULL;
}

// Keeps the first error, and drops later ones.
static void note_trouble(rk_err *err, rk_err **trouble) {
    if (*trouble)
        rk_err_drop(err, "the first one is reported");
    else
        *trouble = err;
}

// A folder that files are restored into.
typedef struct target {
    int fd; // -1: none
    const char *path;
    const char *variable; // that moves it
    uint64_t missing_bytes;
    rk_pack_restored sums;
} target;

static target *target_of(target targets[2], rk_pack_module module) {
    return &targets[module == RK_PACK_HEADERS];
}

// Finds what the directory lacks.
static void look(rk_torch_session *s, target targets[2]) {
    for (size_t i = 0; i < s->known_count; i++) {
        const rk_pack_known *one = &s->known[i];
        rk_pack_source *source = &s->sources[one->source];
        target *to = target_of(targets, source->pack.module);
        struct stat info;
        if (to->fd < 0 || rk_sys()->fstatat_fn(to->fd, one->name, &info) == 0) {
            s->counts.present += to->fd >= 0;
            continue;
        }
        source->missing++;
        to->missing_bytes += one->bytes + BLOCK_BYTES; // the last block, half empty
    }
}

// A quarter of the file system stays free. A disk that is fuller than that already takes a small
// restore: a sixteenth of what is free.
static rk_err *check_space(target *to) {
    struct statvfs info;
    if (to->missing_bytes == 0 || rk_sys()->statvfs_fn(to->path, &info) != 0)
        return NULL;
    uint64_t unit = info.f_frsize ? info.f_frsize : info.f_bsize;
    uint64_t all = info.f_blocks * unit, available = info.f_bavail * unit;
    uint64_t reserve = all / KEPT_FREE;
    if (all == 0 || to->missing_bytes <= available / FREE_SHARE ||
        (available >= reserve && to->missing_bytes <= available - reserve))
        return NULL;
    to->sums.is_full = true;
    return rk_error(RK_RESOURCE_EXHAUSTED,
                    "%llu MB are to be restored into %s, whose file system has %llu MB free: free "
                    "space there, or set %s to a folder of another file system",
                    (unsigned long long)(to->missing_bytes / 1000000 + 1), to->path,
                    (unsigned long long)(available / 1000000), to->variable);
}

// Restores the files of one pack that are missing, each in its newest version.
static rk_err *restore_pack(rk_torch_session *s, size_t source, target *to) {
    RK_AUTO(rk_pack_view) view = {0};
    size_t used = 0;
    RK_TRY(rk_pack_read(&s->place, &s->sources[source].pack, &view));
    for (size_t i = 0; i < view.count; i++) {
        char name[RK_PACK_NAME_MAX_BYTES + 1];
        struct stat info;
        rk_pack_item_name(&view.items[i], name);
        const rk_pack_known *known = rk_torch_session_find(s, name);
        if (known && known->source == source && rk_sys()->fstatat_fn(to->fd, name, &info) != 0)
            view.items[used++] = view.items[i];
    }
    return rk_pack_restore(to->fd, to->path, view.items, used, &to->sums);
}

static void add_sums(rk_torch_session *s, const target targets[2]) {
    uint64_t missing = 0;
    for (size_t i = 0; i < s->source_count; i++)
        missing += s->sources[i].missing;
    for (int i = 0; i < 2; i++) {
        s->counts.restored += targets[i].sums.written;
        s->counts.restored_bytes += targets[i].sums.bytes;
    }
    s->counts.not_restored = missing > s->counts.restored ? missing - s->counts.restored : 0;
}

static void restore_packs(rk_torch_session *s, target targets[2], rk_err **trouble) {
    look(s, targets);
    for (int i = 0; i < 2; i++)
        note_trouble(check_space(&targets[i]), trouble);
    for (size_t i = 0; i < s->source_count; i++) {
        target *to = target_of(targets, s->sources[i].pack.module);
        if (s->sources[i].missing && !to->sums.is_full)
            note_trouble(restore_pack(s, i, to), trouble);
    }
    add_sums(s, targets);
}

static bool has_headers(const rk_torch_session *s) {
    for (size_t i = 0; i < s->source_count; i++)
        if (s->sources[i].pack.module == RK_PACK_HEADERS)
            return true;
    return false;
}

// Headers lie in torch's own directory.
static rk_err *restore(rk_torch_session *s, rk_err **trouble) {
    RK_AUTO(rk_buf) path = {0};
    rk_autofd fd = -1;
    if (s->own && has_headers(s)) {
        rk_torch_headers_open(s->own, true, &fd);
        rk_buf_add_format(&path, "%s/precompiled_headers", s->own);
        RK_TRY(rk_buf_status(&path));
    }
    target targets[2] = {
        {.fd = s->directory.fd, .path = s->directory.path, .variable = "XDG_CACHE_HOME"},
        {.fd = fd, .path = rk_buf_text(&path), .variable = "TMPDIR"}};
    restore_packs(s, targets, trouble);
    return NULL;
}

static rk_err *open_directory(rk_torch_session *s, const rk_torch_options *options) {
    rk_hasher hasher;
    rk_digest identity;
    rk_pack_place_identify(&s->place, &identity);
    rk_hasher_init(&hasher);
    rk_hasher_add_field(&hasher, rk_digest_span(&identity));
    rk_hasher_add_field(&hasher, rk_span_text(options->store));
    rk_hasher_finish(&hasher, &identity);
    const rk_torch_directory_wish wish = {
        .base = options->base,
        .job = s->place.job,
        .identity = &identity,
        .makes = options->keeps || (options->restores && s->source_count > 0),
        .is_fresh = !options->restores,
    };
    return rk_torch_directory_open(&wish, &s->directory);
}

// Removes unfinished files first: a pack may have them.
static rk_err *fill(rk_torch_session *s, rk_err **trouble) {
    RK_AUTO(rk_pack_files) files = {0};
    note_trouble(rk_pack_files_list(s->directory.fd, &files), trouble);
    rk_torch_directory_mend(&s->directory, &files);
    return restore(s, trouble);
}

static rk_err *note_name(void *context, const char *name) {
    *(bool *)context = true;
    (void)name;
    return NULL;
}

// A directory without files helps only if what is new is kept.
static rk_err *leave_if_useless(rk_torch_session *s, const rk_torch_options *options) {
    bool has_any = false;
    if (options->keeps || !s->directory.path)
        return NULL;
    RK_TRY(rk_fs_list(s->directory.path, 1, note_name, &has_any));
    if (!has_any)
        rk_torch_directory_cleanup(&s->directory);
    return NULL;
}

// An unusable store is no reason to run without the directory.
static rk_err *begin(rk_torch_session *s, const rk_torch_options *options, rk_err **trouble) {
    uint64_t began_ns = rk_monotonic_ns();
    if (s->place.store) {
        rk_err *err = options->restores ? rk_torch_session_learn(s) : list_outdated(s);
        if (rk_err_code(err) == RK_RESOURCE_EXHAUSTED && !rk_err_errno(err))
            return err;
        note_trouble(err, trouble);
    }
    if (!options->restores && !options->keeps)
        return NULL; // a new directory would stay empty
    RK_TRY(open_directory(s, options));
    if (s->directory.path && options->restores)
        RK_TRY(fill(s, trouble));
    s->counts.restore_ns = rk_monotonic_ns() - began_ns;
    RK_TRY(leave_if_useless(s, options));
    if (!s->directory.path)
        return NULL;
    rk_err *err = rk_pack_files_list(s->directory.fd, &s->before);
    if (err)
        rk_pack_files_cleanup(&s->before); // then all files that no pack has count as made
    note_trouble(err, trouble);
    rk_torch_groups_mend(s->directory.fd, &s->before);
    return rk_torch_directory_check(&s->directory);
}

rk_err *rk_torch_session_begin(rk_torch_session *session, const rk_torch_options *options,
                               rk_err **out_trouble) {
    *out_trouble = NULL;
    session->headers_since_ns = options->headers_since_ns;
    session->restores = options->restores;
    session->own = options->own ? rk_strdup(options->own) : NULL;
    if (options->own && !session->own)
        return rk_err_no_memory();
    rk_err *err = begin(session, options, out_trouble);
    if (!err)
        return NULL;
    rk_torch_session_cleanup(session);
    rk_err_free(RK_TAKE(*out_trouble));
    return err;
}
