// Hands one stream of bytes to consumers, such as hashes, that run on threads of their own while
// the caller reads and writes files.
//
//     rk_relay_begin(consumers, 2, len, true, &relay);
//     for each part:
//         uint8_t *buffer = rk_relay_buffer(relay);
//         …                                // read up to RK_RELAY_PART_BYTES into `buffer`
//         rk_relay_pass(relay, len);
//         …                                // the caller may still read `buffer`, until the next
//                                          // call of rk_relay_buffer
//     rk_relay_end(relay);                 // all consumers have received everything
//
// The caller is one thread. Consumers make no system calls through base/sys.h.
#pragma once

#include "base/span.h"
#include "base/status.h"

enum { RK_RELAY_PART_BYTES = 512 << 10, RK_RELAY_PARTS = 4, RK_RELAY_CONSUMERS_MAX = 2 };

// Receives the parts in order. `part` is borrowed during the call.
typedef struct rk_relay_consumer {
    void (*add)(void *context, rk_span part);
    void *context;
} rk_relay_consumer;

typedef struct rk_relay rk_relay;

// `len`: of the whole stream. If it fits into one part, or without `is_threaded`, the consumers run
// inside rk_relay_pass, and there is one buffer, no longer than `len`. They also do so if the
// system has no thread left. `out_relay` is owned: rk_relay_end. Fails only with
// RK_RESOURCE_EXHAUSTED.
RK_NODISCARD rk_err *rk_relay_begin(const rk_relay_consumer *consumers, size_t count, uint64_t len,
                                    bool is_threaded, rk_relay **out_relay);

// Returns the next buffer of RK_RELAY_PART_BYTES, or of the stream's length if that is less. Waits
// until the consumers are done with it.
uint8_t *rk_relay_buffer(rk_relay *relay);

// Passes the first `len` bytes of the last buffer to the consumers.
void rk_relay_pass(rk_relay *relay, size_t len);

// Waits for the consumers, and frees the relay. NULL is fine.
void rk_relay_end(rk_relay *relay);
