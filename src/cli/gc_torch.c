#include "cli/gc_torch.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "cli/fail.h"
#include "settings/settings.h"
#include "torch/directory.h"

// One call of rk_gc_torch.
typedef struct collecting {
    void (*removed)(void *context, const rk_gc_removal *removal);
    void *context;
    rk_gc_total *total;
} collecting;

static void note(void *context, const rk_torch_unused *unused) {
    const collecting *self = context;
    const rk_gc_removal removal = {.what = "torch_compile",
                                   .name = unused->name,
                                   .bytes = unused->bytes,
                                   .age_ns = unused->age_ns};
    self->total->files++;
    self->total->bytes += unused->bytes;
    self->removed(self->context, &removal);
}

rk_err *rk_gc_torch(bool dry_run, void (*removed)(void *context, const rk_gc_removal *removal),
                    void *context, rk_gc_total *total) {
    rk_autofree char *cache = NULL, *base = NULL;
    collecting self = {removed, context, total};
    rk_err *err = rk_settings_cache(&cache);
    if (err) {
        rk_err_drop(err, "then no job could make a directory there");
        return NULL;
    }
    base = rk_need(rk_path_join(cache, RK_TORCH_BASE));
    return rk_torch_directories_collect(base, dry_run, note, &self);
}
