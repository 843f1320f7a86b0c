// Measures the local store; bench/store runs it and prints tables.
//
//     bench_store_cost DIRECTORY
//
// Makes stores of 10, 1,000 and 100,000 entries in DIRECTORY and measures all three in turn, so
// that other load on the machine affects all alike. Then collects the largest store while another
// thread reads from it. Prints JSON with times in nanoseconds: calls as {"median","q1","q3"}, and
// quantiles of hits beside other work.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/sys.h"
#include "store/gc.h"
#include "store/store.h"

enum {
    SIZES = 3,
    HOT = 10, // entries that every store holds and the benchmark reads
    PAYLOAD_BYTES = 16 << 10,
    BALLAST_BYTES = 1 << 10,
    ROUNDS = 300,
    GETS = 20, // per round
    PUTS = 1,
    MAX_READS = 4 << 20,
};

static const unsigned sizes[SIZES] = {10, 1000, 100000};
static rk_store *stores[SIZES];
static char *folders[SIZES];

static void check(rk_err *err) {
    if (!err)
        return;
    (void)fprintf(stderr, "bench_store_cost: %s\n", rk_err_message(err));
    exit(1);
}

static void *need(void *ptr) {
    if (!ptr)
        exit(1);
    return ptr;
}

static rk_entry entry_of(unsigned seed, size_t payload_bytes) {
    static uint64_t payload[PAYLOAD_BYTES / 8];
    uint64_t state = seed * 2 + 1;
    for (size_t i = 0; i < payload_bytes / 8; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        payload[i] = state;
    }
    rk_entry entry = {
        .kind = RK_ENTRY_EXECUTABLE,
        .created_ns = 1,
        .compile_ns = (1 + state % 1000) * 10000000, // up to ten seconds
        .metadata = rk_span_text("{\"name\":\"jit_step\"}"),
        .payload = rk_span_of(payload, payload_bytes),
    };
    rk_digest_of(rk_span_of(&seed, sizeof seed), &entry.key.program);
    rk_key_finish(&entry.key, "");
    return entry;
}

// Writes a file as a put would, without the syncs, last used 2 to 1,001 hours ago.
static void write_ballast(const char *folder, unsigned seed) {
    char hex[RK_DIGEST_HEX_CHARS + 1], path[8192];
    rk_entry entry = entry_of(seed, BALLAST_BYTES);
    RK_AUTO(rk_buf) file = {0};
    check(rk_entry_encode(&entry, &file));
    rk_digest_to_hex(&entry.key.digest, hex);
    (void)snprintf(path, sizeof path, "%s/objects/%.2s", folder, hex);
    (void)mkdir(path, 0700);
    (void)snprintf(path, sizeof path, "%s/objects/%.2s/%s.rkx", folder, hex, hex);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      {.tv_sec = time(NULL) - 7200 - (seed % 1000) * 3600}};
    if (fd < 0 || write(fd, file.data, file.len) != (ssize_t)file.len || futimens(fd, times) != 0 ||
        close(fd) != 0) {
        perror(path);
        exit(1);
    }
}

static void make_store(unsigned which, const char *directory) {
    char folder[4096], objects[4200];
    (void)snprintf(folder, sizeof folder, "%s/%u", directory, sizes[which]);
    (void)snprintf(objects, sizeof objects, "%s/objects", folder);
    folders[which] = need(strdup(folder));
    if (mkdir(folder, 0700) != 0 || mkdir(objects, 0700) != 0)
        exit(1);
    for (unsigned seed = HOT; seed < sizes[which]; seed++)
        write_ballast(folder, seed);
    check(rk_store_open(folder, false, &stores[which]));
    check(rk_store_set_limit(stores[which], (uint64_t)1 << 40));
    for (unsigned seed = 0; seed < HOT; seed++) {
        rk_entry entry = entry_of(seed, PAYLOAD_BYTES);
        check(rk_store_put(stores[which], &entry, NULL));
    }
}

static uint64_t get(rk_store *store, const rk_key *key, bool expected) {
    RK_AUTO(rk_store_lookup) lookup = {0};
    uint64_t start_ns = rk_monotonic_ns();
    check(rk_store_get(store, key, &lookup));
    uint64_t took_ns = rk_monotonic_ns() - start_ns;
    if (lookup.found != expected) {
        (void)fprintf(stderr, "bench_store_cost: an entry is %s\n", expected ? "missing" : "there");
        exit(1);
    }
    return took_ns;
}

static uint64_t put(rk_store *store, unsigned seed) {
    rk_entry entry = entry_of(seed, PAYLOAD_BYTES);
    uint64_t start_ns = rk_monotonic_ns();
    check(rk_store_put(store, &entry, NULL));
    return rk_monotonic_ns() - start_ns;
}

typedef struct times {
    uint64_t *items;
    size_t count;
} times;

static void add(times *list, uint64_t ns) {
    if (list->count < MAX_READS)
        list->items[list->count++] = ns;
}

