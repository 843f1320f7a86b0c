#include "base/temporary_sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/at_internal.h"
#include "base/fd.h"
#include "base/temporary.h"

static rk_err *remove_if_dead(void *context, const char *name) {
    const int *dir_fd = context;
    struct stat info;
    if (rk_temporary_is_name(name) && rk_temporary_is_abandoned(name, 0) &&
        rk_sys()->fstatat_fn(*dir_fd, name, &info) == 0 && S_ISREG(info.st_mode) &&
        info.st_uid == geteuid())
        (void)rk_sys()->unlinkat_fn(*dir_fd, name, 0);
    return NULL;
}

rk_err *rk_temporary_sweep(int dir_fd) {
    enum { MOST_NAMES = 1 << 20 };
    rk_autofd fd = rk_fd_open(dir_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *directory = fd < 0 ? NULL : rk_sys()->fdopendir_fn(fd);
    if (!directory)
        return rk_error_errno(errno, "cannot list a folder");
    fd = -1; // the listing closes it
    return rk_at_list(directory, "a folder", MOST_NAMES, remove_if_dead, &dir_fd);
}
