// The text of a lease file. Inside src/store only.
//
//     rekindle lease 1 held 1795268333191848000 0 5f3ed4acfc21c51c 7562-3b1f-effffffc-…-node1\n
//     ....compiled 4853079000\n..
//
// The first line names format, state, when it was made, for how long it counts (0: until it is
// given back), a random number, and the holder (base/process.h). Behind it follow signs of life, a
// dot each, and when it has come to that, what compiling took in nanoseconds.
#pragma once

#include "store/lease.h"

enum { RK_LEASE_MAX_BYTES = 64 << 10 };

// Appends the first line. `random` is 16 lower-case hex digits.
RK_HIDDEN void rk_lease_text_add(const rk_lease_view *view, const char *random, rk_buf *out);

// Fills all of `out_view`. What is no lease gets RK_LEASE_HELD, and a holder with pid 0.
RK_HIDDEN void rk_lease_text_parse(rk_span text, rk_lease_view *out_view);

// Of the first line, newline included, or of all where there is none. Never 0.
RK_HIDDEN uint64_t rk_lease_text_identity(rk_span text);
