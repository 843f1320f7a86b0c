#include "cli/command_python.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/command_file.h"
#include "cli/fail.h"
#include "cli/python_path.h"

enum { ARGUMENTS_TRIED = 64 };

// Follows the interpreters of scripts to a Python. Owned: rk_free. `*out_is_shell`: it is a script
// of something else.
static char *follow(const char *command, bool *out_is_shell) {
    rk_autofree char *path = rk_command_file_find(command);
    *out_is_shell = false;
    for (int i = 0; path && i <= RK_COMMAND_FILE_MAX_SCRIPTS; i++) {
        __attribute__((cleanup(rk_executable_cleanup))) rk_executable file = {0};
        if (rk_command_file_is_python(path))
            return RK_TAKE(path);
        rk_executable_look(path, &file);
        *out_is_shell |= file.kind == RK_EXECUTABLE_SCRIPT;
        char *next = rk_command_file_find_interpreter(&file);
        rk_free(path);
        path = next;
    }
    return NULL;
}

static bool is_shell(const char *command) {
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", "fish", "make"};
    const char *name = rk_command_file_name(command);
    for (size_t i = 0; i < RK_ARRAY_LEN(shells); i++)
        if (strcmp(name, shells[i]) == 0)
            return true;
    return false;
}

// A later word that is a Python or a script of one: "mpirun -n 2 python job.py".
static char *find_argument(const rk_opt_operands *command) {
    for (size_t i = 1; i < command->count && i < ARGUMENTS_TRIED; i++) {
        bool ignored = false;
        const char *word = command->items[i];
        if (word[0] == '-' || strpbrk(word, " \t="))
            continue;
        char *found = rk_command_file_is_python(word) ? follow(word, &ignored) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

char *rk_command_python_find(const rk_opt_operands *command) {
    bool is_script = false, ignored = false;
    char *found = follow(command->items[0], &is_script);
    if (!found)
        found = find_argument(command);
    if (found || (!is_script && !is_shell(command->items[0])))
        return found;
    found = follow("python3", &ignored);
    return found ? found : follow("python", &ignored);
}

// The version in ".../lib/python3.11/site-packages". Owned: rk_free.
static char *version_in(const char *folder) {
    const char *at = strstr(folder, "/python3.");
    if (!at)
        return rk_need(rk_strdup("3"));
    at += strlen("/python");
    return rk_need(rk_strndup(at, strcspn(at, "/")));
}

// Asks a Python for its folders, and looks for torch there.
static bool ask(const char *python, rk_torch_install *out_install) {
    __attribute__((cleanup(rk_executable_cleanup))) rk_executable file = {0};
    RK_AUTO(rk_buf) folders = RK_BUF_INIT(0);
    bool found = false;
    rk_executable_look(python, &file);
    if (file.kind != RK_EXECUTABLE_SCRIPT)
        return false;
    rk_python_path_ask(python, &folders);
    for (char *line = (char *)folders.data, *next; line && *line && !found; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        rk_autofree char *version = version_in(line);
        rk_err_drop(rk_torch_install_look(line, version, out_install, &found),
                    "a folder that cannot be read has no torch");
    }
    return found;
}

static bool find_torch(const char *python, rk_torch_install *out_install) {
    const rk_torch_where where = {
        .python = python, .python_path = getenv("PYTHONPATH"), .home = getenv("HOME")};
    bool found = false;
    rk_err_drop(rk_torch_install_find(&where, out_install, &found),
                "a job without torch pays nothing");
    return found || ask(python, out_install);
}

bool rk_command_torch_find(const rk_opt_operands *command, rk_torch_install *out_install) {
    rk_autofree char *python = rk_command_python_find(command);
    return python && find_torch(python, out_install);
}

bool rk_command_torch_find_default(rk_torch_install *out_install) {
    static const char *const names[] = {"python3", "python"};
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++) {
        bool ignored = false;
        rk_autofree char *python = follow(names[i], &ignored);
        if (python && find_torch(python, out_install))
            return true;
    }
    return false;
}
