#include "cli/bundle_stage.h"

#include "cli/fail.h"
#include "cli/term.h"
#include "store/store_file.h"

// So many files and bytes may wait for their sync: the disk works while the next ones are checked.
enum { OPEN_FILES_MAX = 32, OPEN_MAX_BYTES = 256 << 20, MEGABYTE = 1000000 };

void rk_bundle_stage_cleanup(rk_bundle_stage *stage) {
    for (size_t i = 0; stage->files && i < stage->plan->count; i++)
        rk_staged_drop(stage->store, &stage->files[i]);
    rk_free(stage->files);
    *stage = (rk_bundle_stage){0};
}

static bool is_entry(const rk_bundle_planned *one) {
    return one->part.kind != RK_PART_MANIFEST;
}

// One item that is read.
typedef struct filling {
    rk_bundle_stage *stage;
    rk_staged *file; // NULL: only check
    rk_progress *progress;
} filling;

static rk_err *take_part(void *context, rk_span part) {
    filling *self = context;
    self->stage->done_bytes += part.len;
    rk_progress_step(self->progress, self->stage->done_bytes / MEGABYTE,
                     self->stage->all_bytes / MEGABYTE);
    return self->file ? rk_staged_add(self->stage->store, self->file, part) : NULL;
}

static rk_err *sync_oldest(rk_bundle_stage *stage) {
    rk_staged *file = &stage->files[stage->oldest++];
    if (file->fd < 0)
        return NULL;
    stage->open_count--;
    stage->open_bytes -= file->bytes;
    return rk_staged_sync(stage->store, file);
}

static rk_err *fill_one(rk_bundle_stage *stage, size_t index, rk_progress *progress) {
    const rk_bundle_planned *one = &stage->plan->items[index];
    filling self = {.stage = stage, .progress = progress};
    if (stage->store && one->fate == RK_FATE_IMPORT) {
        self.file = &stage->files[index];
        RK_TRY(rk_staged_create(stage->store, self.file));
        stage->open_count++;
    }
    RK_TRY(rk_bundle_part_check_entry(stage->plan->bundle, stage->plan->module, one->item,
                                      &one->part, &one->start, take_part, &self));
    if (self.file)
        rk_staged_write_behind(self.file);
    stage->open_bytes += self.file ? self.file->bytes : 0;
    return NULL;
}

static rk_err *fill_all(rk_bundle_stage *stage, rk_progress *progress) {
    for (; stage->next < stage->plan->count; stage->next++) {
        if (is_entry(&stage->plan->items[stage->next]))
            RK_TRY(fill_one(stage, stage->next, progress));
        // One after the other: the first sync of a batch makes the file system write what the
        // others need too.
        bool is_full = stage->open_count > OPEN_FILES_MAX || stage->open_bytes > OPEN_MAX_BYTES;
        while (is_full && stage->oldest <= stage->next)
            RK_TRY(sync_oldest(stage));
    }
    while (stage->oldest < stage->next)
        RK_TRY(sync_oldest(stage));
    return NULL;
}

rk_err *rk_bundle_stage_fill(rk_bundle_stage *stage) {
    stage->files = rk_need(rk_calloc(stage->plan->count + 1, sizeof *stage->files));
    for (size_t i = 0; i < stage->plan->count; i++) {
        stage->files[i].fd = -1;
        stage->all_bytes += is_entry(&stage->plan->items[i]) ? stage->plan->items[i].bytes : 0;
    }
    if (stage->store)
        RK_TRY(rk_stage_begin(stage->store));
    rk_progress progress =
        rk_progress_start(stage->store ? "checking and writing (MB)" : "checking (MB)");
    rk_err *err = fill_all(stage, &progress);
    rk_progress_end(&progress);
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
