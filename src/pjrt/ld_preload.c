// The preload stub. librekindle_preload.so comes before the C library's dlsym in every process of a
// job. At the first look-up of GetPjrtApi, it opens librekindle_core.so from its own folder. From
// then on, it answers this name with core's substitutes, and passes every other name to the next
// dlsym (dlsym_*.S).
//
// The job's children may have any C library of any age, or one that is not initialized yet. So the
// stub needs no library and no symbol, and finds the few functions that it calls in the tables of
// the loaded objects. It takes no lock: if two threads look up GetPjrtApi at once, both open core
// and get the same library.
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

// A function's address, and the types to call it with. (A conversion by memcpy would be a call,
// because nothing is inlined.)
typedef union found {
    void *address;
    dlsym_fn *dlsym_at;
    dlopen_fn *dlopen_at;
    dlerror_fn *dlerror_at;
    write_fn *write_at;
    realpath_fn *realpath_at;
    rk_core_substitute_fn *substitute_at;
} found;

// The result for the assembly, in two registers.
typedef struct dlsym_answer {
    void *instead;  // the answer; if NULL, jump to `next`
    dlsym_fn *next; // NULL if there is none
} dlsym_answer;

// Called only by dlsym_*.S.
RK_HIDDEN dlsym_answer rk_ld_preload_dlsym(void *handle, const char *name);

// Returns the next dlsym after this library, not the C library's, so that another preloaded library
// with a dlsym of its own still gets its call.
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

// The longest path that realpath(3) writes, followed by a name.
enum { PATH_BYTES = 4096, TEXT_BYTES = PATH_BYTES + sizeof RK_CORE_LIBRARY };

// Appends `text` after the first `len` bytes, as far as it fits, and terminates `to`. Returns the
// new length.
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

// Opens core in the folder of this library, or of the file that this library is a link to. If this
// library's path is not absolute, only the loader can resolve it, through $ORIGIN.
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

static void warn(const char *reason) {
    char line[TEXT_BYTES];
    size_t len = append(line, 0, "rekindle: ");
    len = append(line, len, reason);
    len = append(line, len, "; this process runs without rekindle\n");
    found print = {.address = rk_loaded_find(rk_loaded_first(), "write")};
    if (print.address && print.write_at(STDERR_FILENO, line, len) < 0)
        return; // stderr cannot be written
}

// Returns core's function, or NULL with the reason.
static rk_core_substitute_fn *open_core(const char **out_reason) {
    const struct link_map *first = rk_loaded_first();
    found open = {.address = rk_loaded_find(first, "dlopen")};
    found error = {.address = rk_loaded_find(first, "dlerror")};
    found substitute = {.address = NULL};
    if (!rk_loaded_is_glibc() || !open.address || !error.address) {
        *out_reason = "the C library of this process is not glibc";
        return NULL;
    }
    void *core = open_core_library(open.dlopen_at);
    if (core)
        substitute.address = next_dlsym()(core, RK_CORE_NAME);
    if (!substitute.address) {
        // Called in any case, to clear the error: the process must find only errors of its own
        // calls.
        const char *reason = error.dlerror_at();
        *out_reason = reason ? reason : RK_CORE_LIBRARY " cannot be opened";
    }
    return substitute.substitute_at;
}

static rk_core_substitute_fn *core_substitute(void) {
    static _Atomic(rk_core_substitute_fn *) known;
    static atomic_bool failed;
    rk_core_substitute_fn *substitute = atomic_load_explicit(&known, memory_order_acquire);
    if (substitute || atomic_load_explicit(&failed, memory_order_relaxed))
        return substitute;
    const char *reason = NULL;
    substitute = open_core(&reason);
    if (substitute)
        atomic_store_explicit(&known, substitute, memory_order_release);
    else if (!atomic_exchange(&failed, true))
        warn(reason);
    return substitute;
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
        return answer; // the jump repeats the look-up, so that dlerror reports the caller's own
    rk_core_substitute_fn *substitute = core_substitute();
    if (substitute)
        answer.instead = substitute(real);
    return answer;
}
