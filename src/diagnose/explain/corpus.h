// The programs that the store has kept, each with its sketch: what a program that was compiled is
// compared with. For the command line only.
#pragma once

#include <jansson.h>

#include "diagnose/diff/sketch.h"
#include "store/store.h"

typedef struct rk_known {
    char hex[RK_DIGEST_HEX_CHARS + 1]; // the key's digest
    rk_key key;
    uint64_t created_ns;
    char *run, *job, *name; // of who compiled it first; owned; "" if unknown
    char *format;
    rk_sketch sketch; // valid if has_sketch
    bool has_sketch;
} rk_known;

typedef struct rk_library {
    rk_store *store; // borrowed
    rk_known *items; // owned; by key
    size_t count, capacity;
    size_t damaged; // files that could not be used
} rk_library;

// Calls `step`, if it is not NULL, now and then with how many were read.
typedef struct rk_library_watch {
    void (*step)(void *context, uint64_t done);
    void *context;
} rk_library_watch;

// Reads the sketch of every program in the store, and makes those that are missing. `store` must
// outlive it. Owned: rk_library_cleanup, also after an error.
RK_NODISCARD rk_err *rk_library_load(rk_store *store, rk_library_watch watch,
                                     rk_library *out_library);
void rk_library_cleanup(rk_library *library);

const rk_known *rk_library_find(const rk_library *library, const char *hex); // NULL: not there

// A sketch as rk_sketch_write writes it; `*out_read` false where it is none, or of another version.
// Owned: rk_sketch_cleanup, also after an error.
RK_NODISCARD rk_err *rk_sketch_read(const json_t *json, rk_sketch *out_sketch, bool *out_read);

// One program in full. What cannot be read is a value: `loaded` false.
typedef struct rk_loaded {
    bool loaded;
    rk_store_lookup lookup;
    json_t *components; // owned; NULL if there are none
    json_t *toolchain;  // owned: versions by name; NULL if they are not known
    rk_model *model;
    rk_view view;
} rk_loaded;
RK_NODISCARD rk_err *rk_library_open(const rk_library *library, const rk_known *known,
                                     rk_loaded *out_loaded);
void rk_loaded_cleanup(rk_loaded *loaded);
