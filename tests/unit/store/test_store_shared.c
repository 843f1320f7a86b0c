// Many threads and several processes on the same keys. Each read entry is complete and right,
// whatever the others do.
#include "sample.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "support/tempdir.h"

enum { KEYS = 4, VARIANTS = 3, ROUNDS = 150, PAYLOAD_BYTES = 40000, THREADS = 8 };

// The payloads by variant. Their bytes reveal a mixture, and one variant is incompressible.
static uint8_t payloads[VARIANTS][PAYLOAD_BYTES];

static atomic_uint wrong, hits, damaged;

static void make_payloads(void) {
    uint64_t random = 42;
    for (size_t variant = 0; variant < VARIANTS; variant++)
        for (size_t i = 0; i < PAYLOAD_BYTES; i++)
            payloads[variant][i] = variant == 1 ? (uint8_t)(sample_random(&random) >> 24)
                                                : (uint8_t)(variant + i / 1000);
}

static rk_entry entry_of(unsigned key, unsigned variant) {
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, key);
    entry.created_ns = variant;
    entry.payload = rk_span_of(payloads[variant], PAYLOAD_BYTES - 100 * key);
    return entry;
}

static void read_one(rk_store *store, unsigned number) {
    rk_key key = sample_key(number);
    RK_AUTO(rk_store_lookup) lookup = {0};
    rk_err *err = rk_store_get(store, &key, &lookup);
    if (err)
        wrong++;
    rk_err_free(err);
    if (lookup.fault)
        damaged++;
    if (!lookup.found)
        return;
    hits++;
    uint64_t variant = lookup.view.entry.created_ns;
    if (variant >= VARIANTS ||
        !rk_span_equal(lookup.view.entry.payload, entry_of(number, (unsigned)variant).payload))
        wrong++;
}

static void write_one(rk_store *store, unsigned key, unsigned variant) {
    rk_entry entry = entry_of(key, variant);
    rk_err *err = rk_store_put(store, &entry, NULL);
    if (err)
        wrong++;
    rk_err_free(err);
}

typedef struct worker {
    rk_store *store;
    unsigned number;
    bool vandal; // overwrites entries in place, which rekindle never does
} worker;

// Writes in place, so that readers see every intermediate state. Readers must report a miss.
static void spoil_one(rk_store *store, unsigned number) {
    rk_key key = sample_key(number);
    char hex[RK_DIGEST_HEX_CHARS + 1];
    char path[4096];
    rk_digest_to_hex(&key.digest, hex);
    (void)snprintf(path, sizeof path, "%s/objects/%.2s/%s.rkx", rk_store_directory(store), hex,
                   hex);
    FILE *file = fopen(path, "r+b");
    if (!file)
        return;
    (void)fseek(file, 5000, SEEK_SET);
    (void)fputs("not what was there before", file);
    (void)fclose(file);
}

static void *work(void *context) {
    const worker *self = context;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned key = (round + self->number) % KEYS;
        if (self->vandal && round % 5 == 0)
            spoil_one(self->store, key);
        else if (self->number % 2)
            write_one(self->store, key, round % VARIANTS);
        else
            read_one(self->store, key);
        if (self->number == 1 && round % 10 == 9) {
            rk_key gone = sample_key(key);
            (void)rk_store_quarantine(self->store, &gone);
        }
    }
    return NULL;
}

static void run_threads(rk_store *store, bool vandal) {
    pthread_t threads[THREADS];
    worker workers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (worker){.store = store, .number = i, .vandal = vandal && i == 3};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static int set_up(void **state) {
    wrong = hits = damaged = 0;
    *state = rk_test_tempdir();
    return 0;
}

static int tear_down(void **state) {
    rk_test_tempdir_remove(*state);
    return 0;
}

static void assert_every_key_is_sound(rk_store *store) {
    for (unsigned key = 0; key < KEYS; key++)
        write_one(store, key, 0);
    hits = damaged = 0;
    for (unsigned key = 0; key < KEYS; key++)
        read_one(store, key);
    assert_int_equal(hits, KEYS);
    assert_int_equal(damaged, 0);
    assert_int_equal(wrong, 0);
}

static void threads_share_a_store(void **state) {
    rk_store *store = NULL;
    sample_ok(rk_store_open(*state, false, &store));
    for (unsigned key = 0; key < KEYS; key++)
        write_one(store, key, 0);
    run_threads(store, false);
    assert_int_equal(wrong, 0);
    assert_int_equal(damaged, 0); // replacing is atomic, so no read is torn
    assert_true(hits > 0);
    assert_every_key_is_sound(store);
    rk_store_free(store);
}

static void a_vandal_causes_misses_only(void **state) {
    rk_store *store = NULL;
    sample_ok(rk_store_open(*state, false, &store));
    run_threads(store, true);
    assert_int_equal(wrong, 0);
    assert_every_key_is_sound(store);
    rk_store_free(store);
}

static void work_as_a_process(const char *directory, unsigned number) {
    rk_store *store = NULL;
    rk_err *err = rk_store_open(directory, false, &store);
    if (err)
        _exit(1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        write_one(store, i % KEYS, (i + number) % VARIANTS);
        read_one(store, i % KEYS); // its own entry, or a newer one of the other process
    }
    bool fine = wrong == 0 && damaged == 0 && hits == ROUNDS;
    rk_store_free(store);
    _exit(fine ? 0 : 2);
}

static void processes_share_a_store(void **state) {
    pid_t children[2];
    for (unsigned i = 0; i < 2; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            work_as_a_process(*state, i);
    }
    for (unsigned i = 0; i < 2; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    rk_store *store = NULL;
    sample_ok(rk_store_open(*state, true, &store));
    for (unsigned key = 0; key < KEYS; key++)
        read_one(store, key);
    assert_int_equal(hits, KEYS);
    assert_int_equal(wrong, 0);
    assert_int_equal(sample_count_files(*state), KEYS); // no temporary files are left
    rk_store_free(store);
}

int main(void) {
    make_payloads();
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(processes_share_a_store),
        TEST(threads_share_a_store),
        TEST(a_vandal_causes_misses_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
