#include "cli/bundle_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/fs.h"
#include "base/tree.h"
#include "cli/command_python.h"
#include "cli/fail.h"
#include "cli/place.h"
#include "journal/run_id.h"
#include "pack/restore.h"
#include "torch/environment.h"
#include "torch/pending.h"

// Opens a folder that only this user can change.
static rk_err *open_directory(const char *directory, int *out_fd) {
    struct stat info;
    *out_fd = rk_fd_open(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY, 0);
    if (*out_fd < 0 || rk_sys()->fstat_fn(*out_fd, &info) != 0)
        return rk_error_errno(errno, "cannot open %s", directory);
    return rk_tree_check_folder(&info, directory);
}

static rk_err *read_environment(const char *python, rk_pack_place *place, rk_components *list,
                                rk_buf *json_text) {
    RK_AUTO(rk_torch_install) install = {0};
    rk_autofree char *looked_at = NULL;
    const rk_torch_variables variables = {.cxx = getenv("CXX"),
                                          .path = getenv("PATH"),
                                          .omp = getenv("OMP_NUM_THREADS"),
                                          .mkl = getenv("MKL_NUM_THREADS")};
    if (!rk_command_torch_find(python, &install, &looked_at))
        return rk_error(RK_NOT_FOUND,
                        "%s has no torch: name the Python that made the caches with --python",
                        looked_at ? looked_at : "PATH has no Python, which");
    RK_TRY(rk_torch_environment_read(&install, &variables, list));
    rk_json json = rk_json_on(json_text);
    rk_components_write(list, &json);
    rk_components_digest(list, &place->environment);
    place->components_json = rk_span_text(rk_need_text(json_text));
    return NULL;
}

static rk_err *open_store(const rk_settings *settings, rk_store **out_store) {
    const rk_settings_values *values = rk_settings_get(settings);
    RK_TRY(rk_store_open(values->dir, false, out_store));
    RK_TRY(rk_store_load_keys(*out_store, values->signing_key, values->trusted_keys));
    return rk_store_set_limit(*out_store, values->max_size_bytes);
}

static rk_err *keep(rk_torch_session *session, const char *directory) {
    session->directory = (rk_torch_directory){.path = rk_need(rk_strdup(directory)), .fd = -1};
    RK_TRY(open_directory(directory, &session->directory.fd));
    return rk_torch_pending_keep(session, true, false);
}

rk_err *rk_bundle_directory_store(const rk_settings *settings, const char *directory,
                                  const char *job, const char *python) {
    RK_AUTO_STORE store = NULL;
    RK_AUTO(rk_components) list = {0};
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    RK_AUTO(rk_torch_session) session = {0};
    rk_autofree char *run = NULL;
    RK_TRY(rk_run_id_make(&run));
    rk_pack_place *place = &session.packs.place;
    place->job = job;
    place->name_space = rk_settings_get(settings)->name_space;
    place->run = run;
    RK_TRY(read_environment(python, place, &list, &text));
    RK_TRY(open_store(settings, &store));
    place->store = store;
    rk_err *err = keep(&session, directory);
    rk_store_flush_usage(store);
    return err;
}

// A folder that is filled.
typedef struct filling {
    int fd;
    const char *path;
    rk_pack_restored sums;
} filling;

// One pack of a plan.
static rk_err *fill_one(rk_store *store, const rk_bundle_planned *one, rk_pack_module module,
                        filling *to) {
    __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
    rk_autofree rk_pack_item *items = NULL;
    size_t item_count;
    RK_TRY(rk_store_read(store, RK_ENTRY_EXECUTABLE, one->part.hex, RK_WANT_PAYLOAD, &lookup));
    if (!lookup.found)
        return NULL;
    RK_TRY(rk_pack_decode(lookup.view.entry.payload, &items, &item_count));
    RK_TRY(rk_pack_check(module, items, item_count));
    return rk_pack_restore(to->fd, to->path, items, item_count, &to->sums);
}

// False for entries that are no packs, and for headers, which lie elsewhere.
static bool has_files(const rk_bundle_planned *one, rk_pack_module *out_module) {
    RK_AUTO(rk_buf) name = RK_BUF_INIT(0);
    rk_buf_add_span(&name, one->module->name);
    return one->part.kind == RK_PART_PACK && one->fate != RK_FATE_REFUSED &&
           rk_pack_module_parse(rk_need_text(&name), out_module) && *out_module != RK_PACK_HEADERS;
}

rk_err *rk_bundle_directory_fill(rk_store *store, const rk_bundle_plan *plan, const char *directory,
                                 size_t *out_count) {
    rk_autofd fd = -1;
    rk_pack_module module;
    rk_err *err = NULL;
    *out_count = 0;
    RK_TRY(rk_fs_make_dirs(directory, 0700));
    RK_TRY(open_directory(directory, &fd));
    filling to = {.fd = fd, .path = directory};
    for (size_t i = 0; i < plan->count && !err; i++)
        if (has_files(&plan->items[i], &module))
            err = fill_one(store, &plan->items[i], module, &to);
    *out_count = (size_t)to.sums.written;
    return err;
}
