#include "cli/self.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cli/fail.h"

rk_err *rk_self_executable(char **out_path) {
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    if (len < 0)
        return rk_error_errno(errno, "cannot find this executable through /proc/self/exe "
                                     "(is /proc mounted?)");
    *out_path = rk_need(rk_strndup(path, (size_t)len));
    return NULL;
}

rk_err *rk_self_library(const char *name, char **out_path, bool *out_found) {
    rk_autofree char *path = NULL;
    RK_TRY(rk_self_executable(&path));
    // <prefix>/bin/rekindle → <prefix>/lib/<name>
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (!slash)
            break;
        *slash = '\0';
    }
    RK_AUTO(rk_buf) library = RK_BUF_INIT(0);
    rk_buf_add_format(&library, "%s/lib/%s", path, name);
    *out_path = rk_need(rk_strdup(rk_need_text(&library)));
    *out_found = access(*out_path, R_OK) == 0;
    return NULL;
}
