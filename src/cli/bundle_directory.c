#include "cli/bundle_directory.h"

#include <errno.h>
#include <fcntl.h>

#include "base/fs.h"
#include "base/tree.h"
#include "cli/fail.h"
#include "cli/pack_here.h"
#include "cli/place.h"
#include "jax/directory.h"
#include "journal/run_id.h"
#include "pack/keep.h"

// The files of a directory, by family.
typedef struct holdings {
    rk_pack_files files[RK_PACK_FAMILIES];
} holdings;

static void holdings_cleanup(holdings *self) {
    for (size_t i = 0; i < RK_PACK_FAMILIES; i++)
        rk_pack_files_cleanup(&self->files[i]);
}

static bool holds(const holdings *self, rk_pack_family family) {
    return self->files[family].count > 0;
}

static bool holds_both(const holdings *self) {
    return holds(self, RK_FAMILY_TORCH) && holds(self, RK_FAMILY_JAX);
}

// Opens a folder that only this user can change.
static rk_err *open_directory(const char *directory, int *out_fd) {
    struct stat info;
    *out_fd = rk_fd_open(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY, 0);
    if (*out_fd < 0 || rk_sys()->fstat_fn(*out_fd, &info) != 0)
        return rk_error_errno(errno, "cannot open %s", directory);
    return rk_tree_check_folder(&info, directory);
}

static rk_err *list_files(int fd, holdings *out) {
    for (size_t i = 0; i < RK_PACK_FAMILIES; i++)
        RK_TRY(rk_pack_files_list(fd, (rk_pack_family)i, &out->files[i]));
    return NULL;
}

// Forgets the files of modules that are not wanted.
static void filter(holdings *self, const rk_opt_list *modules) {
    for (size_t i = 0; i < RK_PACK_FAMILIES; i++) {
        rk_pack_files *files = &self->files[i];
        size_t used = 0;
        for (size_t k = 0; k < files->count; k++) {
            if (rk_bundle_module_is_wanted(modules, rk_pack_module_name(files->items[k].module)))
                files->items[used++] = files->items[k];
            else
                rk_free(files->items[k].name);
        }
        files->count = used;
    }
}

static rk_err *check_holdings(const holdings *self, const char *directory,
                              const rk_opt_list *modules) {
    if (holds(self, RK_FAMILY_TORCH) || holds(self, RK_FAMILY_JAX))
        return NULL;
    if (modules->count == 1 && strcmp(modules->items[0], "jax") == 0)
        return rk_error(RK_NOT_FOUND,
                        "%s has no function that JAX compiled: name the directory of "
                        "JAX_COMPILATION_CACHE_DIR. JAX keeps there what takes it a second to "
                        "compile (JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS)",
                        directory);
    return rk_error(RK_NOT_FOUND,
                    "%s is no cache directory with%s files: name that of JAX "
                    "(JAX_COMPILATION_CACHE_DIR) or of torch.compile (TORCHINDUCTOR_CACHE_DIR)",
                    directory, modules->count ? " such" : "");
}

static rk_err *open_store(const rk_settings *settings, rk_store **out_store) {
    const rk_settings_values *values = rk_settings_get(settings);
    RK_TRY(rk_store_open(values->dir, false, out_store));
    RK_TRY(rk_store_load_keys(*out_store, values->signing_key, values->trusted_keys));
    return rk_store_set_limit(*out_store, values->max_size_bytes);
}

// One call of rk_bundle_directory_store.
typedef struct storing {
    const rk_settings *settings;
    const char *directory;
    const char *python;
    const char *job;
    const char *run;
    int fd;
    rk_store *store; // NULL until it is needed
} storing;

