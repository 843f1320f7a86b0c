#include "pack/keep.h"

#include "base/alloc.h"
#include "base/sys.h"

enum { PACKS_MAX = 8 }; // of one module; with more, the smallest are taken over
// A pack begins with less than this, so that little memory is needed.
#define BATCH_MAX_BYTES ((uint64_t)64 << 20)
// The largest file. The table of its pack needs space too.
#define CONTENTS_MAX_BYTES (RK_PACK_MAX_BYTES - ((size_t)8 << 20))

// Contents that are to be stored in one pack.
typedef struct batch {
    rk_pack_job *job;
    rk_pack_module module;
    int fd;              // of the directory of the files; borrowed
    rk_pack_item *items; // owned
    size_t count, capacity;
    uint8_t **contents; // owned; those that were read from the directory
    size_t content_count;
    uint64_t bytes;     // of the contents
    uint64_t new_bytes; // of those, of new files
    size_t new_count;
} batch;

static void batch_cleanup(batch *self) {
    for (size_t i = 0; i < self->content_count; i++)
        rk_free(self->contents[i]);
    rk_free(self->contents);
    rk_free(self->items);
    self->items = NULL;
    self->contents = NULL;
    self->count = self->capacity = self->content_count = self->new_count = 0;
    self->bytes = self->new_bytes = 0;
}

static rk_err *add_item(batch *self, const rk_pack_item *item) {
    if (self->count == self->capacity) {
        size_t capacity = self->capacity ? 2 * self->capacity : 64;
        rk_pack_item *items = rk_realloc(self->items, capacity * sizeof *items);
        if (!items)
            return rk_err_no_memory();
        self->items = items;
        uint8_t **contents = rk_realloc(self->contents, capacity * sizeof *contents);
        if (!contents)
            return rk_err_no_memory();
        self->contents = contents;
        self->capacity = capacity;
    }
    self->items[self->count++] = *item;
    self->bytes += item->content.len;
    return NULL;
}

// True if the pack has this version of the file.
static bool is_known(const rk_pack_job *s, const rk_pack_file *file, const rk_digest *digest) {
    rk_pack_known *known = rk_pack_job_find(s, file->name);
    if (!known || known->bytes != file->bytes)
        return false;
    return digest ? rk_digest_equal(digest, &known->digest)
                  : known->modified_ns == file->modified_ns;
}

// Adds a file of the directory if no pack has it.
static rk_err *add_file(batch *self, const rk_pack_file *file) {
    rk_pack_job *s = self->job;
    RK_AUTO(rk_buf) content = RK_BUF_INIT(CONTENTS_MAX_BYTES + 1);
    bool same = false;
    rk_pack_item item = {.name = rk_span_text(file->name),
                         .modified_ns = file->modified_ns,
                         .is_executable = file->is_executable};
    RK_TRY(rk_pack_file_read(self->fd, file, &content, &same));
    if (!same || !rk_pack_content_is_whole(file->name, rk_buf_span(&content)))
        return NULL;
    rk_digest_of(rk_buf_span(&content), &item.digest);
    if (is_known(s, file, &item.digest))
        return NULL;
    item.content = rk_buf_span(&content);
    RK_TRY(add_item(self, &item));
    size_t len;
    self->contents[self->content_count++] = rk_buf_detach(&content, &len);
    self->new_bytes += item.content.len;
    self->new_count++;
    rk_pack_known *known = rk_pack_job_find(s, file->name);
    if (known) {
        known->is_replaced = true;
        s->sources[known->source].superseded++;
    }
    return NULL;
}

// Adds the files of an older pack, except those of which there is a newer version.
static rk_err *take_over(batch *self, size_t index, rk_pack_view *view) {
    rk_pack_job *s = self->job;
    rk_pack_source *source = &s->sources[index];
    RK_TRY(rk_pack_read(&s->place, &source->pack, view));
    if (!view->found)
        return NULL;
    for (size_t i = 0; i < view->count; i++) {
        char name[RK_PACK_NAME_MAX_BYTES + 1];
        const rk_pack_item *item = &view->items[i];
        rk_pack_item_name(item, name);
        const rk_pack_known *known = rk_pack_job_find(s, name);
        if (known && known->source == index && !known->is_replaced)
            RK_TRY(add_item(self, item));
    }
    source->is_taken_over = true;
    return NULL;
}

// The smallest pack of the module that is worth taking over; SIZE_MAX: none. A pack is rewritten
// only with at least half as many new bytes, so that each byte is rewritten a few times at most.
static size_t find_smaller(const batch *self, size_t packs) {
    const rk_pack_job *s = self->job;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < s->source_count; i++) {
        const rk_pack_source *one = &s->sources[i];
        if (one->pack.module == self->module && !one->is_taken_over && !one->is_pinned &&
            !one->is_outdated && (best == SIZE_MAX || one->bytes < s->sources[best].bytes))
            best = i;
    }
    if (best == SIZE_MAX || self->bytes + s->sources[best].bytes > BATCH_MAX_BYTES)
        return SIZE_MAX;
    const rk_pack_source *found = &s->sources[best];
    bool is_small = found->bytes <= 2 * self->bytes,
         is_stale = 2 * found->superseded > found->count;
    return is_small || is_stale || packs > PACKS_MAX ? best : SIZE_MAX;
}

