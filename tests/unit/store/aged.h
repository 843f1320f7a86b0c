// Stores full of entries of known size, cost and age.
#pragma once

#include "sample.h"

#include "store/gc.h"
#include "store/usage_internal.h"

typedef struct aged {
    unsigned seed;
    size_t payload_bytes; // of noise, so that the file is about as large
    double compile_seconds;
    double age_hours;
    const char *name_space; // in the metadata; NULL for none
} aged;

// Puts it, under sample_key(seed), and dates it back. Returns the size of the file.
uint64_t aged_put(rk_store *store, rk_entry_kind kind, const aged *what);

// The file's modification time becomes `hours` ago (negative: to come).
void aged_set_age(const char *path, double hours);

bool aged_has(rk_store *store, rk_entry_kind kind, unsigned seed);

// The bytes of all files in the places that count, as a listing finds them.
uint64_t aged_real_bytes(rk_store *store);

// The bytes of base and logs; fails the test if there is no account.
uint64_t aged_known_bytes(rk_store *store);