static int by_size(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static uint64_t quantile(const times *list, double part) {
    return list->items[(size_t)((double)(list->count - 1) * part)];
}

static void sort(times *list) {
    qsort(list->items, list->count, sizeof *list->items, by_size);
}

static void print_times(const char *name, times list[SIZES]) {
    (void)printf("\"%s\":[", name);
    for (unsigned i = 0; i < SIZES; i++) {
        sort(&list[i]);
        (void)printf("%s{\"median\":%llu,\"q1\":%llu,\"q3\":%llu}", i ? "," : "",
                     (unsigned long long)quantile(&list[i], 0.5),
                     (unsigned long long)quantile(&list[i], 0.25),
                     (unsigned long long)quantile(&list[i], 0.75));
    }
    (void)printf("],");
}

static void measure_calls(void) {
    times hits[SIZES], misses[SIZES], puts[SIZES];
    for (unsigned i = 0; i < SIZES; i++) {
        hits[i] = (times){need(calloc(ROUNDS * GETS, sizeof(uint64_t))), 0};
        misses[i] = (times){need(calloc(ROUNDS * GETS, sizeof(uint64_t))), 0};
        puts[i] = (times){need(calloc(ROUNDS * PUTS, sizeof(uint64_t))), 0};
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < SIZES; i++) {
            for (unsigned n = 0; n < GETS; n++) {
                rk_entry hot = entry_of(n % HOT, 8), absent = entry_of(1u << 30 | n, 8);
                add(&hits[i], get(stores[i], &hot.key, true));
                add(&misses[i], get(stores[i], &absent.key, false));
            }
            add(&puts[i], put(stores[i], round % HOT));
        }
    }
    print_times("hit", hits);
    print_times("miss", misses);
    print_times("put", puts);
    for (unsigned i = 0; i < SIZES; i++) {
        free(hits[i].items);
        free(misses[i].items);
        free(puts[i].items);
    }
}

static atomic_bool stop;
static times reads;

static void *read_on(void *store) {
    rk_key keys[HOT];
    for (unsigned i = 0; i < HOT; i++)
        keys[i] = entry_of(i, 8).key;
    reads.count = 0;
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        struct rusage before, after;
        (void)getrusage(RUSAGE_THREAD, &before);
        uint64_t took_ns = get(store, &keys[i % HOT], true);
        (void)getrusage(RUSAGE_THREAD, &after);
        // A thread that only lost the processor waited for other threads, not for a lock or a disk.
        bool waited = after.ru_nvcsw != before.ru_nvcsw;
        if (waited || after.ru_nivcsw == before.ru_nivcsw)
            add(&reads, took_ns);
    }
    return NULL;
}

static uint64_t cpu_time_ns(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// Times hits while `body` runs in this thread. Prints the upper quantiles.
static void read_beside(const char *name, uint64_t (*body)(rk_store *store), rk_store *store) {
    pthread_t thread;
    atomic_store(&stop, false);
    if (pthread_create(&thread, NULL, read_on, store) != 0)
        exit(1);
    uint64_t cpu_ns = cpu_time_ns();
    uint64_t took_ns = body(store);
    cpu_ns = cpu_time_ns() - cpu_ns;
    atomic_store(&stop, true);
    (void)pthread_join(thread, NULL);
    sort(&reads);
    (void)printf(
        "\"%s\":{\"seconds\":%.3f,\"cpu_seconds\":%.3f,\"hits\":%zu,\"median\":%llu,\"p999\":%llu,"
        "\"p9999\":%llu,"
        "\"most\":%llu},",
        name, (double)took_ns / 1e9, (double)cpu_ns / 1e9, reads.count,
        (unsigned long long)quantile(&reads, 0.5), (unsigned long long)quantile(&reads, 0.999),
        (unsigned long long)quantile(&reads, 0.9999), (unsigned long long)quantile(&reads, 1));
}

// Only spins, and so shows how much any busy thread slows down hits on this machine.
static uint64_t spin(rk_store *store) {
    (void)store;
    uint64_t start_ns = rk_monotonic_ns();
    while (rk_monotonic_ns() - start_ns < UINT64_C(3000000000))
        ;
    return rk_monotonic_ns() - start_ns;
}

static rk_gc_report report;

static uint64_t collect(rk_store *store, uint64_t max_bytes) {
    uint64_t start_ns = rk_monotonic_ns();
    const rk_gc_options options = {.max_bytes = max_bytes, .older_than_ns = UINT64_MAX};
    check(rk_store_gc(store, &options, &report));
    return rk_monotonic_ns() - start_ns;
}

static uint64_t collect_nothing(rk_store *store) {
    return collect(store, UINT64_MAX);
}

static uint64_t collect_half(rk_store *store) {
    return collect(store, report.after.bytes / 2);
}

// Evicts entries to store one more, as a job does when the store is full.
static uint64_t evict(rk_store *store) {
    check(rk_store_set_limit(store, report.after.bytes + 4096));
    return put(store, HOT + (1u << 29));
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    reads.items = need(calloc(MAX_READS, sizeof *reads.items));
    for (unsigned i = 0; i < SIZES; i++)
        make_store(i, argv[1]);
    (void)printf("{");
    measure_calls();
    rk_store *large = stores[SIZES - 1];
    read_beside("spin", spin, large);
    read_beside("gc_nothing", collect_nothing, large);
    read_beside("evict", evict, large);
    check(rk_store_set_limit(large, (uint64_t)1 << 40));
    read_beside("gc_half", collect_half, large);
    (void)printf("\"removed\":%llu}\n", (unsigned long long)report.executables.files);
    for (unsigned i = 0; i < SIZES; i++) {
        rk_store_free(stores[i]);
        free(folders[i]);
    }
    free(reads.items);
    return 0;
}
