// Writer and reader processes on the same keys. Every read is compared byte by byte with all
// contents that can have been written. Size: number of reads.
#include "promise.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/sys.h"

enum { KEYS = 16, VARIANTS = 3, READERS = 4, WRITERS = 2, LARGE_ROUNDS = 9 };

typedef struct shared {
    promise_reads reads;
    atomic_uint wanted, puts, refused;
    atomic_bool stop;
} shared;

static shared *all;
static const char *directory;

// From 1 KiB to 30 KiB: some need one write(2), others several.
static size_t bytes_of(unsigned key) {
    return (size_t)1024 + 2000 * (size_t)key;
}

static int read_on(void *context) {
    (void)context;
    rk_store *store = NULL;
    promise_ok(rk_store_open(directory, false, &store), "open");
    uint64_t random = (uint64_t)getpid() * 7919;
    while (all->reads.reads < all->wanted) {
        unsigned key = (unsigned)(promise_random(&random) >> 20) % KEYS;
        promise_read(store, key, VARIANTS, bytes_of(key), &all->reads);
    }
    rk_store_free(store);
    return 0;
}

static void put(rk_store *store, unsigned key, unsigned variant) {
    rk_entry entry = promise_entry(key, variant, bytes_of(key));
    rk_err *err = rk_store_put(store, &entry, NULL);
    all->refused += err != NULL;
    all->puts++;
    rk_err_free(err);
}

static int write_on(void *context) {
    (void)context;
    rk_store *store = NULL;
    promise_ok(rk_store_open(directory, false, &store), "open");
    promise_ok(rk_store_set_limit(store, UINT64_MAX), "limit");
    uint64_t random = (uint64_t)getpid() * 104729;
    while (!all->stop) {
        uint64_t number = promise_random(&random) >> 20;
        put(store, number % KEYS, (unsigned)(number / KEYS % VARIANTS));
    }
    rk_store_free(store);
    return 0;
}

static void no_torn_read(void) {
    all = promise_share(sizeof *all);
    all->wanted = promise_size(30000, 1000000);
    directory = promise_directory("atomic", false);
    rk_store *store = NULL;
    promise_ok(rk_store_open(directory, false, &store), "open");
    for (unsigned key = 0; key < KEYS; key++)
        put(store, key, 0);
    rk_store_free(store);
    pid_t readers[READERS], writers[WRITERS];
    for (unsigned i = 0; i < WRITERS; i++)
        writers[i] = promise_child(write_on, NULL);
    for (unsigned i = 0; i < READERS; i++)
        readers[i] = promise_child(read_on, NULL);
    bool fine = true;
    for (unsigned i = 0; i < READERS; i++)
        fine = promise_wait(readers[i]) == 0 && fine;
    all->stop = true;
    for (unsigned i = 0; i < WRITERS; i++)
        fine = promise_wait(writers[i]) == 0 && fine;
    const promise_reads *reads = &all->reads;
    unsigned torn = reads->damaged + reads->wrong;
    // Replacing an entry is atomic: a reader finds the old entry or the new one, never a miss.
    fine = fine && reads->misses == 0 && reads->failed == 0 && all->refused == 0 &&
           all->puts > KEYS && reads->reads >= all->wanted;
    promise_report("atomic publish, torn reads", "0 in 1000000", fine && torn == 0,
                   "%u in %u, %u missed, while %u processes put %u times", torn, reads->reads,
                   reads->misses + reads->failed, WRITERS, all->puts);
}

static int no_fsync(int fd) {
    (void)fd;
    return 0;
}

static double put_seconds(rk_store *store, size_t bytes, unsigned round, bool synced) {
    rk_sys_table table = rk_sys_libc;
    table.fsync_fn = no_fsync;
    rk_entry entry = promise_entry(round, synced, bytes);
    sync(); // writes back the dirty pages of other processes
    rk_sys_replace(synced ? NULL : &table);
    double start = promise_seconds();
    promise_ok(rk_store_put(store, &entry, NULL), "put");
    double seconds = promise_seconds() - start;
    rk_sys_replace(NULL);
    return seconds;
}

// Alternates between the two and takes the fastest of each, so that both meet the same load.
static void fsync_is_cheap(size_t mebibytes) {
    double fastest[2] = {1e9, 1e9};
    rk_store *store = NULL;
    promise_ok(rk_store_open(promise_directory("fsync", true), false, &store), "open");
    for (unsigned round = 0; round < LARGE_ROUNDS; round++) {
        for (unsigned synced = 0; synced < 2; synced++) {
            double seconds = put_seconds(store, mebibytes << 20, round, synced);
            if (seconds < fastest[synced])
                fastest[synced] = seconds;
        }
    }
    rk_store_free(store);
    double unsynced = fastest[0], synced = fastest[1];
    double share = 100 * (synced / unsynced - 1);
    promise_report("atomic publish, cost of fsync", "at most 20 %", share <= 20,
                   "%.0f %% of a put of %zu MiB (%.0f ms with it, %.0f ms without)", share,
                   mebibytes, synced * 1e3, unsynced * 1e3);
}

int main(int argc, char **argv) {
    promise_begin(argc, argv);
    no_torn_read();
    if (promise_full()) { // depends on the disk: not for make check
        fsync_is_cheap(16);
        fsync_is_cheap(64);
    }
    return promise_end();
}
