#include "torch/groups.h"

#include <fcntl.h>
#include <jansson.h>
#include <string.h>

#include "base/sys.h"

enum { GROUP_MAX_BYTES = 1 << 20 };

static bool is_group(const rk_pack_file *file) {
    static const char start[] = "__grp__";
    const char *slash = strrchr(file->name, '/');
    return file->module == RK_PACK_TRITON && slash && file->bytes <= GROUP_MAX_BYTES &&
           strncmp(slash + 1, start, sizeof start - 1) == 0;
}

// True if some paths exist and others do not. A text that is no list is not judged.
static bool is_in_part(rk_span text) {
    json_t *root = json_loadb((const char *)text.data, text.len, 0, NULL);
    json_t *paths = json_object_get(root, "child_paths"), *one;
    size_t count = 0, there = 0;
    const char *name;
    json_object_foreach(paths, name, one) {
        const char *path = json_string_value(one);
        struct stat info;
        count++;
        there += path && rk_sys()->fstatat_fn(AT_FDCWD, path, &info) == 0;
    }
    json_decref(root);
    return there > 0 && there < count;
}

void rk_torch_groups_mend(int directory_fd, const rk_pack_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        const rk_pack_file *file = &files->items[i];
        RK_AUTO(rk_buf) text = RK_BUF_INIT(GROUP_MAX_BYTES + 1);
        bool same = false;
        if (!is_group(file))
            continue;
        rk_err *err = rk_pack_file_read(directory_fd, file, &text, &same);
        if (!err && same && is_in_part(rk_buf_span(&text)))
            (void)rk_sys()->unlinkat_fn(directory_fd, file->name, 0);
        rk_err_drop(err, "Triton reads it, or compiles");
    }
}
