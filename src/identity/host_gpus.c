#include "identity/host_gpus.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/fs.h"

enum { GPUS_MAX = 64, INFO_MAX_BYTES = 16 << 10 };

// Names of GPUs.
typedef struct gpus {
    const char *folder;    // that is visited
    const char *file;      // in each folder below it
    const char *line;      // the beginning of the line with the name
    char *names[GPUS_MAX]; // owned
    size_t count;
} gpus;

static void gpus_cleanup(gpus *self) {
    for (size_t i = 0; i < self->count; i++)
        rk_free(self->names[i]);
}

static rk_err *visit_gpu(void *context, const char *name) {
    gpus *self = context;
    RK_AUTO(rk_buf) path = {0};
    RK_AUTO(rk_buf) text = RK_BUF_INIT(INFO_MAX_BYTES + 4096);
    rk_buf_add_format(&path, "%s/%s/%s", self->folder, name, self->file);
    RK_TRY(rk_buf_status(&path));
    rk_err *err = rk_fs_read(rk_buf_text(&path), INFO_MAX_BYTES, &text);
    if (rk_err_code(err) == RK_RESOURCE_EXHAUSTED)
        return err;
    rk_err_drop(err, "a device that tells nothing has no name");
    const char *line = strstr(rk_buf_text(&text), self->line);
    if (!line || self->count == GPUS_MAX)
        return NULL;
    line += strlen(self->line);
    line += strspn(line, " \t:");
    size_t len = strcspn(line, "\n");
    if (len == 0 || (len == 1 && *line == '0'))
        return NULL; // a CPU, in the list of AMD's driver
    char *found = rk_strndup(line, len);
    if (!found)
        return rk_err_no_memory();
    self->names[self->count++] = found;
    return NULL;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static rk_err *list_gpus(gpus *self, const char *root, const char *folder) {
    rk_autofree char *path = rk_path_join(root, folder);
    if (!path)
        return rk_err_no_memory();
    self->folder = path;
    rk_err *err = rk_fs_list(path, GPUS_MAX, visit_gpu, self);
    self->folder = NULL;
    if (rk_err_code(err) == RK_RESOURCE_EXHAUSTED)
        return err;
    rk_err_drop(err, "there is no such driver");
    return NULL;
}

rk_err *rk_host_gpus_add(const char *proc, const char *sys, rk_buf *out) {
    RK_AUTO(gpus) found = {.file = "information", .line = "Model"};
    RK_TRY(list_gpus(&found, proc, "driver/nvidia/gpus"));
    found.file = "properties";
    found.line = "gfx_target_version";
    RK_TRY(list_gpus(&found, sys, "class/kfd/kfd/topology/nodes"));
    qsort(found.names, found.count, sizeof found.names[0], by_text);
    for (size_t i = 0; i < found.count; i++)
        if (i == 0 || strcmp(found.names[i], found.names[i - 1]) != 0)
            rk_buf_add_format(out, "%s%s", out->len ? ", " : "", found.names[i]);
    return rk_buf_status(out);
}
