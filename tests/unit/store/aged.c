#include "aged.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include "base/sys.h"

uint64_t aged_put(rk_store *store, rk_entry_kind kind, const aged *what) {
    char metadata[128];
    uint8_t *payload = sample_noise(what->payload_bytes, what->seed);
    rk_entry entry = sample_entry(kind, what->seed);
    (void)snprintf(metadata, sizeof metadata, "{\"name\":\"jit_step\",\"namespace\":\"%s\"}",
                   what->name_space ? what->name_space : "");
    entry.metadata = rk_span_text(metadata);
    entry.payload = rk_span_of(payload, what->payload_bytes);
    entry.compile_ns = (uint64_t)(what->compile_seconds * 1e9);
    uint64_t bytes = 0;
    sample_ok(rk_store_put(store, &entry, &bytes));
    free(payload);
    char *path = sample_path(rk_store_directory(store), kind, &entry.key);
    aged_set_age(path, what->age_hours);
    free(path);
    return bytes;
}

void aged_set_age(const char *path, double hours) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = now.tv_sec - (time_t)(hours * 3600), .tv_nsec = now.tv_nsec},
    };
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

bool aged_has(rk_store *store, rk_entry_kind kind, unsigned seed) {
    rk_key key = sample_key(seed);
    return rk_store_has(store, kind, &key);
}

uint64_t aged_real_bytes(rk_store *store) {
    rk_usage_state *state = calloc(1, sizeof *state);
    assert_non_null(state);
    sample_ok(rk_usage_count_all(store, &state->table));
    uint64_t bytes = (uint64_t)rk_usage_sum(state).bytes;
    free(state);
    return bytes;
}

uint64_t aged_known_bytes(rk_store *store) {
    RK_AUTO_USAGE state = NULL;
    sample_ok(rk_usage_read(store, &state));
    assert_true(state->known);
    return (uint64_t)rk_usage_sum(state).bytes;
}
