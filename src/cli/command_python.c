#include "cli/command_python.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/command_file.h"
#include "cli/fail.h"

// Python programs that run their command with another Python, or on other machines, where the paths
// of this one mean nothing.
static bool runs_elsewhere(const char *path) {
    static const char *const names[] = {
        "conda", "mamba",   "micromamba", "pipenv",    "poetry",     "pdm",     "hatch",
        "tox",   "nox",     "pipx",       "deepspeed", "horovodrun", "horovod", "ray",
        "srun",  "sbatch",  "salloc",     "mpirun",    "mpiexec",    "ssh",     "pdsh",
        "sky",   "kubectl", "rye",        "uv"};
    const char *name = rk_command_file_name(path);
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++) {
        size_t len = strlen(names[i]);
        if (strncmp(name, names[i], len) == 0 && (!name[len] || name[len] == '.'))
            return true;
    }
    return false;
}

// The script of a Python command, or the module after "-m": "horovod.runner". NULL: neither.
static const char *program_of(const rk_opt_operands *command) {
    for (size_t i = 1; i < command->count; i++) {
        if (strcmp(command->items[i], "-m") == 0)
            return i + 1 < command->count ? command->items[i + 1] : NULL;
        if (command->items[i][0] != '-')
            return command->items[i];
    }
    return NULL;
}

static rk_executable_kind kind_of(const char *path) {
    __attribute__((cleanup(rk_executable_cleanup))) rk_executable file = {0};
    rk_executable_look(path, &file);
    return file.kind;
}

static char *interpreter_of(const char *script) {
    __attribute__((cleanup(rk_executable_cleanup))) rk_executable file = {0};
    rk_executable_look(script, &file);
    return rk_command_file_find_interpreter(&file);
}

char *rk_command_python_find(const rk_opt_operands *command, const char **out_why) {
    const char *program = command->items[0];
    rk_autofree char *path = rk_command_file_find(program);
    bool is_python = path && rk_command_file_is_python(path);
    rk_autofree char *python = !path ? NULL : is_python ? RK_TAKE(path) : interpreter_of(path);
    if (is_python)
        program = program_of(command);
    if (!python || !rk_command_file_is_python(python))
        *out_why = "is not a Python, nor a script whose first line names one, so that its torch is "
                   "not known";
    else if (program && runs_elsewhere(program))
        *out_why = "may run its command with another Python or on another machine: put `rekindle "
                   "run` before the command that it runs";
    else if (kind_of(python) == RK_EXECUTABLE_SCRIPT)
        *out_why = "runs a Python that is a script, which chooses another Python: name the real "
                   "one";
    else
        *out_why = NULL;
    return *out_why ? NULL : RK_TAKE(python);
}

// Looks for a package in the folders of a Python.
typedef rk_err *(*find_fn)(const rk_python_where *where, void *install, bool *out_found);

static rk_err *find_torch(const rk_python_where *where, void *install, bool *out_found) {
    return rk_torch_install_find(where, install, out_found);
}

static rk_err *find_jax(const rk_python_where *where, void *install, bool *out_found) {
    return rk_jax_install_find(where, install, out_found);
}

static bool has_package(const char *python, find_fn find, void *out_install) {
    const rk_python_where where = {
        .python = python, .python_path = getenv("PYTHONPATH"), .home = getenv("HOME")};
    bool found = false;
    rk_err_drop(find(&where, out_install, &found), "without memory there is no package");
    return found;
}

static bool find_package(const char *python, find_fn find, void *out_install, char **out_python) {
    const char *const names[] = {python ? python : "python3", "python"};
    *out_python = NULL;
    for (size_t i = 0; i < (python ? 1 : RK_ARRAY_LEN(names)); i++) {
        char *path = rk_command_file_find(names[i]);
        if (!path)
            continue;
        rk_free(*out_python);
        *out_python = path;
        if (access(path, X_OK) == 0 && kind_of(path) != RK_EXECUTABLE_SCRIPT &&
            has_package(path, find, out_install))
            return true;
    }
    return false;
}

bool rk_command_torch_find(const char *python, rk_torch_install *out_install, char **out_python) {
    return find_package(python, find_torch, out_install, out_python);
}

bool rk_command_jax_find(const char *python, rk_jax_install *out_install, char **out_python) {
    return find_package(python, find_jax, out_install, out_python);
}
