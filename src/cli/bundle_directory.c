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
#include "torch/environment.h"
#include "torch/pending.h"
#include "torch/restore.h"

// Opens a folder that only this user can change.
static rk_err *open_directory(const char *directory, int *out_fd) {
    struct stat info;
    *out_fd = rk_fd_open(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY, 0);
    if (*out_fd < 0 || rk_sys()->fstat_fn(*out_fd, &info) != 0)
        return rk_error_errno(errno, "cannot open %s", directory);
    return rk_tree_check_folder(&info, directory);
}

static rk_err *read_environment(rk_torch_place *place, rk_components *list, rk_buf *json_text) {
    RK_AUTO(rk_torch_install) install = {0};
    const rk_torch_variables variables = {.cxx = getenv("CXX"), .path = getenv("PATH")};
    if (!rk_command_torch_find_default(&install))
        return rk_error(RK_NOT_FOUND, "the Python of PATH has no torch: put the Python that made "
                                      "the caches first in PATH");
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
    session->directory = (rk_torch_directory){
        .path = rk_need(rk_strdup(directory)), .fd = -1, .lock_fd = -1, .job_fd = -1};
    RK_TRY(open_directory(directory, &session->directory.fd));
    return rk_torch_pending_keep(session, true);
}

rk_err *rk_bundle_directory_store(const rk_settings *settings, const char *directory,
                                  const char *job) {
    RK_AUTO_STORE store = NULL;
    RK_AUTO(rk_components) list = {0};
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    RK_AUTO(rk_torch_session) session = {0};
    rk_autofree char *run = NULL;
    RK_TRY(rk_run_id_make(&run));
    rk_torch_place *place = &session.place;
    place->job = job;
    place->name_space = rk_settings_get(settings)->name_space;
    place->run = run;
    RK_TRY(read_environment(place, &list, &text));
    RK_TRY(open_store(settings, &store));
    place->store = store;
    rk_err *err = keep(&session, directory);
    rk_store_flush_usage(store);
    return err;
}

// One pack of a plan.
static rk_err *fill_one(rk_store *store, const rk_bundle_planned *one, int fd, size_t *count) {
    __attribute__((cleanup(rk_store_lookup_cleanup))) rk_store_lookup lookup = {0};
    rk_autofree rk_torch_item *items = NULL;
    size_t item_count, written;
    RK_TRY(rk_store_read(store, RK_ENTRY_EXECUTABLE, one->part.hex, RK_WANT_PAYLOAD, &lookup));
    if (!lookup.found)
        return NULL;
    RK_TRY(rk_torch_pack_decode(lookup.view.entry.payload, &items, &item_count));
    RK_TRY(rk_torch_restore(fd, false, items, item_count, &written));
    *count += written;
    return NULL;
}

rk_err *rk_bundle_directory_fill(rk_store *store, const rk_bundle_plan *plan, const char *directory,
                                 size_t *out_count) {
    rk_autofd fd = -1;
    *out_count = 0;
    RK_TRY(rk_fs_make_dirs(directory, 0700));
    RK_TRY(open_directory(directory, &fd));
    for (size_t i = 0; i < plan->count; i++)
        if (plan->items[i].part.kind == RK_PART_PACK && plan->items[i].fate != RK_FATE_REFUSED &&
            !rk_span_is(plan->items[i].module->name, rk_torch_module_name(RK_TORCH_HEADERS)))
            RK_TRY(fill_one(store, &plan->items[i], fd, out_count));
    return NULL;
}
