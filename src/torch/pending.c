#include "torch/pending.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/sys.h"
#include "pack/keep.h"
#include "torch/headers.h"

#define SETTLE_NS (UINT64_C(5) * 1000000000)

static bool has_kernels(const rk_pack_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        const char *ending = strrchr(files->items[i].name, '.');
        if (ending && strcmp(ending, ".so") == 0)
            return true;
    }
    return false;
}

// Stores the headers that the packs lack. The compiler refuses an incomplete one.
static rk_err *keep_headers(rk_torch_session *s, const rk_pack_files *files) {
    RK_AUTO(rk_pack_files) headers = {0};
    rk_autofd fd = -1;
    if (!s->own || !has_kernels(files))
        return NULL;
    rk_torch_headers_open(s->own, false, &fd);
    if (fd < 0)
        return NULL;
    RK_TRY(rk_torch_headers_list(fd, s->headers_since_ns, &headers));
    for (size_t i = 0; i < headers.count; i++) // a known name is a known content: it is a digest
        if (rk_pack_job_find(&s->packs, headers.items[i].name))
            headers.items[i].module = RK_PACK_MODULES;
    return rk_pack_keep_module(&s->packs, fd, RK_PACK_HEADERS, &headers,
                               rk_realtime_ns() - SETTLE_NS);
}

// Records that the job uses its packs, so that its list of packs is not removed as old.
static rk_err *note_use(rk_torch_session *s) {
    return s->packs.source_count && s->counts.kept == 0
               ? rk_pack_list_note(&s->packs.place, NULL, 0)
               : NULL;
}

static void note_error(rk_err *err, rk_err **first) {
    if (*first)
        rk_err_drop(err, "the first one is reported");
    else
        *first = err;
}

static rk_err *keep_files(rk_torch_session *s, const rk_pack_files *files, uint64_t youngest_ns) {
    rk_err *first = NULL;
    note_error(rk_pack_keep(&s->packs, s->directory.fd, files, youngest_ns), &first);
    note_error(keep_headers(s, files), &first);
    s->counts.kept = s->packs.kept;
    s->counts.kept_bytes = s->packs.kept_bytes;
    s->counts.not_kept = s->packs.not_kept;
    return first;
}

rk_err *rk_torch_pending_keep(rk_torch_session *session, bool is_settled, bool replaces) {
    RK_AUTO(rk_pack_files) files = {0};
    uint64_t began_ns = rk_monotonic_ns(), now_ns = rk_realtime_ns();
    if (!replaces)
        rk_pack_job_forget_outdated(&session->packs);
    rk_err *err = rk_pack_job_learn(&session->packs);
    session->counts.damaged = session->packs.damaged; // also of those before an error
    RK_TRY(err);
    RK_TRY(rk_pack_files_list(session->directory.fd, RK_FAMILY_TORCH, &files));
    err = keep_files(session, &files, is_settled ? now_ns : now_ns - SETTLE_NS);
    rk_err_drop(note_use(session), "the next start records it");
    session->counts.keep_ns = rk_monotonic_ns() - began_ns;
    return err;
}

// True if the directory had this version of the file before the job. Times alone do not tell: a
// start may begin within the tick of a clock in which the last job wrote a file.
static bool was_before(const rk_torch_session *s, const rk_pack_file *file) {
    const rk_pack_file *found = s->before.count
                                    ? bsearch(file, s->before.items, s->before.count,
                                              sizeof *s->before.items, rk_pack_file_compare)
                                    : NULL;
    return found && found->bytes == file->bytes && found->modified_ns == file->modified_ns;
}

// Counts the files that appeared or changed since the start.
static rk_err *count_made(rk_torch_session *s) {
    RK_AUTO(rk_pack_files) files = {0};
    RK_TRY(rk_pack_files_list(s->directory.fd, RK_FAMILY_TORCH, &files));
    for (size_t i = 0; i < files.count; i++)
        s->counts.made +=
            !was_before(s, &files.items[i]) && !rk_pack_keep_is_known(&s->packs, &files.items[i]);
    return NULL;
}

rk_err *rk_torch_session_end(rk_torch_session *session, bool keeps, rk_torch_end how) {
    bool is_alone = rk_torch_directory_is_alone(&session->directory);
    RK_TRY(count_made(session));
    if (!keeps)
        return NULL;
    bool replaces = !session->restores && how == RK_TORCH_SUCCEEDED;
    return rk_torch_pending_keep(session, is_alone && how != RK_TORCH_KILLED, replaces);
}
