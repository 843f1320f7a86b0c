// A process that ends at each of its system calls, or is killed at random times. Size: number of
// kills.
#include "promise.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "store/gc.h"
#include "support/faults.h"

enum { KEYS = 4, VARIANTS = 3, BYTES = 6000, MAX_REOPENS = 20000 };
static const uint64_t limit_bytes = 4 << 20;

static const char *directory;
static unsigned bad, stuck, leftovers, unreclaimed;
static double reopens[MAX_REOPENS];
static unsigned reopen_count;

static rk_store *open_store(void) {
    rk_store *store = NULL;
    promise_ok(rk_store_open(directory, false, &store), "open");
    promise_ok(rk_store_set_limit(store, limit_bytes), "limit");
    return store;
}

static void put(rk_store *store, unsigned key, unsigned variant) {
    rk_entry entry = promise_entry(key, variant, BYTES);
    rk_err_free(rk_store_put(store, &entry, NULL));
}

// All operations of a process: open, look up, store, replace, quarantine.
static void live(unsigned variant) {
    static promise_reads ignored;
    rk_store *store = open_store();
    for (unsigned key = 0; key < KEYS; key++) {
        rk_key name = promise_key(key);
        promise_read(store, key, VARIANTS, BYTES, &ignored);
        put(store, key, variant);
        if (key == 3)
            (void)rk_store_quarantine(store, &name);
    }
    rk_store_free(store);
}

// The next process opens the store at once, reads only valid entries, and stores.
static void check_next(void) {
    promise_reads reads = {0};
    double start = promise_seconds();
    rk_store *store = open_store();
    promise_read(store, 0, VARIANTS, BYTES, &reads);
    if (reopen_count < MAX_REOPENS)
        reopens[reopen_count++] = promise_seconds() - start;
    for (unsigned key = 1; key < KEYS; key++)
        promise_read(store, key, VARIANTS, BYTES, &reads);
    bad += reads.wrong + reads.damaged + reads.failed;
    rk_entry entry = promise_entry(KEYS, 0, BYTES);
    rk_err *err = rk_store_put(store, &entry, NULL);
    stuck += err != NULL;
    rk_err_free(err);
    rk_store_free(store);
}

static bool collect(void) {
    const rk_gc_options options = {.max_bytes = UINT64_MAX, .older_than_ns = UINT64_MAX};
    rk_gc_report report;
    rk_store *store = open_store();
    rk_err *err = rk_store_gc(store, &options, &report);
    bool fine = !err;
    if (err)
        (void)printf("%s\n", rk_err_message(err));
    rk_err_free(err);
    rk_store_free(store);
    return fine;
}

static void check_collected(void) {
    leftovers += promise_count_files(directory).temporary;
    stuck += !collect();
    unreclaimed += promise_count_files(directory).temporary;
}

typedef struct short_life {
    rk_fault_plan plan;
    bool collects; // collects instead of all other operations
} short_life;

static int live_until(void *context) {
    const short_life *self = context;
    rk_fault_begin(&self->plan);
    if (self->collects)
        return collect() ? 0 : 1;
    live(1);
    return 0;
}

// Returns the number of system calls, at most `most`.
static unsigned exit_at_every_call(bool collects, unsigned most) {
    int status = RK_FAULT_EXIT_STATUS;
    unsigned nth = 1;
    for (; status == RK_FAULT_EXIT_STATUS && nth <= most; nth++) {
        directory = promise_directory("exit", false);
        if (nth % 2 || collects) // on an in-use store, else on an empty one
            live(0);
        short_life life = {.plan = {.nth = nth, .exits = true}, .collects = collects};
        status = promise_wait(promise_child(live_until, &life));
        promise_need(status == 0 || status == RK_FAULT_EXIT_STATUS, "the child ended otherwise");
        check_next();
        if (promise_count_files(directory).temporary || collects || promise_full())
            check_collected();
    }
    return status ? nth - 1 : nth - 2;
}

static void exit_at_the_nth_call(void) {
    enum { TAKES_THE_GC_LOCK = 60 }; // later calls only list files
    unsigned calls = exit_at_every_call(false, UINT32_MAX);
    unsigned more = exit_at_every_call(true, promise_full() ? UINT32_MAX : TAKES_THE_GC_LOCK);
    promise_need(calls > 100 && more > 50, "hardly a call was counted");
    promise_report("kill -9, exit at the n-th system call", "0 bad entries, 0 stuck, every n",
                   bad + stuck == 0, "%u bad entries served, %u stuck, n from 1 to %u, in gc to %u",
                   bad, stuck, calls, more);
}

static int live_on(void *context) {
    for (unsigned i = 0; i < UINT32_MAX; i++) // runs until it is killed
        live((i + *(const unsigned *)context) % VARIANTS);
    return 0;
}

static void kill_at_random(unsigned kills) {
    uint64_t random = 20261121;
    directory = promise_directory("kill", false);
    bad = stuck = 0;
    for (unsigned i = 0; i < kills; i++) {
        pid_t child = promise_child(live_on, &i);
        struct timespec pause = {.tv_nsec = (long)(promise_random(&random) >> 16) % 12000000};
        (void)nanosleep(&pause, NULL);
        (void)kill(child, SIGKILL);
        promise_need(promise_wait(child) == 128 + SIGKILL, "the child ended by itself");
        check_next();
        if (i % 10 == 9)
            check_collected();
    }
    check_collected();
    promise_report("kill -9, at random", "0 bad entries, 0 stuck in 1000 kills", bad + stuck == 0,
                   "%u bad entries served, %u stuck in %u kills", bad, stuck, kills);
}

int main(int argc, char **argv) {
    promise_begin(argc, argv);
    exit_at_the_nth_call();
    kill_at_random(promise_size(100, 1000));
    promise_report("kill -9, leftovers", "all reclaimed by the next gc",
                   unreclaimed == 0 && leftovers > 0,
                   "%u left by dead writers, %u still there after gc", leftovers, unreclaimed);
    double median = promise_median(reopens, reopen_count);
    promise_report("kill -9, reopen and first look-up", "at most 50 ms", median <= 0.050,
                   "%.2f ms (median of %u; 99 %%: %.2f ms, slowest %.2f ms)", median * 1e3,
                   reopen_count, reopens[reopen_count * 99 / 100] * 1e3,
                   reopens[reopen_count - 1] * 1e3);
    return promise_end();
}
