#include "cli/builtin_cpu.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/redact.h"
#include "cli/command_file.h"
#include "cli/env.h"
#include "cli/executable.h"
#include "cli/fail.h"
#include "cli/place.h"
#include "cli/python_path.h"
#include "cli/text.h"
#include "cli/verb.h"

// Where the wheel xla-cpu-pjrt of PyPI puts the plugin, in site-packages.
static const char plugin_file[] = "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so";

// The version that the tests use; the extra "cpu" of the wheel installs it too.
static const char plugin_package[] = "'xla-cpu-pjrt==0.0.1'";

typedef struct packages {
    char *jax; // the folder of packages that holds JAX. Owned: rk_free. NULL if there is none
    char *torch_xla;
    char *plugin;
    char *pip;
} packages;

static void packages_cleanup(packages *found) {
    rk_free(found->jax);
    rk_free(found->torch_xla);
    rk_free(found->plugin);
    rk_free(found->pip);
}

// Returns the Python that runs the command. Owned: rk_free. NULL if it is not found to be one.
static char *find_python(const char *command) {
    rk_autofree char *path = rk_command_file_find(command);
    for (int i = 0; path && i <= RK_COMMAND_FILE_MAX_SCRIPTS; i++) {
        if (rk_command_file_is_python(path))
            return RK_TAKE(path);
        __attribute__((cleanup(rk_executable_cleanup))) rk_executable file;
        rk_executable_look(path, &file);
        char *next = rk_command_file_find_interpreter(&file);
        rk_free(path);
        path = next;
    }
    return NULL;
}

// Returns the folder of `pattern` that holds the file `name`. Owned: rk_free. NULL if none does.
static char *find_in(const char *pattern, const char *name) {
    RK_AUTO(rk_buf) full = RK_BUF_INIT(0);
    rk_buf_add_format(&full, "%s/%s", pattern, name);
    glob_t matches = {0};
    char *folder = NULL;
    if (glob(rk_need_text(&full), 0, NULL, &matches) == 0 && matches.gl_pathc > 0) {
        folder = rk_need(rk_strdup(matches.gl_pathv[0]));
        folder[strlen(folder) - strlen(name) - 1] = '\0';
    }
    globfree(&matches);
    return folder;
}

static void look_in(const char *base, const char *below, packages *found) {
    RK_AUTO(rk_buf) pattern = RK_BUF_INIT(0);
    rk_buf_add_format(&pattern, "%s/%s", base, below);
    const char *folders = rk_need_text(&pattern);
    if (!found->jax)
        found->jax = find_in(folders, "jax/__init__.py");
    if (!found->torch_xla)
        found->torch_xla = find_in(folders, "torch_xla/__init__.py");
    if (!found->plugin)
        found->plugin = find_in(folders, plugin_file);
    if (!found->pip)
        found->pip = find_in(folders, "pip/__init__.py");
}

static void take_if_held(char **folder, const char *base, const char *name) {
    RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
    rk_buf_add_format(&path, "%s/%s", base, name);
    if (!*folder && access(rk_need_text(&path), F_OK) == 0)
        *folder = rk_need(rk_strdup(base));
}

// Asks the Python for its folders: environments may be stacked on each other (.pth, PYTHONPATH).
static void ask_for_packages(const char *python, packages *found) {
    RK_AUTO(rk_buf) folders = RK_BUF_INIT(0);
    char *rest = NULL;
    rk_python_path_ask(python, &folders);
    rk_autofree char *text = rk_need(rk_strdup(rk_need_text(&folders)));
    for (char *at = strtok_r(text, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest)) {
        take_if_held(&found->jax, at, "jax/__init__.py");
        take_if_held(&found->torch_xla, at, "torch_xla/__init__.py");
        take_if_held(&found->plugin, at, plugin_file);
        take_if_held(&found->pip, at, "pip/__init__.py");
    }
}