static size_t count_packs(const rk_pack_job *s, rk_pack_module module) {
    size_t count = 0;
    for (size_t i = 0; i < s->source_count; i++)
        count += s->sources[i].pack.module == module && !s->sources[i].is_taken_over;
    return count;
}

// The older packs that a batch takes over.
typedef struct views {
    rk_pack_view *items; // owned
    size_t count;
} views;

static void views_cleanup(views *self) {
    for (size_t i = 0; i < self->count; i++)
        rk_pack_view_cleanup(&self->items[i]);
    rk_free(self->items);
}

static rk_err *take_over_smaller(batch *self, views *out_views) {
    rk_pack_job *s = self->job;
    size_t index;
    out_views->items = rk_calloc(s->source_count + 1, sizeof *out_views->items);
    if (!out_views->items)
        return rk_err_no_memory();
    while ((index = find_smaller(self, count_packs(s, self->module) + 1)) != SIZE_MAX) {
        RK_TRY(take_over(self, index, &out_views->items[out_views->count++]));
        if (!s->sources[index].is_taken_over)
            s->sources[index].is_taken_over = true; // it is gone
    }
    return NULL;
}

// The packs that were taken over are removed last: a start in between finds every file.
static void drop_taken_over(rk_pack_job *s, const rk_pack *stored) {
    for (size_t i = 0; i < s->source_count; i++) {
        rk_pack_source *one = &s->sources[i];
        bool is_empty = one->count && one->superseded == one->count;
        if (one->pack.module != stored->module || one->is_dropped || one->is_pinned ||
            !(one->is_taken_over || one->is_outdated || is_empty) ||
            rk_key_equal(&one->pack.key, &stored->key))
            continue;
        rk_pack_drop(&s->place, &one->pack);
        one->is_taken_over = one->is_dropped = true;
    }
}

// `*out_stored` is false if another start has stored the same pack.
static rk_err *store_items(batch *self, bool *out_stored) {
    rk_pack_job *s = self->job;
    rk_pack pack;
    RK_TRY(rk_pack_store(&s->place, self->module, self->items, self->count, &pack, out_stored));
    RK_TRY(rk_pack_list_note(&s->place, &pack, 1));
    drop_taken_over(s, &pack);
    return NULL;
}

// Stores a batch, and begins an empty one.
static rk_err *store_batch(batch *self) {
    RK_AUTO(views) older = {0};
    rk_pack_job *counts = self->job;
    bool stored = false;
    if (self->new_count == 0)
        return NULL;
    rk_err *err = take_over_smaller(self, &older);
    if (!err)
        err = store_items(self, &stored);
    counts->not_kept += err ? self->new_count : 0;
    counts->listed += err ? 0 : self->new_count;
    counts->kept += stored && !err ? self->new_count : 0;
    counts->kept_bytes += stored && !err ? self->new_bytes : 0;
    batch_cleanup(self);
    return err;
}

rk_err *rk_pack_keep_module(rk_pack_job *job, int fd, rk_pack_module module,
                            const rk_pack_files *files, uint64_t youngest_ns) {
    RK_AUTO(batch) self = {.job = job, .module = module, .fd = fd};
    for (size_t i = 0; i < files->count; i++) {
        const rk_pack_file *file = &files->items[i];
        if (file->module != module || is_known(job, file, NULL) || file->modified_ns > youngest_ns)
            continue;
        if (job->must_stop && job->must_stop())
            return rk_error(RK_CANCELLED, "a signal asked rekindle to end");
        if (file->bytes > CONTENTS_MAX_BYTES) {
            job->not_kept++;
            continue;
        }
        if (self.bytes + file->bytes > BATCH_MAX_BYTES || self.count == RK_PACK_ITEMS_MAX / 2)
            RK_TRY(store_batch(&self));
        RK_TRY(add_file(&self, file));
    }
    return store_batch(&self);
}

bool rk_pack_keep_is_known(const rk_pack_job *job, const rk_pack_file *file) {
    return is_known(job, file, NULL);
}

rk_err *rk_pack_keep(rk_pack_job *job, int fd, const rk_pack_files *files, uint64_t youngest_ns) {
    rk_err *first = NULL;
    for (size_t i = 0; i < RK_PACK_MODULES; i++) {
        rk_err *err = rk_pack_keep_module(job, fd, (rk_pack_module)i, files, youngest_ns);
        if (first)
            rk_err_drop(err, "the first one is reported");
        else
            first = err;
    }
    return first;
}
