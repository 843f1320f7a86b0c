// Where in the user's source something comes from: of a location, which is a stack of frames, the
// innermost one that is the user's own, outside of frameworks, installed packages and Python's
// library.
#pragma once

#include "program/model.h"

typedef struct rk_source {
    rk_span file;     // empty: not known
    rk_span function; // as Python calls it ("main.<locals>.step"); may be empty
    uint32_t line;
    const rk_model *model; // borrowed: where it was found, with its whole stack; may be NULL
    uint32_t location;
} rk_source;

// How much a file is the user's own.
typedef enum rk_file_owner {
    RK_FILE_FRAMEWORK, // JAX, PyTorch and what is built upon them; Python's library; no file
    RK_FILE_PACKAGE,   // something else that is installed
    RK_FILE_USER,
} rk_file_owner;
rk_file_owner rk_file_owner_of(rk_span path);

// The user's place of a location: the innermost frame of the highest owner among its frames, but
// no framework's. False: there is none. Spans are borrowed from the model.
RK_NODISCARD bool rk_source_of(const rk_model *model, uint32_t location, rk_source *out_place);

// The frames of a location that have a file and are owned so much at least, the innermost first; at
// most `max`. How many.
uint32_t rk_source_frames(const rk_model *model, uint32_t location, rk_file_owner least,
                          rk_source *out_frames, uint32_t max);

// The outermost name of a location, which JAX and PyTorch/XLA make the path of scopes that an
// operation is in ("jit(step)/jvp()/mul"); empty if there is none.
rk_span rk_source_scope(const rk_model *model, uint32_t location);

// "file:line", or nothing where it is not known.
void rk_source_write(const rk_source *place, rk_buf *out);

static inline bool rk_source_same_line(const rk_source *a, const rk_source *b) {
    return a->line == b->line && rk_span_equal(a->file, b->file);
}
