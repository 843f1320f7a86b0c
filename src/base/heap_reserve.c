#include "base/heap_reserve.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/fs.h"

// A block is just too small for glibc to map it outside the heap. A thread's heap has 64 MiB, so
// each heap gets one or two pins.
#define BLOCK_BYTES (((size_t)128 << 10) - 64)
#define MAX_BYTES   ((size_t)1 << 30)
enum { BLOCKS_A_PIN = 400 };

static bool is_limited(__rlimit_resource_t resource) {
    struct rlimit limit;
    return getrlimit(resource, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

// True for strict overcommit (mode 2): other processes would lack the reserved memory for a moment.
static bool is_strict(void) {
    RK_AUTO(rk_buf) mode = {0};
    rk_err *err = rk_fs_read("/proc/sys/vm/overcommit_memory", 16, &mode);
    bool strict = err || mode.len == 0 || mode.data[0] == '2';
    rk_err_drop(err, "then no memory is reserved");
    return strict;
}

// A replacement of malloc replaces these functions too. The address of malloc itself proves
// nothing: in a program linked to a fixed address (some builds of Python) it is that of a stub.
static bool is_glibcs_malloc(void) {
    static const char *const names[] = {"malloc_usable_size", "memalign"};
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    if (!libc)
        return false;
    bool its_own = true;
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++)
        its_own &= dlsym(RTLD_DEFAULT, names[i]) == dlsym(libc, names[i]);
    (void)dlclose(libc);
    return its_own;
}

static bool is_possible; // set once per process

static void look(void) {
    is_possible = is_glibcs_malloc() && !is_strict();
}

void rk_heap_claim(void) {
    rk_free(rk_malloc(1));
}

void rk_heap_reserve(size_t bytes, rk_heap_reservation *out_reservation) {
    *out_reservation = (rk_heap_reservation){0};
    size_t count = (bytes < MAX_BYTES ? bytes : MAX_BYTES) / BLOCK_BYTES;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, look);
    if (count == 0 || !is_possible || is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA))
        return;
    void **last = NULL; // each block holds the address of the previous block
    for (size_t i = 0; i < count; i++) {
        void **block = rk_malloc(BLOCK_BYTES);
        if (!block)
            break;
        *block = last;
        last = block;
    }
    for (size_t i = 0; last; i++) { // pins the last block first: glibc returns nothing below it
        void **before = *last;
        if (i % BLOCKS_A_PIN == 0 && out_reservation->count < RK_HEAP_PINS_MAX)
            out_reservation->pins[out_reservation->count++] = last;
        else
            rk_free(last);
        last = before;
    }
}

void rk_heap_release(rk_heap_reservation *reservation) {
    for (size_t i = 0; i < reservation->count; i++)
        rk_free(reservation->pins[i]);
    *reservation = (rk_heap_reservation){0};
}
