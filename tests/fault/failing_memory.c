// A library to preload into a job. It counts the allocations of one shared library. The n-th
// returns NULL. This tests the whole library inside a process, where unit tests cannot replace its
// table.
//
//   FAILING_MEMORY_LIBRARY  part of the library's path, as the loader names it
//   FAILING_MEMORY_AT       n, from 1
//   FAILING_MEMORY_LASTING  if set, every later allocation fails too
//   FAILING_MEMORY_MARK     a file that grows by one byte per failed allocation
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);

static const char *library, *mark;
static unsigned long at;
static bool lasting;
static atomic_ulong counted;
static _Atomic uintptr_t start, end; // addresses of the library, once it is loaded

__attribute__((constructor)) static void read_plan(void) {
    const char *number = getenv("FAILING_MEMORY_AT");
    library = getenv("FAILING_MEMORY_LIBRARY");
    mark = getenv("FAILING_MEMORY_MARK");
    at = number ? strtoul(number, NULL, 10) : 0;
    lasting = getenv("FAILING_MEMORY_LASTING") != NULL;
}

static int visit(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    (void)context;
    if (!strstr(info->dlpi_name, library))
        return 0;
    uintptr_t from = UINTPTR_MAX, to = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD)
            continue;
        uintptr_t first = info->dlpi_addr + header->p_vaddr;
        from = first < from ? first : from;
        to = first + header->p_memsz > to ? first + header->p_memsz : to;
    }
    atomic_store(&end, to);
    atomic_store(&start, from);
    return 1;
}

// Searches for the library until it is loaded. The calling thread may already hold the loader's
// lock, which is recursive.
static bool comes_from_library(uintptr_t caller) {
    static _Thread_local bool looking;
    if (!library || !mark || looking)
        return false;
    if (!atomic_load(&start)) {
        looking = true;
        (void)dl_iterate_phdr(visit, NULL);
        looking = false;
    }
    return atomic_load(&start) && caller >= atomic_load(&start) && caller < atomic_load(&end);
}

static bool fails(void *caller) {
    if (!comes_from_library((uintptr_t)caller))
        return false;
    unsigned long number = atomic_fetch_add(&counted, 1) + 1;
    if (at == 0 || number < at || (number > at && !lasting))
        return false;
    int fd = open(mark, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd >= 0) {
        ssize_t written = write(fd, "x", 1);
        (void)written;
        (void)close(fd);
    }
    errno = ENOMEM;
    return true;
}

EXPORT void *malloc(size_t size) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

EXPORT void *realloc(void *block, size_t size) {
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(block, size);
}