// What one family's files belong to.
static rk_err *read_environment(rk_pack_family family, const storing *self, rk_pack_place *place,
                                rk_buf *json_text) {
    RK_AUTO(rk_components) list = {0};
    rk_autofree char *looked_at = NULL;
    bool found = false;
    RK_TRY(rk_pack_here_read(family, self->python, self->directory, &list, &looked_at, &found));
    if (!found && !looked_at)
        return rk_error(RK_NOT_FOUND,
                        "PATH has no Python: name the one that made the caches with --python");
    if (!found)
        return rk_error(RK_NOT_FOUND,
                        "%s has no %s: name the Python that made the caches with --python",
                        looked_at, rk_pack_here_framework(family));
    rk_json json = rk_json_on(json_text);
    rk_components_write(&list, &json);
    rk_components_digest(&list, &place->environment);
    place->components_json = rk_span_text(rk_need_text(json_text));
    return NULL;
}

static rk_err *store_family(storing *self, rk_pack_family family, const rk_pack_files *files,
                            rk_bundle_directory_stored *stored) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(0);
    RK_AUTO(rk_pack_job) packs = {0};
    packs.place = (rk_pack_place){.family = family,
                                  .job = self->job,
                                  .name_space = rk_settings_get(self->settings)->name_space,
                                  .run = self->run};
    RK_TRY(read_environment(family, self, &packs.place, &text));
    if (!self->store)
        RK_TRY(open_store(self->settings, &self->store));
    packs.place.store = self->store;
    RK_TRY(rk_pack_job_learn(&packs));
    rk_err *err = rk_pack_keep(&packs, self->fd, files, rk_realtime_ns());
    if (!err && packs.source_count && packs.listed == 0)
        err = rk_pack_list_note(&packs.place, NULL, 0); // it is used, and stays
    if (!err && packs.source_count + packs.listed == 0)
        err = rk_error(RK_NOT_FOUND,
                       "no file of %s in %s can be exported: each is empty, cut off, changing, or "
                       "larger than 248 MiB",
                       rk_pack_here_caches(family), self->directory);
    stored->too_large += packs.not_kept;
    stored->environments[stored->environment_count++] = packs.place.environment;
    return err;
}

static const char *job_of(const holdings *self) {
    return holds_both(self) ? "caches" : holds(self, RK_FAMILY_JAX) ? "jax" : "torch_compile";
}

rk_err *rk_bundle_directory_store(const rk_settings *settings, const char *directory,
                                  const rk_opt_list *modules, const char *job, const char *python,
                                  rk_bundle_directory_stored *out_stored) {
    RK_AUTO(holdings) found = {0};
    rk_autofree char *run = NULL;
    rk_autofd fd = -1;
    rk_err *err = NULL;
    *out_stored = (rk_bundle_directory_stored){0};
    RK_TRY(open_directory(directory, &fd));
    RK_TRY(list_files(fd, &found));
    filter(&found, modules);
    RK_TRY(check_holdings(&found, directory, modules));
    RK_TRY(rk_run_id_make(&run));
    out_stored->job = job ? job : job_of(&found);
    storing self = {settings, directory, python, out_stored->job, run, fd, NULL};
    for (size_t i = 0; i < RK_PACK_FAMILIES && !err; i++)
        if (holds(&found, (rk_pack_family)i))
            err = store_family(&self, (rk_pack_family)i, &found.files[i], out_stored);
    if (self.store)
        rk_store_flush_usage(self.store);
    rk_store_free(self.store);
    return err;
}

// False for entries that are no packs, and for headers, which lie elsewhere.
static bool has_files(const rk_bundle_planned *one, rk_pack_module *out_module) {
    RK_AUTO(rk_buf) name = RK_BUF_INIT(0);
    rk_buf_add_span(&name, one->module->name);
    return one->part.kind == RK_PART_PACK && one->fate != RK_FATE_REFUSED &&
           rk_pack_module_parse(rk_need_text(&name), out_module) && *out_module != RK_PACK_HEADERS;
}

// Something that is no file of JAX's directory.
static rk_err *note_other_name(void *context, const char *name) {
    *(bool *)context |= !rk_jax_directory_has_name(name);
    return NULL;
}

