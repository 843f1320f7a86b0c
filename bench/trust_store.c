// What the local store promises, put to the test on a directory of its own; the figures as one line
// of JSON. bench/trust runs it.
//
//     trust_store torn DIR READS      readers verify entries while writers replace them
//     trust_store kills DIR KILLS     writers are killed at random moments
//     trust_store damage DIR SAMPLES  bits are flipped, and the end is cut off
//     trust_store sync DIR PUTS MIB   puts with and without fsync, in turn
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/temporary.h"
#include "base/tree.h"
#include "store/store.h"

enum { KEYS = 8, VARIANTS = 3, PAYLOAD_BYTES = 60000, READERS = 2, WRITERS = 2 };

static uint8_t payloads[VARIANTS][PAYLOAD_BYTES];

static _Noreturn void fail(const char *what, const char *why) {
    (void)fprintf(stderr, "trust_store: %s: %s\n", what, why);
    exit(1);
}

static void need(rk_err *err) {
    if (err)
        fail("the store", rk_err_message(err));
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void make_payloads(void) {
    uint64_t random = 7;
    for (size_t variant = 0; variant < VARIANTS; variant++)
        for (size_t i = 0; i < PAYLOAD_BYTES; i++)
            payloads[variant][i] =
                variant == 0 ? (uint8_t)(i / 100) : (uint8_t)(next_random(&random) >> 24);
}

static rk_entry entry_of(unsigned key, unsigned variant) {
    rk_entry entry = {
        .kind = RK_ENTRY_EXECUTABLE,
        .created_ns = variant,
        .metadata = rk_span_text("{\"name\":\"jit_step\"}"),
        .payload = rk_span_of(payloads[variant], PAYLOAD_BYTES - key),
    };
    rk_digest_of(rk_span_of(&key, sizeof key), &entry.key.program);
    entry.key.digest = entry.key.program;
    return entry;
}

typedef struct findings {
    uint64_t reads, hits, wrong, faults;
} findings;

// One verified read.
static void read_one(rk_store *store, unsigned key, findings *found) {
    rk_key wanted = entry_of(key, 0).key;
    rk_store_lookup lookup = {0};
    need(rk_store_get(store, &wanted, &lookup));
    found->reads++;
    found->hits += lookup.found;
    found->faults += lookup.fault != RK_ENTRY_OK;
    if (lookup.found) {
        uint64_t variant = lookup.view.entry.created_ns;
        found->wrong +=
            variant >= VARIANTS ||
            !rk_span_equal(lookup.view.entry.payload, entry_of(key, (unsigned)variant).payload);
    }
    rk_store_lookup_cleanup(&lookup);
}

static _Noreturn void write_for_ever(const char *directory, uint64_t random) {
    rk_store *store = NULL;
    need(rk_store_open(directory, false, &store));
    for (;;) {
        uint64_t number = next_random(&random) >> 16;
        rk_entry entry = entry_of((unsigned)number % KEYS, (unsigned)(number >> 8) % VARIANTS);
        need(rk_store_put(store, &entry, NULL));
    }
}

static pid_t start_writer(const char *directory, uint64_t seed) {
    pid_t child = fork();
    if (child < 0)
        fail("fork", strerror(errno));
    if (child == 0)
        write_for_ever(directory, seed * 2 + 1);
    return child;
}

static void end_writer(pid_t child) {
    int status = 0;
    (void)kill(child, SIGKILL);
    if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
        fail("a writer", "ended by itself");
}

static pid_t start_reader(const char *directory, uint64_t reads, int result_fd) {
    pid_t child = fork();
    if (child != 0)
        return child;
    rk_store *store = NULL;
    findings found = {0};
    need(rk_store_open(directory, false, &store));
    for (uint64_t i = 0; i < reads; i++)
        read_one(store, (unsigned)i % KEYS, &found);
    _exit(write(result_fd, &found, sizeof found) == (ssize_t)sizeof found ? 0 : 1);
}

static void torn(const char *directory, uint64_t reads) {
    int ends[2];
    findings sum = {0};
    pid_t writers[WRITERS];
    rk_store *store = NULL;
    need(rk_store_open(directory, false, &store));
    for (unsigned key = 0; key < KEYS; key++) {
        rk_entry entry = entry_of(key, 0);
        need(rk_store_put(store, &entry, NULL));
    }
    rk_store_free(store);
    if (pipe(ends) != 0)
        fail("pipe", strerror(errno));
    for (unsigned i = 0; i < WRITERS; i++)
        writers[i] = start_writer(directory, i + 1);
    for (unsigned i = 0; i < READERS; i++)
        if (start_reader(directory, reads / READERS, ends[1]) < 0)
            fail("fork", strerror(errno));
    for (unsigned i = 0; i < READERS; i++) {
        findings one;
        if (read(ends[0], &one, sizeof one) != (ssize_t)sizeof one)
            fail("a reader", "gave no result");
        sum.reads += one.reads;
        sum.hits += one.hits;
        sum.wrong += one.wrong;
        sum.faults += one.faults;
    }
    for (unsigned i = 0; i < WRITERS; i++)
        end_writer(writers[i]);
    printf("{\"reads\":%llu,\"hits\":%llu,\"wrong\":%llu,\"torn\":%llu}\n",
           (unsigned long long)sum.reads, (unsigned long long)sum.hits,
           (unsigned long long)sum.wrong, (unsigned long long)sum.faults);
}

static rk_err *count_temporary(void *context, const char *name) {
    *(uint64_t *)context += rk_temporary_is_name(name);
    return NULL;
}

// Temporary files in the folders of all keys; swept before, if asked for.
static uint64_t leftovers(const char *directory, bool swept) {
    uint64_t count = 0;
    for (unsigned key = 0; key < KEYS; key++) {
        char hex[RK_DIGEST_HEX_CHARS + 1], folder[16];
        rk_key wanted = entry_of(key, 0).key;
        rk_digest_to_hex(&wanted.digest, hex);
        (void)snprintf(folder, sizeof folder, "objects/%.2s", hex);
        if (swept)
            rk_err_free(rk_tree_sweep(directory, folder, 0, NULL));
        rk_err_free(rk_tree_list(directory, folder, SIZE_MAX, count_temporary, &count));
    }
    return count;
}

static void kills(const char *directory, uint64_t times) {
    enum { LONGEST_US = 20000 };
    findings found = {0};
    uint64_t random = 99, slowest_ns = 0;
    for (uint64_t i = 0; i < times; i++) {
        pid_t writer = start_writer(directory, i);
        const struct timespec pause = {.tv_nsec = 1000 * (long)(next_random(&random) % LONGEST_US)};
        (void)nanosleep(&pause, NULL);
        end_writer(writer);
        rk_store *store = NULL;
        uint64_t start_ns = rk_monotonic_ns();
        need(rk_store_open(directory, false, &store));
        read_one(store, 0, &found);
        uint64_t took_ns = rk_monotonic_ns() - start_ns;
        slowest_ns = took_ns > slowest_ns ? took_ns : slowest_ns;
        for (unsigned key = 1; key < KEYS; key++)
            read_one(store, key, &found);
        rk_store_free(store);
    }
    uint64_t before = leftovers(directory, false), after = leftovers(directory, true);
    printf("{\"kills\":%llu,\"reads\":%llu,\"hits\":%llu,\"bad\":%llu,\"leftovers\":%llu,"
           "\"leftovers_after_sweep\":%llu,\"slowest_reopen_ms\":%.2f}\n",
           (unsigned long long)times, (unsigned long long)found.reads,
           (unsigned long long)found.hits, (unsigned long long)(found.wrong + found.faults),
           (unsigned long long)before, (unsigned long long)after, (double)slowest_ns / 1e6);
}

static bool is_caught(const rk_buf *data, size_t len) {
    rk_entry_view view;
    rk_entry_fault fault;
    need(rk_entry_decode(rk_span_of(data->data, len), NULL, RK_WANT_PAYLOAD, &view, &fault));
    rk_entry_view_cleanup(&view);
    return fault != RK_ENTRY_OK;
}

static bool flip_is_caught(const rk_buf *data, size_t bit) {
    data->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    bool caught = is_caught(data, data->len);
    data->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    return caught;
}

static void damage(uint64_t samples) {
    const uint8_t seed[RK_SIGN_SEED_BYTES] = {1};
    rk_sign_secret secret;
    rk_sign_public public_key;
    rk_entry entry = entry_of(1, 1);
    rk_buf data = {0};
    uint64_t random = 5, bits = 0, lengths = 0, missed = 0;
    rk_sign_from_seed(seed, &secret, &public_key);
    need(rk_entry_encode(&entry, &data));
    need(rk_entry_sign(&secret, &public_key, &data));
    if (is_caught(&data, data.len))
        fail("the entry", "is not sound to begin with");
    size_t tail = 8 * (data.len - RK_ENTRY_SIGNATURE_BYTES - RK_DIGEST_BYTES);
    for (size_t bit = 0; bit < 8 * data.len; bit++) {
        if (bit == (size_t)8 * RK_ENTRY_HEADER_BYTES)
            bit = tail; // between them: sampled below
        missed += !flip_is_caught(&data, bit);
        bits++;
    }
    for (uint64_t i = 0; i < samples; i++) {
        size_t first = (size_t)8 * RK_ENTRY_HEADER_BYTES;
        missed += !flip_is_caught(&data, first + next_random(&random) % (tail - first));
    }
    for (size_t len = 0; len < data.len; len++, lengths++)
        missed += !is_caught(&data, len);
    printf("{\"head_and_tail_bits\":%llu,\"payload_samples\":%llu,\"truncations\":%llu,"
           "\"missed\":%llu}\n",
           (unsigned long long)bits, (unsigned long long)samples, (unsigned long long)lengths,
           (unsigned long long)missed);
    rk_buf_cleanup(&data);
}

static int no_fsync(int fd) {
    (void)fd;
    return 0;
}

static int by_value(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static double time_put(rk_store *store, const rk_entry *entry) {
    uint64_t start_ns = rk_monotonic_ns();
    need(rk_store_put(store, entry, NULL));
    return (double)(rk_monotonic_ns() - start_ns) / 1e6;
}

static void sync_cost(const char *directory, uint64_t puts, uint64_t mib) {
    static rk_sys_table unsynced;
    unsynced = rk_sys_libc;
    unsynced.fsync_fn = no_fsync;
    size_t len = (size_t)mib << 20;
    uint8_t *payload = malloc(len);
    double *with = calloc(puts, sizeof *with), *without = calloc(puts, sizeof *without);
    rk_store *store = NULL;
    uint64_t random = 3;
    if (!payload || !with || !without)
        fail("sync", strerror(ENOMEM));
    // Half as compressible as executables are, which is to the disk's advantage in no way.
    for (size_t i = 0; i < len; i++)
        payload[i] = (uint8_t)(next_random(&random) >> 40) & 0x3f;
    rk_entry entry = entry_of(1, 1);
    entry.payload = rk_span_of(payload, len);
    need(rk_store_open(directory, false, &store));
    (void)time_put(store, &entry);
    for (uint64_t i = 0; i < puts; i++) {
        with[i] = time_put(store, &entry);
        rk_sys_replace(&unsynced);
        without[i] = time_put(store, &entry);
        rk_sys_replace(NULL);
        sync(); // so that the next one does not wait for this one's bytes
    }
    rk_store_free(store);
    qsort(with, puts, sizeof *with, by_value);
    qsort(without, puts, sizeof *without, by_value);
    printf("{\"mib\":%llu,\"with_fsync_ms\":%.1f,\"without_ms\":%.1f}\n", (unsigned long long)mib,
           with[puts / 2], without[puts / 2]);
    free(payload);
    free(with);
    free(without);
}

int main(int argc, char **argv) {
    if (argc < 4)
        fail("usage", "trust_store torn|kills|damage|sync DIR NUMBER [MIB]");
    uint64_t number = strtoull(argv[3], NULL, 10);
    make_payloads();
    if (strcmp(argv[1], "torn") == 0)
        torn(argv[2], number);
    else if (strcmp(argv[1], "kills") == 0)
        kills(argv[2], number);
    else if (strcmp(argv[1], "damage") == 0)
        damage(number);
    else if (strcmp(argv[1], "sync") == 0 && argc == 5)
        sync_cost(argv[2], number, strtoull(argv[4], NULL, 10));
    else
        fail("usage", argv[1]);
    return 0;
}
