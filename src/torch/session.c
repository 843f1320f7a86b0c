#include "torch/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "pack/restore.h"
#include "torch/groups.h"
#include "torch/headers.h"

enum { BLOCK_BYTES = 4096, KEPT_FREE = 4, FREE_SHARE = 16 };

void rk_torch_session_cleanup(rk_torch_session *session) {
    rk_pack_job_cleanup(&session->packs);
    rk_free(session->own);
    rk_pack_files_cleanup(&session->before);
    rk_torch_directory_cleanup(&session->directory);
    *session = (rk_torch_session){0};
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
    for (size_t i = 0; i < s->packs.known_count; i++) {
        const rk_pack_known *one = &s->packs.known[i];
        rk_pack_source *source = &s->packs.sources[one->source];
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
    RK_TRY(rk_pack_read(&s->packs.place, &s->packs.sources[source].pack, &view));
    for (size_t i = 0; i < view.count; i++) {
        char name[RK_PACK_NAME_MAX_BYTES + 1];
        struct stat info;
        rk_pack_item_name(&view.items[i], name);
        const rk_pack_known *known = rk_pack_job_find(&s->packs, name);
        if (known && known->source == source && rk_sys()->fstatat_fn(to->fd, name, &info) != 0)
            view.items[used++] = view.items[i];
    }
    return rk_pack_restore(to->fd, to->path, view.items, used, &to->sums);
}

static void add_sums(rk_torch_session *s, const target targets[2]) {
    uint64_t missing = 0;
    for (size_t i = 0; i < s->packs.source_count; i++)
        missing += s->packs.sources[i].missing;
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
    for (size_t i = 0; i < s->packs.source_count; i++) {
        target *to = target_of(targets, s->packs.sources[i].pack.module);
        if (s->packs.sources[i].missing && !to->sums.is_full)
            note_trouble(restore_pack(s, i, to), trouble);
    }
    add_sums(s, targets);
}

static bool has_headers(const rk_torch_session *s) {
    for (size_t i = 0; i < s->packs.source_count; i++)
        if (s->packs.sources[i].pack.module == RK_PACK_HEADERS)
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
    rk_pack_place_identify(&s->packs.place, &identity);
    rk_hasher_init(&hasher);
    rk_hasher_add_field(&hasher, rk_digest_span(&identity));
    rk_hasher_add_field(&hasher, rk_span_text(options->store));
    rk_hasher_finish(&hasher, &identity);
    const rk_torch_directory_wish wish = {
        .base = options->base,
        .job = s->packs.place.job,
        .identity = &identity,
        .makes = options->keeps || (options->restores && s->packs.source_count > 0),
        .is_fresh = !options->restores,
    };
    return rk_torch_directory_open(&wish, &s->directory);
}

// Removes unfinished files first: a pack may have them.
static rk_err *fill(rk_torch_session *s, rk_err **trouble) {
    RK_AUTO(rk_pack_files) files = {0};
    note_trouble(rk_pack_files_list(s->directory.fd, RK_FAMILY_TORCH, &files), trouble);
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
    if (s->packs.place.store) {
        rk_err *err =
            options->restores ? rk_pack_job_learn(&s->packs) : rk_pack_job_list_outdated(&s->packs);
        s->counts.damaged = s->packs.damaged;
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
    rk_err *err = rk_pack_files_list(s->directory.fd, RK_FAMILY_TORCH, &s->before);
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
