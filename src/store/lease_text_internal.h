// Writes and parses the text of a lease file; private to src/store.
//
//     rekindle lease 1 held 1795268333191848000 0 5f3ed4acfc21c51c 7562-3b1f-effffffc-…-node1\n
//     ....compiled 4853079000\n..
//
// The first line has the format, the state, the creation time, how long the state is valid (0:
// until the lease is released), a random number, and the holder (base/process.h). After the first
// line come heartbeats, one dot each. Once compiling is done, its duration in nanoseconds follows
// too.
#pragma once

#include "store/lease.h"

enum { RK_LEASE_MAX_BYTES = 64 << 10 };

// Appends the first line. `random` is 16 lower-case hex digits.
RK_HIDDEN void rk_lease_text_add(const rk_lease_view *view, const char *random, rk_buf *out);

// Parses any text, and fills all of `out_view`. A text that is no valid lease gets RK_LEASE_HELD
// and holder.pid 0.
RK_HIDDEN void rk_lease_text_parse(rk_span text, rk_lease_view *out_view);

// Returns the identity of a lease: a hash of its first line with the newline, or of the whole text
// if there is no newline. Never 0.
RK_HIDDEN uint64_t rk_lease_text_identity(rk_span text);
