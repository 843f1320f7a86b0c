#include "cli/command_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/fail.h"

static bool is_runnable(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

char *rk_command_file_find(const char *command) {
    if (strchr(command, '/'))
        return rk_need(rk_strdup(command));
    const char *folders = getenv("PATH");
    for (const char *at = folders ? folders : "/bin:/usr/bin"; at;) {
        size_t len = strcspn(at, ":");
        RK_AUTO(rk_buf) path = RK_BUF_INIT(0);
        rk_buf_add_format(&path, "%.*s%s%s", (int)len, at, len ? "/" : "", command);
        if (is_runnable(rk_need_text(&path)))
            return rk_need(rk_strdup(rk_buf_text(&path)));
        at = at[len] ? at + len + 1 : NULL;
    }
    return NULL;
}

const char *rk_command_file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

bool rk_command_file_is_python(const char *path) {
    const char *name = rk_command_file_name(path);
    return strncmp(name, "python", 6) == 0 || strncmp(name, "pypy", 4) == 0;
}

char *rk_command_file_find_interpreter(const rk_executable *script) {
    if (script->kind != RK_EXECUTABLE_SCRIPT)
        return NULL;
    rk_autofree char *first_line = rk_need(rk_strdup(rk_buf_text(&script->first_line)));
    char *rest = NULL, *word = strtok_r(first_line, " \t\r", &rest);
    if (!word)
        return NULL;
    if (strcmp(rk_command_file_name(word), "env") != 0)
        return rk_command_file_find(word);
    do {
        word = strtok_r(NULL, " \t\r", &rest);
    } while (word && (word[0] == '-' || strchr(word, '=')));
    return word ? rk_command_file_find(word) : NULL;
}
