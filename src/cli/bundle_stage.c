#include "cli/bundle_stage.h"

#include "base/parallel.h"
#include "cli/fail.h"
#include "store/store_file.h"

// So many files and bytes may wait for their sync: the disk works while the next ones are checked.
enum { OPEN_FILES_MAX = 32, OPEN_MAX_BYTES = 256 << 20, MEGABYTE = 1000000 };

void rk_bundle_stage_cleanup(rk_bundle_stage *stage) {
    for (size_t i = 0; stage->files && i < stage->plan->count; i++)
        rk_staged_drop(stage->store, &stage->files[i]);
    rk_free(stage->files);
    rk_free(stage->open);
    *stage = (rk_bundle_stage){0};
}

static bool is_entry(const rk_bundle_planned *one) {
    return one->part.kind != RK_PART_MANIFEST;
}

// One item that is read.
typedef struct filling {
    rk_bundle_stage *stage;
    rk_staged *file; // NULL: only check
} filling;

static rk_err *take_part(void *context, rk_span part) {
    filling *self = context;
    rk_bundle_stage *stage = self->stage;
    (void)pthread_mutex_lock(&stage->mutex);
    stage->done_bytes += part.len;
    rk_progress_step(&stage->progress, stage->done_bytes / MEGABYTE, stage->all_bytes / MEGABYTE);
    (void)pthread_mutex_unlock(&stage->mutex);
    return self->file ? rk_staged_add(stage->store, self->file, part) : NULL;
}

// Returns the oldest file that must be synced now, or NULL.
static rk_staged *take_oldest(rk_bundle_stage *stage, size_t files_max, uint64_t max_bytes) {
    rk_staged *file = NULL;
    (void)pthread_mutex_lock(&stage->mutex);
    if (stage->newest - stage->oldest > files_max ||
        (stage->open_bytes > max_bytes && stage->oldest < stage->newest)) {
        file = stage->open[stage->oldest++];
        stage->open_bytes -= file->bytes;
    }
    (void)pthread_mutex_unlock(&stage->mutex);
    return file;
}

// Syncs one after the other: the first sync of a batch makes the file system write what the others
// need too.
static rk_err *sync_files(rk_bundle_stage *stage, size_t files_max, uint64_t max_bytes) {
    rk_staged *file;
    while ((file = take_oldest(stage, files_max, max_bytes)) != NULL)
        RK_TRY(rk_staged_sync(stage->store, file));
    return NULL;
}

static void note_written(rk_bundle_stage *stage, rk_staged *file) {
    rk_staged_write_behind(file);
    (void)pthread_mutex_lock(&stage->mutex);
    stage->open[stage->newest++] = file;
    stage->open_bytes += file->bytes;
    (void)pthread_mutex_unlock(&stage->mutex);
}

static bool begin_item(rk_bundle_stage *stage, const rk_bundle_planned *one) {
    (void)pthread_mutex_lock(&stage->mutex);
    bool is_large =
        rk_parallel_is_large(stage->threads, one->bytes, stage->all_bytes - stage->begun_bytes);
    stage->begun_bytes += one->bytes;
    (void)pthread_mutex_unlock(&stage->mutex);
    return is_large;
}

static rk_err *fill_one(void *context, size_t index) {
    rk_bundle_stage *stage = context;
    const rk_bundle_planned *one = &stage->plan->items[index];
    filling self = {.stage = stage};
    if (!is_entry(one))
        return NULL;
    bool is_large = begin_item(stage, one);
    if (stage->store && one->fate == RK_FATE_IMPORT) {
        self.file = &stage->files[index];
        RK_TRY(rk_staged_create(stage->store, self.file));
    }
    RK_TRY(rk_bundle_part_check_entry(stage->plan->bundle, one->module, one->item, &one->part,
                                      &one->start, is_large, take_part, &self));
    if (!self.file)
        return NULL;
    note_written(stage, self.file);
    return sync_files(stage, OPEN_FILES_MAX, OPEN_MAX_BYTES);
}

static rk_err *fill_all(rk_bundle_stage *stage) {
    const rk_parallel_work work = {.context = stage, .count = stage->plan->count, .run = fill_one};
    RK_TRY(rk_parallel_run(&work, stage->threads));
    return sync_files(stage, 0, 0);
}

rk_err *rk_bundle_stage_fill(rk_bundle_stage *stage) {
    size_t count = stage->plan->count;
    stage->files = rk_need(rk_calloc(count + 1, sizeof *stage->files));
    stage->open = rk_need(rk_calloc(count + 1, sizeof *stage->open));
    stage->threads = rk_parallel_threads();
    for (size_t i = 0; i < count; i++) {
        stage->files[i].fd = -1;
        stage->all_bytes += is_entry(&stage->plan->items[i]) ? stage->plan->items[i].bytes : 0;
    }
    if (stage->store)
        RK_TRY(rk_stage_begin(stage->store));
    (void)pthread_mutex_init(&stage->mutex, NULL);
    stage->progress =
        rk_progress_start(stage->store ? "checking and writing (MB)" : "checking (MB)");
    rk_err *err = fill_all(stage);
    rk_progress_end(&stage->progress);
    (void)pthread_mutex_destroy(&stage->mutex);
    return err;
}

// Publishes one entry. Its head is read again from the bundle; that it is the same is checked.
static rk_err *publish_one(rk_bundle_stage *stage, size_t index, rk_bundle_planned *one,
                           rk_stage_folders *folders) {
    __attribute__((cleanup(rk_bundle_entry_cleanup))) rk_bundle_entry entry = {0};
    rk_digest digest;
    bool published = false, is_present = false;
    RK_TRY(rk_bundle_part_peek_entry(stage->plan->bundle, one->item, &one->part, &entry));
    rk_digest_of(rk_buf_span(&entry.start), &digest);
    if (!rk_digest_equal(&digest, &one->start))
        return rk_error(RK_ABORTED, "the bundle changed while it was imported");
    if (one->is_replaced) // a job may have stored a good one since
        RK_TRY(rk_bundle_plan_is_present(stage->store, one, &is_present));
    if (!is_present)
        RK_TRY(rk_staged_publish(stage->store, &stage->files[index], &entry.view.entry,
                                 one->is_replaced, &published));
    if (published)
        rk_stage_note_folder(folders, &entry.view.entry);
    else
        one->fate = RK_FATE_PRESENT;
    return NULL;
}

rk_err *rk_bundle_stage_publish(rk_bundle_stage *stage, rk_bundle_planned *items) {
    rk_stage_folders folders = {0};
    rk_progress progress = rk_progress_start("publishing");
    rk_err *err = NULL;
    for (size_t i = 0; i < stage->plan->count && !err; i++) {
        rk_progress_step(&progress, i, stage->plan->count);
        if (is_entry(&items[i]) && items[i].fate == RK_FATE_IMPORT)
            err = publish_one(stage, i, &items[i], &folders);
    }
    rk_progress_end(&progress);
    rk_err *end = rk_stage_end(stage->store, &folders);
    if (err)
        rk_err_drop(end, "an earlier fault is reported");
    return err ? err : end;
}
