// The corpus: the programs in the store, each with its sketch. `explain` compares the compiled
// programs of a run with the corpus. For the command line only.
#pragma once

#include <jansson.h>

#include "diagnose/diff/sketch.h"
#include "store/store.h"

typedef struct rk_known {
    char hex[RK_DIGEST_HEX_CHARS + 1]; // the key's digest
    rk_key key;
    uint64_t created_ns;
    char *run, *job, *name; // of the first compilation; owned; "" if unknown
    char *format;
    rk_sketch sketch; // valid if has_sketch
    bool has_sketch;
} rk_known;

typedef struct rk_corpus {
    rk_store *store; // borrowed
    rk_known *items; // owned; sorted by key
    size_t count, capacity;
    size_t damaged; // files that could not be read
} rk_corpus;

// Progress callback. `step` is called from time to time with the number of programs read so far.
// NULL: no calls.
typedef struct rk_corpus_watch {
    void (*step)(void *context, uint64_t done);
    void *context;
} rk_corpus_watch;

// Reads the sketch of every program in the store. Makes sketches that are missing. `store` must
// outlive the corpus. Owned by the caller: rk_corpus_cleanup, also after an error.
RK_NODISCARD rk_err *rk_corpus_load(rk_store *store, rk_corpus_watch watch, rk_corpus *out_corpus);
void rk_corpus_cleanup(rk_corpus *corpus);

// Borrowed; NULL if the program is not found.
const rk_known *rk_corpus_find(const rk_corpus *corpus, const char *hex);

// Reads a sketch that rk_sketch_write wrote. `*out_read` is false if `json` is not a sketch, or is
// a sketch of another version. Owned by the caller: rk_sketch_cleanup, also after an error.
RK_NODISCARD rk_err *rk_sketch_read(const json_t *json, rk_sketch *out_sketch, bool *out_read);

// One program in full. `loaded` is false if the program cannot be read; that is no error. Owned by
// the caller: rk_loaded_cleanup, also after an error.
typedef struct rk_loaded {
    bool loaded;
    rk_store_lookup lookup;
    json_t *components; // owned; NULL if there are none
    json_t *toolchain;  // owned; versions by name; NULL if unknown
    rk_model *model;
    rk_program_index index;
} rk_loaded;
RK_NODISCARD rk_err *rk_corpus_open(const rk_corpus *corpus, const rk_known *known,
                                    rk_loaded *out_loaded);
void rk_loaded_cleanup(rk_loaded *loaded);
