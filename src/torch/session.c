#include "torch/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/sys.h"
#include "base/tree.h"
#include "torch/files.h"
#include "torch/headers.h"
#include "torch/restore.h"

enum { WAIT_MS = 60000, TRIES = 3, SEED_FILES_MAX = 20000 };
#define SEED_MAX_BYTES    ((uint64_t)256 << 20)
#define RESTORE_MAX_BYTES ((uint64_t)4 << 30)

void rk_torch_session_cleanup(rk_torch_session *session) {
    for (size_t i = 0; i < session->known_count; i++)
        rk_free(session->known[i].name);
    rk_free(session->known);
    rk_free(session->sources);
    rk_free(session->own);
    rk_torch_directory_cleanup(&session->directory);
    *session = (rk_torch_session){0};
}

static int by_name(const void *a, const void *b) {
    const rk_torch_known *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    if (order)
        return order;
    return left->modified_ns > right->modified_ns ? -1 : left->modified_ns < right->modified_ns;
}

static int compare_name(const void *name, const void *known) {
    return strcmp(name, ((const rk_torch_known *)known)->name);
}

rk_torch_known *rk_torch_session_find(const rk_torch_session *session, const char *name) {
    return session->known_count ? bsearch(name, session->known, session->known_count,
                                          sizeof *session->known, compare_name)
                                : NULL;
}

static rk_err *add_known(rk_torch_session *s, const rk_torch_item *item, size_t source) {
    if (s->known_count == s->known_capacity) {
        size_t capacity = s->known_capacity ? 2 * s->known_capacity : 256;
        rk_torch_known *known = rk_realloc(s->known, capacity * sizeof *known);
        if (!known)
            return rk_err_no_memory();
        s->known = known;
        s->known_capacity = capacity;
    }
    char *name = rk_strndup((const char *)item->name.data, item->name.len);
    if (!name)
        return rk_err_no_memory();
    s->known[s->known_count++] = (rk_torch_known){
        .name = name,
        .bytes = item->content.len,
        .modified_ns = item->modified_ns,
        .digest = item->digest,
        .source = source,
    };
    return NULL;
}

// A pack that is read before the job.
typedef struct loaded {
    rk_torch_pack pack;
    rk_torch_pack_view view; // owned
} loaded;

typedef struct loaded_list {
    loaded *items; // owned
    size_t count;
} loaded_list;

static void loaded_list_cleanup(loaded_list *list) {
    for (size_t i = 0; i < list->count; i++)
        rk_torch_pack_view_cleanup(&list->items[i].view);
    rk_free(list->items);
    *list = (loaded_list){0};
}

// Reads the listed packs. `*out_gone`: one was removed, perhaps because a newer one took over its
// files.
static rk_err *read_packs(rk_torch_session *s, loaded_list *out_list, bool *out_gone) {
    RK_AUTO(rk_torch_pack_list) packs = {0};
    uint64_t bytes = 0;
    *out_gone = false;
    RK_TRY(rk_torch_packs_list(&s->place, &packs));
    out_list->items = rk_calloc(packs.count + 1, sizeof *out_list->items);
    if (!out_list->items)
        return rk_err_no_memory();
    for (size_t i = 0; i < packs.count && bytes < RESTORE_MAX_BYTES; i++) {
        loaded *one = &out_list->items[out_list->count++];
        one->pack = packs.items[i];
        RK_TRY(rk_torch_pack_read(&s->place, &one->pack, &one->view));
        *out_gone |= !one->view.found && !one->view.is_damaged;
        bytes += one->view.lookup.view.entry.payload.len;
    }
    return NULL;
}

