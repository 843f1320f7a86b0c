// Positions in the user's source. A location is a stack of frames; its position is the innermost
// frame of the user's own code, outside of frameworks, installed packages and Python's standard
// library.
#pragma once

#include "program/model.h"

typedef struct rk_source {
    rk_span file;     // empty: unknown
    rk_span function; // Python's name ("main.<locals>.step"); may be empty
    uint32_t line;
    const rk_model *model; // borrowed: the model of `location`; may be NULL
    uint32_t location;     // the whole stack
} rk_source;

// Owner of a source file.
typedef enum rk_file_owner {
    RK_FILE_FRAMEWORK, // JAX, PyTorch, libraries on top of them; Python's own; no file
    RK_FILE_PACKAGE,   // another installed package
    RK_FILE_USER,
} rk_file_owner;
rk_file_owner rk_file_owner_of(rk_span path);

// The part of a path after "/site-packages/" or "/dist-packages/"; empty if it has neither.
rk_span rk_file_installed_part(rk_span path);

// Returns the name of the installed package that a file belongs to ("optax", from
// ".../site-packages/optax/_src/base.py"); empty if it belongs to none. Borrowed from `path`.
rk_span rk_source_package(rk_span path);

// True if a location of the program is in a file of the package. `package`: its name on PyPI.
bool rk_source_is_from(const rk_model *model, const char *package);

// Finds the user's position of a location: the innermost frame in a file of the user, else the
// innermost frame in an installed package. False if the location has neither. Spans are borrowed
// from the model.
RK_NODISCARD bool rk_source_of(const rk_model *model, uint32_t location, rk_source *out_place);

// Writes frames of a location, the innermost first, at most `max`. Leaves out frames without a
// file, and frames whose file has an owner lower than `least`. Returns the number of frames.
// Borrowed from the model.
uint32_t rk_source_frames(const rk_model *model, uint32_t location, rk_file_owner least,
                          rk_source *out_frames, uint32_t max);

enum { RK_PATH_MAX = 48 };

// The frames that lead to an operation, the innermost first.
typedef struct rk_path {
    rk_source frames[RK_PATH_MAX];
    uint32_t count;
} rk_path;

// Reads the frames of an operation, as rk_source_frames does for its location.
void rk_path_read(const rk_model *model, uint32_t op, rk_file_owner least, rk_path *out_path);

// Keeps the frames that are also in `other`, from the outermost one on.
void rk_path_keep_shared(rk_path *path, const rk_path *other);

// Returns the outermost name of a location; empty if there is none. JAX and PyTorch/XLA write the
// scope path of the operation there ("jit(step)/jvp()/mul"). Borrowed from the model.
rk_span rk_source_scope(const rk_model *model, uint32_t location);

// Appends "file:line", or nothing if the file is unknown.
void rk_source_write(const rk_source *place, rk_buf *out);

static inline bool rk_source_same_line(const rk_source *a, const rk_source *b) {
    return a->line == b->line && rk_span_equal(a->file, b->file);
}
