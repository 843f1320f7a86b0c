// The key of an executable: program ‖ options ‖ environment, with the digest of each kept beside
// it.
#pragma once

#include "base/digest.h"

typedef struct rk_key {
    rk_digest digest; // over the three below, the key's version and the namespace: names the entry
    rk_digest program;
    rk_digest options;
    rk_digest environment;
} rk_key;

// Fills `key->digest` from the other three. `name_space` is REKINDLE_NAMESPACE, "" for none.
void rk_key_finish(rk_key *key, const char *name_space);

// All four digests equal: what a hit demands.
RK_NODISCARD bool rk_key_equal(const rk_key *a, const rk_key *b);