// Lists a directory, which may not exist.
static rk_err *look(const char *directory, holdings *out, bool *out_has_others) {
    enum { NAMES_MAX = RK_PACK_FILES_MAX * 4 };
    struct stat info;
    rk_autofd fd = -1;
    *out_has_others = false;
    if (rk_sys()->fstatat_fn(AT_FDCWD, directory, &info) != 0 && errno == ENOENT)
        return NULL;
    RK_TRY(open_directory(directory, &fd));
    RK_TRY(list_files(fd, out));
    return rk_fs_list(directory, NAMES_MAX, note_other_name, out_has_others);
}

// Refuses a directory in which the files of one family would be among other files.
static rk_err *check_target(rk_pack_family family, const holdings *there, bool has_others,
                            const char *directory) {
    rk_pack_family other = family == RK_FAMILY_JAX ? RK_FAMILY_TORCH : RK_FAMILY_JAX;
    if (holds(there, family))
        return NULL;
    if (holds(there, other))
        return rk_error(RK_FAILED_PRECONDITION,
                        "its files are of %s, and %s holds %s: name another directory",
                        rk_pack_here_caches(family), directory, rk_pack_here_caches(other));
    if (family == RK_FAMILY_JAX && has_others)
        return rk_error(RK_FAILED_PRECONDITION,
                        "%s is neither empty nor a cache directory of JAX: name that of "
                        "JAX_COMPILATION_CACHE_DIR, or a new one",
                        directory);
    return NULL;
}

rk_err *rk_bundle_directory_choose(const rk_bundle_plan *plan, const char *directory,
                                   rk_pack_family *out_family) {
    RK_AUTO(holdings) there = {0};
    bool brings[RK_PACK_FAMILIES] = {0}, has_others;
    rk_pack_module module;
    for (size_t i = 0; i < plan->count; i++)
        if (has_files(&plan->items[i], &module))
            brings[plan->items[i].family] = true;
    if (!brings[RK_FAMILY_TORCH] && !brings[RK_FAMILY_JAX])
        return rk_error(RK_FAILED_PRECONDITION,
                        "nothing that is imported belongs into a cache directory: leave out "
                        "--directory, or choose other modules");
    RK_TRY(look(directory, &there, &has_others));
    *out_family = brings[RK_FAMILY_JAX] ? RK_FAMILY_JAX : RK_FAMILY_TORCH;
    if (brings[RK_FAMILY_TORCH] && brings[RK_FAMILY_JAX]) {
        if (holds(&there, RK_FAMILY_TORCH) == holds(&there, RK_FAMILY_JAX))
            return rk_error(RK_FAILED_PRECONDITION,
                            "it has files of torch.compile's caches and of JAX's compilation "
                            "cache, and %s does not tell which belong there: name their modules, "
                            "such as --module jax",
                            directory);
        *out_family = holds(&there, RK_FAMILY_JAX) ? RK_FAMILY_JAX : RK_FAMILY_TORCH;
    }
    return check_target(*out_family, &there, has_others, directory);
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
    RK_TRY(rk_pack_check(one->family, module, items, item_count));
    return (one->family == RK_FAMILY_JAX ? rk_jax_directory_restore : rk_pack_restore)(
        to->fd, to->path, items, item_count, &to->sums);
}

rk_err *rk_bundle_directory_fill(rk_store *store, const rk_bundle_plan *plan, const char *directory,
                                 rk_pack_family family, size_t *out_count) {
    rk_autofd fd = -1;
    rk_pack_module module;
    rk_err *err = NULL;
    *out_count = 0;
    RK_TRY(rk_fs_make_dirs(directory, 0700));
    RK_TRY(open_directory(directory, &fd));
    filling to = {.fd = fd, .path = directory};
    for (size_t i = 0; i < plan->count && !err; i++)
        if (has_files(&plan->items[i], &module) && plan->items[i].family == family)
            err = fill_one(store, &plan->items[i], module, &to);
    *out_count = (size_t)to.sums.written;
    return err;
}
