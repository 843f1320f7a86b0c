#include <errno.h>

#include "base/sys.h"
#include "store/store_path_internal.h"

// A full disk is tried again after this time, since space may be free by then. Other refusals are
// permanent.
static const uint64_t full_pause_ns = (uint64_t)60 * 1000000000;

bool rk_store_accepts(const rk_store *store) {
    uint64_t until_ns = atomic_load(&store->refused_until_ns);
    return !store->readonly && (until_ns == 0 || rk_monotonic_ns() >= until_ns);
}

rk_err *rk_store_check_accepts(const rk_store *store) {
    if (store->readonly)
        return rk_error(RK_PERMISSION_DENIED, "the store %s is open for reading only",
                        store->directory);
    if (rk_store_accepts(store))
        return NULL;
    return rk_error_errno(
        atomic_load(&store->refused_errno),
        "an earlier write to the store %s failed, and rekindle does not try again now",
        store->directory);
}

bool rk_store_note_refusal(rk_store *store, const rk_err *err) {
    int error_number = rk_err_errno(err);
    uint64_t until_ns;
    switch (error_number) {
    case EROFS:
    case EACCES:
    case EPERM:
        until_ns = UINT64_MAX;
        break;
    case ENOSPC:
    case EDQUOT:
        until_ns = rk_monotonic_ns() + full_pause_ns;
        break;
    default:
        return false;
    }
    atomic_store(&store->refused_errno, error_number);
    atomic_store(&store->refused_until_ns, until_ns);
    return true;
}