// Looks beside the Python as it is called: in a virtual environment it is a link.
static void look_beside(const char *python, packages *found) {
    rk_autofree char *prefix = rk_need(rk_strdup(python));
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(prefix, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
    look_in(prefix, "lib/python3*/site-packages", found);
    look_in(prefix, "local/lib/python3*/dist-packages", found); // Debian's pip as root
    look_in(prefix, "lib/python3/dist-packages", found);
    const char *home = getenv("HOME");
    if (home && home[0])
        look_in(home, ".local/lib/python3*/site-packages", found);
}

static void find_packages(const char *python, packages *found) {
    ask_for_packages(python, found);
    look_beside(python, found);
}

// Returns the version of the JAX in `folder` if no CPU plugin that was tried works with it
// (docs/jax-versions.md). Returns NULL for another version, and if the version is not known.
static const char *find_refused_jax(const char *folder) {
    static const char *const refused[] = {"0.4.30", "0.4.31", "0.4.35"};
    for (size_t i = 0; folder && i < RK_ARRAY_LEN(refused); i++) {
        RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
        rk_buf_add_format(&path, "%s/jax-%s.dist-info", folder, refused[i]);
        if (access(rk_need_text(&path), F_OK) == 0)
            return refused[i];
    }
    return NULL;
}

// Adds the line that installs `what`. Environments of uv have no pip.
static void add_install(const char *python, const packages *found, const char *what, rk_buf *out) {
    rk_autofree char *uv = found->pip ? NULL : rk_command_file_find("uv");
    rk_buf_add_text(out, uv ? "  uv pip install --python " : "  ");
    rk_text_add_word(out, python);
    rk_buf_add_format(out, "%s%s%s\n", uv ? " " : " -m pip install ", what, plugin_package);
}

// Adds the user's own words again, with --cpu-plugin.
static void add_again(rk_buf *out) {
    rk_redactor redactor = {0};
    rk_buf_add_text(out, "  rekindle");
    for (size_t i = 0; rk_verb_words && rk_verb_words[i]; i++) {
        RK_AUTO(rk_buf) shown = RK_BUF_INIT(0);
        rk_redact_argument(&redactor, rk_span_text(rk_verb_words[i]), &shown);
        rk_buf_add_byte(out, ' ');
        rk_text_add_word(out, rk_need_text(&shown));
        rk_buf_add_text(out, i == 0 ? " --cpu-plugin" : "");
    }
    rk_buf_add_byte(out, '\n');
}

// JAX 0.6.2 is the first version that works on the plugin without given shardings.
static void add_newer_jax(const char *python, const packages *found, const char *version,
                          rk_buf *out) {
    rk_buf_add_format(out,
                      "If this job uses JAX on the CPU, rekindle stores nothing: no CPU plugin "
                      "that was tried works with JAX %s. JAX 0.6.2 and newer (Python 3.10 and "
                      "newer) work on XLA's CPU plugin, which has no LAPACK and no host "
                      "callbacks: most of jnp.linalg, orthogonal initializers and jax.debug.print "
                      "fail on it.\n",
                      version);
    add_install(python, found, "'jax>=0.6.2' ", out);
}

static void add_plugin(const char *python, const packages *found, rk_buf *out) {
    rk_buf_add_format(
        out,
        "If this job uses %s on the CPU, start it on XLA's CPU plugin, and rekindle "
        "stores what it compiles. The plugin has no LAPACK and no host callbacks: most "
        "of jnp.linalg, orthogonal initializers and jax.debug.print fail on it.\n",
        !found->torch_xla ? "JAX"
        : !found->jax     ? "PyTorch/XLA"
                          : "JAX or PyTorch/XLA");
    if (!found->plugin)
        add_install(python, found, "", out);
}

bool rk_builtin_cpu_add_remedy(const char *command, rk_buf *out) {
    rk_autofree char *python = find_python(command);
    if (!python ||
        (rk_env_is_set("PJRT_NAMES_AND_LIBRARY_PATHS") && rk_env_is_set("PJRT_LIBRARY_PATH")))
        return false;
    __attribute__((cleanup(packages_cleanup))) packages found = {0};
    find_packages(python, &found);
    bool for_jax = found.jax && !rk_env_is_set("PJRT_NAMES_AND_LIBRARY_PATHS");
    bool for_torch = found.torch_xla && !rk_env_is_set("PJRT_LIBRARY_PATH");
    const char *refused = for_jax ? find_refused_jax(found.jax) : NULL;
    if (!for_jax && !for_torch)
        return false;
    if (refused && !for_torch)
        add_newer_jax(python, &found, refused, out);
    else
        add_plugin(python, &found, out);
    add_again(out);
    return true;
}

// An option overrides a variable. Says so, except where the variable asked for a CPU as well.
static void set_variable(const char *variable, const char *value) {
    const char *before = rk_env_is_set(variable) ? getenv(variable) : NULL;
    if (before && strcmp(before, value) != 0 && strcasecmp(before, "cpu") != 0 &&
        strcmp(before, "xcpu") != 0)
        rk_log_warn("--cpu-plugin replaces %s=%s", variable, before);
    rk_place_set_variable(variable, value);
}

static void set_variables(const packages *found, bool for_jax) {
    RK_AUTO(rk_buf) path = RK_BUF_INIT(0), named = RK_BUF_INIT(0);
    rk_buf_add_format(&path, "%s/%s", found->plugin, plugin_file);
    rk_buf_add_format(&named, "xcpu:%s", rk_need_text(&path));
    if (for_jax) {
        set_variable("PJRT_NAMES_AND_LIBRARY_PATHS", rk_need_text(&named));
        // The first platform is the default one. A job may also ask for "cpu" by name, as
        // jax.devices("cpu") or numpyro.set_platform("cpu"), and JAX refuses a platform that is
        // not in the list.
        set_variable("JAX_PLATFORMS", "xcpu,cpu");
    }
    if (found->torch_xla) {
        set_variable("PJRT_LIBRARY_PATH", rk_need_text(&path));
        set_variable("PJRT_DEVICE", "LIBRARY");
    }
}

// The line to paste follows the message.
static rk_err *fail_with_install(const char *python, const packages *found, const char *what,
                                 rk_err *err) {
    RK_AUTO(rk_buf) line = RK_BUF_INIT(0);
    add_install(python, found, what, &line);
    rk_fail_set_details(rk_need_text(&line));
    return err;
}

static rk_err *use_packages(const char *python, const packages *found) {
    const char *refused = find_refused_jax(found->jax);
    if (!found->jax && !found->torch_xla)
        return rk_error(RK_FAILED_PRECONDITION, "--cpu-plugin: %s has neither JAX nor PyTorch/XLA",
                        python);
    if (refused && !found->torch_xla)
        return fail_with_install(
            python, found, "'jax>=0.6.2' ",
            rk_error(RK_FAILED_PRECONDITION,
                     "--cpu-plugin: no CPU plugin that was tried works with JAX %s; JAX 0.6.2 and "
                     "newer (Python 3.10 and newer) work:",
                     refused));
    if (!found->plugin)
        return fail_with_install(
            python, found, "",
            rk_error(RK_FAILED_PRECONDITION,
                     "--cpu-plugin: the job's Python lacks the package xla-cpu-pjrt:"));
    set_variables(found, found->jax && !refused);
    return NULL;
}

rk_err *rk_builtin_cpu_use_plugin(const char *command) {
    rk_autofree char *file = rk_command_file_find(command), *python = find_python(command);
    if (!file || access(file, X_OK) != 0)
        return NULL; // the start of the command fails, and says why
    if (!python)
        return rk_error(RK_FAILED_PRECONDITION,
                        "--cpu-plugin needs a Python command, and no Python runs %s: put "
                        "`rekindle run --cpu-plugin --` before the Python command in it",
                        command);
    __attribute__((cleanup(packages_cleanup))) packages found = {0};
    find_packages(python, &found);
    return use_packages(python, &found);
}
