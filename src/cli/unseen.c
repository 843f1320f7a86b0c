#include "cli/unseen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/executable.h"
#include "cli/fail.h"
#include "cli/self.h"
#include "cli/text.h"

static bool is_runnable(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

// The file that execvp(3) runs. Owned: rk_free. NULL if there is none.
static char *find_file(const char *command) {
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

// The program that runs a script, according to its first line: the interpreter ("/bin/sh -e"), or
// the program that env(1) runs ("/usr/bin/env -S python3 -u"). Owned: rk_free. NULL if there is
// none.
static char *find_interpreter(rk_buf *first_line) {
    char *rest = NULL, *word = strtok_r((char *)first_line->data, " \t\r", &rest);
    if (!word)
        return NULL;
    const char *slash = strrchr(word, '/');
    if (strcmp(slash ? slash + 1 : word, "env") != 0)
        return find_file(word);
    do {
        word = strtok_r(NULL, " \t\r", &rest);
    } while (word && (word[0] == '-' || strchr(word, '=')));
    return word ? find_file(word) : NULL;
}

// Returns the reason why ld.so(8) ignores LD_PRELOAD in this program; NULL if there is none.
// Decides as the kernel does for the current user.
static const char *find_privilege(const char *path) {
    struct stat info;
    struct statvfs system;
    if (stat(path, &info) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
        (statvfs(path, &system) == 0 && (system.f_flag & ST_NOSUID)))
        return NULL;
    if ((info.st_mode & S_ISUID) && info.st_uid != getuid())
        return "changes its user as it starts (set-user-ID)";
    bool sets_group = (info.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
    if (sets_group && info.st_gid != getgid())
        return "changes its group as it starts (set-group-ID)";
    if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
        return "has file capabilities";
    return NULL;
}

static const char *find_reason(const rk_executable *file) {
    if (file->kind == RK_EXECUTABLE_ELF_32)
        return "is a 32-bit program, into which rekindle cannot be loaded";
    if (file->kind == RK_EXECUTABLE_ELF_FOREIGN)
        return "is a program for another processor, into which rekindle cannot be loaded";
    if (file->is_static)
        return "is linked statically, so that nothing can be preloaded into it: link it "
               "dynamically";
    if (file->is_musl)
        return "runs on musl, with which rekindle does not work: build it for glibc";
    if (file->calls_get_api)
        return "is linked to its plugin: preload " RK_PLUGIN_LIBRARY
               " into it, see \"The plugin entry path\" in docs/settings.md";
    return NULL;
}

bool rk_unseen_add_reason(const char *command, rk_buf *out) {
    enum { MOST_SCRIPTS = 4 }; // nested interpreters; the kernel has the same limit
    rk_autofree char *path = find_file(command);
    for (int i = 0; path && i <= MOST_SCRIPTS; i++) {
        __attribute__((cleanup(rk_executable_cleanup))) rk_executable file;
        rk_executable_look(path, &file);
        const char *privilege = file.kind == RK_EXECUTABLE_SCRIPT ? NULL : find_privilege(path);
        const char *reason = privilege ? NULL : find_reason(&file);
        if (privilege || reason) {
            rk_text_add_printable(out, rk_span_text(path));
            rk_buf_add_format(out, " %s", privilege ? privilege : reason);
            if (privilege)
                rk_buf_add_text(out, ", and what is preloaded is ignored in such a program: start "
                                     "`rekindle run` as the user that the job runs as");
            return true;
        }
        char *next = file.kind == RK_EXECUTABLE_SCRIPT ? find_interpreter(&file.first_line) : NULL;
        rk_free(path);
        path = next;
    }
    return false;
}
