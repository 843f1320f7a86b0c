// The preload stub: librekindle_preload.so stands before dlsym in every process of a job. At the
// first look-up of GetPjrtApi it opens librekindle_core.so, which lies beside it, and from then on
// answers that name with core's stand-ins. Everything else goes to the next dlsym (dlsym_*.S).
//
// The job's children may have any C library, of any age, or one that is not set up yet. So the stub
// needs no library and no symbol, and finds the few functions that it calls in the tables of what
// is loaded. It takes no lock: two threads that look GetPjrtApi up at once both open core, and get
// the same one.
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "pjrt/core.h"
#include "pjrt/loaded.h"

typedef void *dlsym_fn(void *handle, const char *name);
typedef void *dlopen_fn(const char *path, int flags);
typedef char *dlerror_fn(void);
typedef ssize_t write_fn(int fd, const void *data, size_t bytes);
typedef char *realpath_fn(const char *path, char *resolved);

// A function as the loader hands it out. (memcpy would be a call, where nothing is inlined.)
typedef union found {
    void *address;
    dlsym_fn *dlsym_at;
    dlopen_fn *dlopen_at;
    dlerror_fn *dlerror_at;
    write_fn *write_at;
    realpath_fn *realpath_at;
    rk_core_stand_in_fn *stand_in_at;
} found;

// What the assembly gets back, in two registers.
typedef struct dlsym_answer {
    void *instead;  // the answer itself; if NULL: jump to `next`
    dlsym_fn *next; // NULL if there is none
} dlsym_answer;

// Called by dlsym_*.S only.
RK_HIDDEN dlsym_answer rk_ld_preload_dlsym(void *handle, const char *name);

// The next one after this library, not the C library's: another library that stands before dlsym
// keeps its turn.
static dlsym_fn *next_dlsym(void) {
    static _Atomic(dlsym_fn *) known;
    found next = {.dlsym_at = atomic_load_explicit(&known, memory_order_relaxed)};
    if (next.address)
        return next.dlsym_at;
    const struct link_map *self = rk_loaded_self();
    next.address = self ? rk_loaded_find(self->l_next, "dlsym") : NULL;
    atomic_store_explicit(&known, next.dlsym_at, memory_order_relaxed);
    return next.dlsym_at;
}

// A path of the longest that realpath(3) writes, and a name behind it.
enum { PATH_BYTES = 4096, TEXT_BYTES = PATH_BYTES + sizeof RK_CORE_LIBRARY };

// As much of `text` as there is room for, after the first `len` bytes. The new length; `to` is
// terminated.
static size_t append(char to[static TEXT_BYTES], size_t len, const char *text) {
    while (*text && len < TEXT_BYTES - 1)
        to[len++] = *text++;
    to[len] = '\0';
    return len;
}

static void *open_beside(dlopen_fn *open, const char *library) {
    char path[TEXT_BYTES];
    size_t len = append(path, 0, library);
    while (len > 0 && path[len - 1] != '/')
        len--;
    (void)append(path, len, RK_CORE_LIBRARY);
    return open(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

// Beside this library, or beside what it is a link to. Where its own path is not absolute, the
// loader knows what it was relative to.
static void *open_core_library(dlopen_fn *open) {
    const struct link_map *self = rk_loaded_self();
    if (!self || self->l_name[0] != '/')
        return open_beside(open, "$ORIGIN/");
    void *core = open_beside(open, self->l_name);
    char target[PATH_BYTES];
    found resolve = {.address = rk_loaded_find(rk_loaded_first(), "realpath")};
    if (!core && resolve.address && resolve.realpath_at(self->l_name, target))
        core = open_beside(open, target);
    return core;
}

static void tell(const char *reason) {
    char line[TEXT_BYTES];
    size_t len = append(line, 0, "rekindle: ");
    len = append(line, len, reason);
    len = append(line, len, "; this process runs without rekindle\n");
    found print = {.address = rk_loaded_find(rk_loaded_first(), "write")};
    if (print.address && print.write_at(STDERR_FILENO, line, len) < 0)
        return; // nobody to tell
}

// Core's function, or NULL with the reason.
static rk_core_stand_in_fn *open_core(const char **out_reason) {
    const struct link_map *first = rk_loaded_first();
    found open = {.address = rk_loaded_find(first, "dlopen")};
    found error = {.address = rk_loaded_find(first, "dlerror")};
    found stand_in = {.address = NULL};
    if (!rk_loaded_is_glibc() || !open.address || !error.address) {
        *out_reason = "the C library of this process is not glibc";
        return NULL;
    }
    void *core = open_core_library(open.dlopen_at);
    if (core)
        stand_in.address = next_dlsym()(core, RK_CORE_NAME);
    if (!stand_in.address) {
        // Asked for in any case: what the process asks for later must be its own errors.
        const char *reason = error.dlerror_at();
        *out_reason = reason ? reason : RK_CORE_LIBRARY " cannot be opened";
    }
    return stand_in.stand_in_at;
}

static rk_core_stand_in_fn *core_stand_in(void) {
    static _Atomic(rk_core_stand_in_fn *) known;
    static atomic_bool failed;
    rk_core_stand_in_fn *stand_in = atomic_load_explicit(&known, memory_order_acquire);
    if (stand_in || atomic_load_explicit(&failed, memory_order_relaxed))
        return stand_in;
    const char *reason = NULL;
    stand_in = open_core(&reason);
    if (stand_in)
        atomic_store_explicit(&known, stand_in, memory_order_release);
    else if (!atomic_exchange(&failed, true))
        tell(reason);
    return stand_in;
}

static bool is_get_pjrt_api(const char *name) {
    const char *wanted = "GetPjrtApi";
    while (*wanted && *name == *wanted) {
        name++;
        wanted++;
    }
    return *name == *wanted;
}

dlsym_answer rk_ld_preload_dlsym(void *handle, const char *name) {
    dlsym_answer answer = {NULL, next_dlsym()};
    // RTLD_NEXT depends on the caller, which only a jump preserves.
    if (!answer.next || handle == RTLD_NEXT || !name || !is_get_pjrt_api(name))
        return answer;
    void *real = answer.next(handle, name);
    if (!real)
        return answer; // asked again by the jump, so that dlerror speaks of the caller's look-up
    rk_core_stand_in_fn *stand_in = core_stand_in();
    if (stand_in)
        answer.instead = stand_in(real);
    return answer;
}
