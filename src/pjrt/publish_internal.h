// Stores compiled executables, or only their programs, in the background (cache/publisher.h). Used
// only inside src/pjrt.
#pragma once

#include "pjrt/request_internal.h"

// Limit for all programs together that wait in the background to be stored or verified. They are
// copies of the framework's programs.
#define RK_WAITING_MAX_BYTES ((size_t)512 << 20)

// How long other processes compile without waiting, after a program was not kept: RK_SETTLED_NS if
// the reason is permanent, RK_BAD_LUCK_NS if it may be temporary.
#define RK_SETTLED_NS  (3600 * (uint64_t)1000000000u)
#define RK_BAD_LUCK_NS (10 * (uint64_t)1000000000u)

// True if this process can store executables of this plugin and this key.
RK_HIDDEN bool rk_publish_possible(const rk_request *r);

// Sets the request's name from the compiled executable, and publishes the executable if its
// compilation took long enough.
RK_HIDDEN void rk_publish_compiled(rk_request *r);

// Like rk_publish_compiled, for AOT. The framework owns the executable and may destroy it at any
// time, so it is serialized before this function returns and stored in the background. May block
// while the plugin serializes.
RK_HIDDEN void rk_publish_aot(rk_request *r, PJRT_Executable *executable);

// Stores only the program of a request whose executable is not stored or does not exist, so that
// the command line can explain it.
RK_HIDDEN void rk_publish_program(const rk_request *r);

// True if this run published the entry with this metadata.
RK_HIDDEN bool rk_publish_was_ours(const rk_request *r, rk_span metadata);

// Reads the digest of the program bytes that the entry with this metadata was compiled from. False
// if the metadata does not contain it.
RK_NODISCARD RK_HIDDEN bool rk_publish_made_of(rk_span metadata, rk_digest *out_digest);
