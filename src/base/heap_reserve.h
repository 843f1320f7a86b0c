// Heap reservations for threads that will make very many small allocations.
//
// glibc grows the heap of every thread except the first by one page at a time. Each page costs one
// mprotect call, and only one thread of a process can be inside mprotect at a time. Loading a
// program of 48 layers made 230,000 calls, which took a sixth of the load time. jaxlib made 85,000
// calls while it read an optimized program. If a thread allocates large blocks first and frees
// them, its heap has its full size and need not grow page by page.
#pragma once

#include <stddef.h>

enum { RK_HEAP_PINS_MAX = 32 };

typedef struct rk_heap_reservation {
    void *pins[RK_HEAP_PINS_MAX]; // blocks in use: glibc cannot return free memory below them
    size_t count;
} rk_heap_reservation;

// Gives the calling thread a heap early. Call this function first in a thread that will allocate
// much. glibc assigns a heap to a thread at its first allocation. It creates up to 8 heaps per
// processor; later threads share an existing heap, beginning with the first thread's. Threads that
// share a heap wait for each other at every allocation.
void rk_heap_claim(void);

// Reserves address space for `bytes`, at most 1 GiB, in the heap of the calling thread. Touches one
// page of every 128 KiB. Does nothing if address space is limited (RLIMIT_AS, RLIMIT_DATA, strict
// overcommit) or if malloc is not glibc's. Release the reservation with rk_heap_release.
void rk_heap_reserve(size_t bytes, rk_heap_reservation *out_reservation);

// Frees the pins. glibc may then return unused memory to the system.
void rk_heap_release(rk_heap_reservation *reservation);
