#include "cli/builtin_cpu.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/command_file.h"
#include "cli/env.h"
#include "cli/executable.h"
#include "cli/fail.h"
#include "cli/python_path.h"
#include "cli/text.h"

// Where the wheel xla-cpu-pjrt of PyPI puts the plugin, in site-packages.
static const char plugin_file[] = "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so";

typedef struct packages {
    char *jax; // the folder of packages that holds JAX. Owned: rk_free. NULL if there is none
    char *torch_xla;
    char *plugin;
} packages;

static void packages_cleanup(packages *found) {
    rk_free(found->jax);
    rk_free(found->torch_xla);
    rk_free(found->plugin);
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
    }
}

// Looks beside the Python as it is called: in a virtual environment it is a link.
static void find_packages(const char *python, packages *found) {
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

// Quotes text for a shell if it needs quotes.
static void add_word(rk_buf *out, const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+:,=@%";
    bool quoted = text[strspn(text, plain)] != '\0' && !strchr(text, '\'');
    rk_buf_add_text(out, quoted ? "'" : "");
    rk_text_add_printable(out, rk_span_text(text));
    rk_buf_add_text(out, quoted ? "'" : "");
}

static void add_lines(const char *python, const packages *found, rk_buf *out) {
    const char *folder = found->plugin ? found->plugin : found->jax ? found->jax : found->torch_xla;
    RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
    rk_buf_add_format(&path, "%s/%s", folder, plugin_file);
    rk_buf_add_text(out,
                    "If this job uses JAX or PyTorch/XLA on the CPU, this makes it use XLA's CPU "
                    "plugin. (It has no LAPACK: most of jnp.linalg and orthogonal initializers "
                    "fail on it.)\n");
    if (!found->plugin) {
        rk_buf_add_text(out, "  ");
        add_word(out, python);
        rk_buf_add_text(out, " -m pip install xla-cpu-pjrt\n");
    }
    if (found->jax && !rk_env_is_set("PJRT_NAMES_AND_LIBRARY_PATHS")) {
        rk_buf_add_text(out, "  export JAX_PLATFORMS=xcpu PJRT_NAMES_AND_LIBRARY_PATHS=xcpu:");
        add_word(out, rk_need_text(&path));
        rk_buf_add_text(out, found->torch_xla ? "   # for JAX\n" : "\n");
    }
    if (found->torch_xla && !rk_env_is_set("PJRT_LIBRARY_PATH")) {
        rk_buf_add_text(out, "  export PJRT_DEVICE=LIBRARY PJRT_LIBRARY_PATH=");
        add_word(out, rk_need_text(&path));
        rk_buf_add_text(out, found->jax ? "   # for PyTorch/XLA\n" : "\n");
    }
}

bool rk_builtin_cpu_add_remedy(const char *command, rk_buf *out) {
    rk_autofree char *python = find_python(command);
    if (!python ||
        (rk_env_is_set("PJRT_NAMES_AND_LIBRARY_PATHS") && rk_env_is_set("PJRT_LIBRARY_PATH")))
        return false;
    __attribute__((cleanup(packages_cleanup))) packages found = {0};
    ask_for_packages(python, &found);
    find_packages(python, &found);
    bool for_jax = found.jax && !rk_env_is_set("PJRT_NAMES_AND_LIBRARY_PATHS");
    bool for_torch = found.torch_xla && !rk_env_is_set("PJRT_LIBRARY_PATH");
    if (!for_jax && !for_torch)
        return false;
    add_lines(python, &found, out);
    return true;
}
