// Stores with entries of known size, cost and age.
#pragma once

#include "sample.h"

#include "store/gc.h"
#include "store/usage_internal.h"

typedef struct aged {
    unsigned seed;
    size_t payload_bytes; // random bytes, so that the file has about this size
    double compile_seconds;
    double age_hours;
    const char *name_space; // in the metadata; NULL: none
} aged;

// Stores the entry under sample_key(seed) and sets its age. Returns the size of the file.
uint64_t aged_put(rk_store *store, rk_entry_kind kind, const aged *what);

// Sets the file's modification time to `hours` ago (negative: in the future).
void aged_set_age(const char *path, double hours);

bool aged_has(rk_store *store, rk_entry_kind kind, unsigned seed);

// Total size of all counted files, from a listing.
uint64_t aged_real_bytes(rk_store *store);

// Total size by the base and the logs. Fails the test if there is no account.
uint64_t aged_known_bytes(rk_store *store);
