#include "cli/pack_here.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command_python.h"
#include "cli/fail.h"
#include "jax/environment.h"
#include "torch/environment.h"

const char *rk_pack_here_framework(rk_pack_family family) {
    return family == RK_FAMILY_JAX ? "JAX" : "torch";
}

const char *rk_pack_here_caches(rk_pack_family family) {
    return family == RK_FAMILY_JAX ? "JAX's compilation cache" : "torch.compile's caches";
}

static rk_err *read_torch(const char *python, rk_components *out, char **out_python,
                          bool *out_found) {
    RK_AUTO(rk_torch_install) install = {0};
    const rk_torch_variables variables = {.cxx = getenv("CXX"),
                                          .path = getenv("PATH"),
                                          .omp = getenv("OMP_NUM_THREADS"),
                                          .mkl = getenv("MKL_NUM_THREADS")};
    *out_found = rk_command_torch_find(python, &install, out_python);
    return *out_found ? rk_torch_environment_read(&install, &variables, out) : NULL;
}

static const char *get(const char *variable) {
    const char *value = getenv(variable);
    return value && value[0] ? value : NULL;
}

static bool keys_have_path(void) {
    return rk_jax_keys_have_path(getenv("JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES"));
}

bool rk_pack_here_knows_path(const char *directory) {
    return directory || get(RK_JAX_DIRECTORY) || !keys_have_path();
}

static bool is_same_folder(const char *a, const char *b) {
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

// Appends the path by which JAX knows the directory: the variable, if it names the same one. With
// the same text it does, also where the directory does not exist yet.
static void add_jax_path(const char *directory, rk_buf *out) {
    char here[PATH_MAX];
    const char *variable = get(RK_JAX_DIRECTORY);
    if (variable &&
        (!directory || strcmp(variable, directory) == 0 || is_same_folder(variable, directory)))
        directory = variable;
    else if (directory && directory[0] != '/' && getcwd(here, sizeof here))
        rk_buf_add_format(out, "%s/", here);
    if (directory)
        rk_buf_add_text(out, directory);
}

static rk_err *read_jax(const char *python, const char *directory, rk_components *out,
                        char **out_python, bool *out_found) {
    RK_AUTO(rk_jax_install) install = {0};
    RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
    *out_found = rk_command_jax_find(python, &install, out_python);
    if (!*out_found)
        return NULL;
    if (keys_have_path() && !install.ignores_folder_of_xla)
        add_jax_path(directory, &path);
    return rk_jax_environment_read(&install, path.len ? rk_need_text(&path) : NULL, out);
}

rk_err *rk_pack_here_read(rk_pack_family family, const char *python, const char *directory,
                          rk_components *out_components, char **out_python, bool *out_found) {
    return family == RK_FAMILY_JAX
               ? read_jax(python, directory, out_components, out_python, out_found)
               : read_torch(python, out_components, out_python, out_found);
}
