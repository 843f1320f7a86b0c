#include "cli/unseen.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/command_file.h"
#include "cli/executable.h"
#include "cli/fail.h"
#include "cli/self.h"
#include "cli/text.h"

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
    rk_autofree char *path = rk_command_file_find(command);
    for (int i = 0; path && i <= RK_COMMAND_FILE_MAX_SCRIPTS; i++) {
        __attribute__((cleanup(rk_executable_cleanup))) rk_executable file;
        rk_executable_look(path, &file);
        const char *privilege = file.kind == RK_EXECUTABLE_SCRIPT ? NULL : find_privilege(path);
        const char *reason = privilege ? NULL : find_reason(&file);
        if (privilege || reason) {
            rk_text_add_printable(out, rk_span_text(path));
            rk_buf_add_format(out, " %s", privilege ? privilege : reason);
            if (privilege)
                rk_buf_add_text(out, ", so the loader ignores LD_PRELOAD in it: start `rekindle "
                                     "run` as the user and group that the program changes to, or "
                                     "use a copy of the program without these rights");
            return true;
        }
        char *next = rk_command_file_find_interpreter(&file);
        rk_free(path);
        path = next;
    }
    return false;
}
