// Processes whose working set is twice the cap. They store every program that they miss, as if
// compiled. Size: MiB of the cap.
#include "promise.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 16, LARGEST_KIB = 512, ROUNDS = 3 };

typedef struct shared {
    promise_reads reads;
    atomic_uint puts, no_space, failed;
    atomic_ullong put_bytes;
} shared;

static shared *all;
static const char *directory;
static uint64_t cap_bytes;
static unsigned keys;

// 32 to 512 KiB, 198 on average. About half remains after compression.
static size_t bytes_of(unsigned key) {
    return ((size_t)LARGEST_KIB << 10 >> (key % 5)) - key % 256;
}

static void put(rk_store *store, unsigned key) {
    rk_entry entry = promise_entry(key, 0, bytes_of(key));
    uint64_t stored = 0;
    rk_err *err = rk_store_put(store, &entry, &stored);
    bool no_space = rk_err_code(err) == RK_OUT_OF_RANGE;
    all->puts += !err;
    all->no_space += no_space;
    all->failed += err && !no_space;
    all->put_bytes += err ? 0 : stored;
    rk_err_free(err);
}

// Reads random keys, in an order of its own for each process, and stores those that are missing.
static int work(void *context) {
    uint64_t random = *(const unsigned *)context * 0x9e3779b97f4a7c15u + 1;
    rk_store *store = NULL;
    promise_ok(rk_store_open(directory, false, &store), "open");
    promise_ok(rk_store_set_limit(store, cap_bytes), "limit");
    for (unsigned i = 0; i < keys * ROUNDS / PROCESSES; i++) {
        unsigned key = (unsigned)(promise_random(&random) >> 20) % keys;
        rk_key name = promise_key(key);
        promise_read(store, key, 1, bytes_of(key), &all->reads);
        if (!rk_store_has(store, RK_ENTRY_EXECUTABLE, &name))
            put(store, key);
    }
    rk_store_free(store);
    return 0;
}

typedef struct watch {
    uint64_t peak_bytes;
    unsigned samples;
    atomic_bool stop;
} watch;

static int sample(void *context) {
    watch *seen = context;
    while (!seen->stop) {
        const struct timespec pause = {.tv_nsec = 5000000};
        promise_files files = promise_count_files(directory);
        uint64_t bytes = files.bytes - files.temporary_bytes;
        seen->peak_bytes = bytes > seen->peak_bytes ? bytes : seen->peak_bytes;
        seen->samples++;
        (void)nanosleep(&pause, NULL);
    }
    return 0;
}

static bool run(watch *seen) {
    pid_t children[PROCESSES], watcher = promise_child(sample, seen);
    unsigned started = 0;
    for (; started < PROCESSES; started++)
        children[started] = promise_child(work, &started);
    bool fine = true;
    for (unsigned i = 0; i < PROCESSES; i++)
        fine = promise_wait(children[i]) == 0 && fine;
    seen->stop = true;
    return promise_wait(watcher) == 0 && fine;
}

int main(int argc, char **argv) {
    promise_begin(argc, argv);
    cap_bytes = (uint64_t)promise_size(32, 1024) << 20;
    keys = (unsigned)(2 * cap_bytes / ((size_t)99 << 10));
    all = promise_share(sizeof *all);
    watch *seen = promise_share(sizeof *seen);
    directory = promise_directory("eviction", false);
    bool fine = run(seen);
    const promise_reads *reads = &all->reads;
    fine = fine && reads->wrong + reads->damaged + reads->failed + all->failed == 0;
    uint64_t in_flight = (uint64_t)PROCESSES * LARGEST_KIB << 10;
    // So much was stored that something was evicted, and the space is in use.
    bool full = all->put_bytes > cap_bytes + in_flight && seen->peak_bytes > cap_bytes * 3 / 4;
    promise_report("eviction under load, the cap", "never above cap + in flight, 0 wrong",
                   fine && full && seen->peak_bytes <= cap_bytes + in_flight,
                   "at most %.1f of %llu MiB in %u samples; %u processes, %u keys, %u reads, "
                   "%u wrong, %u hits; %u puts of %.0f MiB, %u without room, %u failed",
                   (double)seen->peak_bytes / 1048576, (unsigned long long)cap_bytes >> 20,
                   seen->samples, PROCESSES, keys, reads->reads, reads->wrong, reads->hits,
                   all->puts, (double)all->put_bytes / 1048576, all->no_space, all->failed);
    return promise_end();
}
