// The key of an executable: a digest over program, options and environment, together with the
// digest of each.
#pragma once

#include "base/digest.h"

typedef struct rk_key {
    rk_digest digest; // over the digests below, the key version and the namespace; names the entry
    rk_digest program;
    rk_digest options;
    rk_digest environment;
} rk_key;

// Computes `key->digest` from the other three digests. `name_space` is REKINDLE_NAMESPACE, "" for
// none.
void rk_key_finish(rk_key *key, const char *name_space);

// True if all four digests are equal, as a hit requires.
RK_NODISCARD bool rk_key_equal(const rk_key *a, const rk_key *b);
