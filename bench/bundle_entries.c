// Fills a store with entries of incompressible bytes, for bench/bundle. Usage: bench_bundle_entries
// DIRECTORY COUNT BYTES
#include <stdio.h>
#include <stdlib.h>

#include "store/store.h"

static void need(rk_err *err) {
    if (!err)
        return;
    (void)fprintf(stderr, "bench: %s\n", rk_err_message(err));
    exit(1);
}

// xorshift
static void fill(uint64_t *words, size_t count, uint64_t state) {
    for (size_t i = 0; i < count; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        words[i] = state;
    }
}

static rk_entry make_entry(unsigned long number, rk_span payload) {
    rk_entry entry = {
        .kind = RK_ENTRY_EXECUTABLE,
        .created_ns = 1,
        .compile_ns = 1000000000,
        .components = rk_span_text("{\"options\":[],\"environment\":[]}"),
        .metadata = rk_span_text("{\"name\":\"jit_step\",\"namespace\":\"\",\"toolchain\":{}}"),
        .payload = payload,
    };
    rk_digest_of(rk_span_of(&number, sizeof number), &entry.key.digest);
    rk_digest_of(rk_span_text("environment"), &entry.key.environment);
    return entry;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    unsigned long count = strtoul(argv[2], NULL, 10);
    size_t words = strtoul(argv[3], NULL, 10) / sizeof(uint64_t);
    uint64_t *payload = calloc(words ? words : 1, sizeof *payload);
    rk_store *store = NULL;
    if (!payload)
        return 1;
    need(rk_store_open(argv[1], false, &store));
    for (unsigned long i = 0; i < count; i++) {
        fill(payload, words, 0x9e3779b97f4a7c15u + i);
        rk_entry entry = make_entry(i, rk_span_of(payload, words * sizeof *payload));
        need(rk_store_put(store, &entry, NULL));
    }
    rk_store_free(store);
    free(payload);
    return 0;
}