// Reads the packs once more if another start has just replaced some of them.
static rk_err *load_packs(rk_torch_session *s, loaded_list *out_list) {
    bool gone = true;
    for (int i = 0; i < TRIES && gone; i++) {
        loaded_list_cleanup(out_list);
        RK_TRY(read_packs(s, out_list, &gone));
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

// Lists the files of a pack as known, newest version first.
static rk_err *add_source(rk_torch_session *s, const loaded *one) {
    rk_torch_source *source = &s->sources[s->source_count];
    *source = (rk_torch_source){.pack = one->pack, .count = one->view.count};
    for (size_t i = 0; i < one->view.count; i++) {
        source->bytes += one->view.items[i].content.len;
        RK_TRY(add_known(s, &one->view.items[i], s->source_count));
    }
    s->source_count++;
    return NULL;
}

// Keeps one version of each file: the newest.
static void settle_known(rk_torch_session *s) {
    size_t used = 0;
    if (s->known_count)
        qsort(s->known, s->known_count, sizeof *s->known, by_name);
    for (size_t i = 0; i < s->known_count; i++) {
        rk_torch_known *one = &s->known[i];
        if (used && strcmp(s->known[used - 1].name, one->name) == 0) {
            s->sources[one->source].superseded++;
            rk_free(one->name);
            continue;
        }
        s->known[used++] = *one;
        s->counts.restored++;
        s->counts.restored_bytes += one->bytes;
    }
    s->known_count = used;
}

// Other processes may use the folder.
static rk_err *restore_headers(const rk_torch_session *s, const rk_torch_item *items,
                               size_t count) {
    rk_autofd fd = -1;
    size_t written = 0;
    if (s->own)
        rk_torch_headers_open(s->own, true, &fd);
    return fd < 0 ? NULL : rk_torch_restore(fd, false, items, count, &written);
}

// Only the newest version of a file is restored.
static rk_err *restore_one(rk_torch_session *s, loaded *one, size_t source) {
    size_t used = 0, written = 0;
    for (size_t i = 0; i < one->view.count; i++) {
        char name[RK_TORCH_NAME_MAX_BYTES + 1];
        const rk_torch_item *item = &one->view.items[i];
        memcpy(name, item->name.data, item->name.len);
        name[item->name.len] = '\0';
        const rk_torch_known *known = rk_torch_session_find(s, name);
        if (known && known->source == source)
            one->view.items[used++] = *item;
    }
    if (one->pack.module == RK_TORCH_HEADERS)
        return restore_headers(s, one->view.items, used);
    return rk_torch_restore(s->directory.fd, s->directory.is_new, one->view.items, used, &written);
}

static rk_err *restore_packs(rk_torch_session *s, rk_err **trouble) {
    RK_AUTO(loaded_list) packs = {0};
    RK_TRY(load_packs(s, &packs));
    s->sources = rk_calloc(packs.count + 1, sizeof *s->sources);
    if (!s->sources)
        return rk_err_no_memory();
    for (size_t i = 0; i < packs.count; i++) {
        s->counts.damaged += packs.items[i].view.is_damaged;
        if (packs.items[i].view.found)
            RK_TRY(add_source(s, &packs.items[i]));
    }
    settle_known(s);
    for (size_t i = 0, source = 0; i < packs.count; i++)
        if (packs.items[i].view.found)
            note_trouble(restore_one(s, &packs.items[i], source++), trouble);
    return NULL;
}

// Copies one file of the user's own directory. A file that changes meanwhile is left out.
static rk_err *seed_file(rk_torch_session *s, int seed_fd, const rk_torch_file *file) {
    RK_AUTO(rk_buf) content = RK_BUF_INIT(SEED_MAX_BYTES + 1);
    bool same = false;
    size_t written = 0;
    RK_TRY(rk_torch_file_read(seed_fd, file, &content, &same));
    if (!same || !rk_torch_content_is_whole(file->name, rk_buf_span(&content)))
        return NULL;
    const rk_torch_item item = {
        .name = rk_span_text(file->name),
        .content = rk_buf_span(&content),
        .modified_ns = file->modified_ns,
        .is_executable = file->is_executable,
    };
    RK_TRY(rk_torch_restore(s->directory.fd, s->directory.is_new, &item, 1, &written));
    s->counts.seeded += written;
    return NULL;
}

// Opens the user's own directory. `*out_fd` stays -1 if others may write to it.
static void open_seed(const char *path, int *out_fd) {
    struct stat info;
    *out_fd = rk_fd_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (*out_fd < 0 || rk_sys()->fstat_fn(*out_fd, &info) != 0)
        return;
    rk_err *err = rk_tree_check_folder(&info, path);
    if (err) {
        rk_autofd_cleanup(out_fd);
        *out_fd = -1;
    }
    rk_err_drop(err, "the job begins with an empty directory");
}

static rk_err *seed(rk_torch_session *s, const char *path) {
    RK_AUTO(rk_torch_files) files = {0};
    rk_autofd fd = -1;
    open_seed(path, &fd);
    if (fd < 0)
        return NULL;
    RK_TRY(rk_torch_files_list(fd, &files));
    if (files.count > SEED_FILES_MAX || files.bytes > SEED_MAX_BYTES)
        return NULL;
    for (size_t i = 0; i < files.count; i++)
        RK_TRY(seed_file(s, fd, &files.items[i]));
    return NULL;
}

// The packs that a start with an empty directory replaces.
static rk_err *list_replaced(rk_torch_session *s) {
    RK_AUTO(rk_torch_pack_list) packs = {0};
    RK_TRY(rk_torch_packs_list(&s->place, &packs));
    s->sources = rk_calloc(packs.count + 1, sizeof *s->sources);
    if (!s->sources)
        return rk_err_no_memory();
    for (; s->source_count < packs.count; s->source_count++)
        s->sources[s->source_count] =
            (rk_torch_source){.pack = packs.items[s->source_count], .count = 1, .superseded = 1};
    return NULL;
}

// An unusable store is no reason to run without the directory.
static rk_err *fill(rk_torch_session *s, const rk_torch_options *options, rk_err **trouble) {
    uint64_t began_ns = rk_monotonic_ns();
    if (s->place.store) {
        rk_err *err = options->restores ? restore_packs(s, trouble) : list_replaced(s);
        if (rk_err_code(err) == RK_RESOURCE_EXHAUSTED && !rk_err_errno(err))
            return err;
        note_trouble(err, trouble);
    }
    if (options->restores && options->seed && s->source_count == 0 && s->directory.is_new)
        note_trouble(seed(s, options->seed), trouble);
    s->counts.restore_ns = rk_monotonic_ns() - began_ns;
    return NULL;
}

rk_err *rk_torch_session_begin(rk_torch_session *session, const rk_torch_options *options,
                               rk_err **out_trouble) {
    rk_digest identity;
    *out_trouble = NULL;
    session->headers_since_ns = options->headers_since_ns;
    session->own = options->seed ? rk_strdup(options->seed) : NULL;
    if (options->seed && !session->own)
        return rk_err_no_memory();
    rk_torch_place_identify(&session->place, &identity);
    rk_err *err = rk_torch_directory_open(options->base, session->place.job, &identity, WAIT_MS,
                                          &session->directory);
    if (!err)
        err = fill(session, options, out_trouble);
    if (err) {
        rk_torch_session_cleanup(session);
        rk_err_free(RK_TAKE(*out_trouble));
        return err;
    }
    rk_torch_directory_share(&session->directory);
    return NULL;
}
