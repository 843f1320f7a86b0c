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

typedef struct rk_corpus {
    rk_store *store; // borrowed
    rk_known *items; // owned; by key
    size_t count, capacity;
    size_t damaged; // files that could not be used
} rk_corpus;

// Calls `step`, if it is not NULL, now and then with how many were read.
typedef struct rk_corpus_watch {
    void (*step)(void *context, uint64_t done);
    void *context;
} rk_corpus_watch;

// Reads the sketch of every program in the store, and makes those that are missing. `store` must
// outlive it. Owned: rk_corpus_cleanup, also after an error.
RK_NODISCARD rk_err *rk_corpus_load(rk_store *store, rk_corpus_watch watch, rk_corpus *out_library);
void rk_corpus_cleanup(rk_corpus *library);

const rk_known *rk_corpus_find(const rk_corpus *library, const char *hex); // NULL: not there

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
    rk_program_index view;
} rk_loaded;
RK_NODISCARD rk_err *rk_corpus_open(const rk_corpus *library, const rk_known *known,
                                    rk_loaded *out_loaded);
void rk_loaded_cleanup(rk_loaded *loaded);
