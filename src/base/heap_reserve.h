// Room on the heap, for a thread that is about to make very many small allocations.
//
// glibc grows the heap of every thread but the first by a page at a time, with one mprotect each,
// which all threads of the process wait for: loading a program of 48 layers made 230,000 of them, a
// sixth of what it took, and jaxlib made 85,000 reading what another had become. Blocks that are
// allocated at once and freed again leave heaps that need not grow.
#pragma once

#include <stddef.h>

enum { RK_HEAP_PINS_MAX = 32 };

typedef struct rk_heap_reservation {
    void *pins[RK_HEAP_PINS_MAX]; // they keep what is free from being given back
    size_t count;
} rk_heap_reservation;

// The first thing that a thread does which will allocate much. glibc gives a thread its heap when
// it first allocates something: one of its own while there are some left (8 for each processor),
// and then another's, beginning with that of the first thread; and who shares a heap takes turns.
void rk_heap_claim(void);

// Makes room for `bytes`, 1 GiB at most, in the heap of this thread, as address space: of every 128
// KiB one page is touched. Does nothing where address space is scarce or malloc is not glibc's.
void rk_heap_reserve(size_t bytes, rk_heap_reservation *out_room);

// What was not used may be given back.
void rk_heap_release(rk_heap_reservation *room);
