#include "identity/key.h"

// Bumped whenever the content of a key or its order changes, so that old entries never match.
static const char KEY_VERSION[] = "rekindle key 1";

void rk_key_finish(rk_key *key, const char *name_space) {
    rk_hasher hasher;
    rk_hasher_init(&hasher);
    rk_hasher_add_field(&hasher, rk_span_text(KEY_VERSION));
    rk_hasher_add_field(&hasher, rk_span_text(name_space));
    rk_hasher_add(&hasher, key->program.bytes, RK_DIGEST_BYTES);
    rk_hasher_add(&hasher, key->options.bytes, RK_DIGEST_BYTES);
    rk_hasher_add(&hasher, key->environment.bytes, RK_DIGEST_BYTES);
    rk_hasher_finish(&hasher, &key->digest);
}

bool rk_key_equal(const rk_key *a, const rk_key *b) {
    return rk_digest_equal(&a->digest, &b->digest) && rk_digest_equal(&a->program, &b->program) &&
           rk_digest_equal(&a->options, &b->options) &&
           rk_digest_equal(&a->environment, &b->environment);
}
