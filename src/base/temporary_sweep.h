// Removes temporary files (base/temporary.h) from folders that hold files of other programs too.
#pragma once

#include "base/status.h"

// Removes from an open folder, which may hold other files, the temporary files of the effective
// user whose writers are known to be dead. A file that cannot be removed stays, without an error.
RK_NODISCARD rk_err *rk_temporary_sweep(int dir_fd);
