// Many processes on one store under its cap. They look up, store, replace, quarantine and collect.
// Their calls fail, they are killed, and one of them damages files in place. Every served byte must
// be right, and the cap must hold. Size: seconds.
#include "promise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "store/gc.h"
#include "support/faults.h"

enum { PROCESSES = 24, VARIANTS = 3, LARGEST_KIB = 512, HOT_KEYS = 64 };

// Pause after each operation, so that 24 processes fit on the machine.
static const struct timespec breath = {.tv_nsec = 2000000};

typedef struct shared {
    promise_reads reads;
    atomic_uint puts, replaced, failed, no_space, set_aside, collected, faults, spoiled;
    atomic_bool stop;
} shared;

static shared *all;
static const char *directory;
static uint64_t cap_bytes;
static unsigned keys; // together about twice the cap

// 2 to 512 KiB, most of them small.
static size_t bytes_of(unsigned key) {
    return ((size_t)LARGEST_KIB << 10 >> (key % 8)) - 512 - key % 256;
}

static unsigned some_key(uint64_t *random) {
    uint64_t number = promise_random(random) >> 20;
    return (unsigned)(number % 4 ? number / 4 % HOT_KEYS : number / 4 % keys);
}

static void put(rk_store *store, unsigned key, unsigned variant) {
    rk_key name = promise_key(key);
    rk_entry entry = promise_entry(key, variant, bytes_of(key));
    bool replaces = rk_store_has(store, RK_ENTRY_EXECUTABLE, &name);
    rk_err *err = rk_store_put(store, &entry, NULL);
    all->puts++;
    all->replaced += replaces && !err;
    bool no_space = rk_err_code(err) == RK_OUT_OF_RANGE;
    all->no_space += no_space;
    all->failed += err && !no_space;
    rk_err_free(err);
}

static void collect(rk_store *store) {
    const rk_gc_options options = {
        .max_bytes = cap_bytes / 2, .older_than_ns = UINT64_MAX, .recent_too = true};
    rk_gc_report report;
    rk_err *err = rk_store_gc(store, &options, &report);
    all->collected += err == NULL;
    rk_err_free(err);
}

// Damages the file in place, so that other processes read it half written.
static void spoil(unsigned key, uint64_t *random) {
    char path[4096], byte = 0;
    rk_key name = promise_key(key);
    promise_path(directory, &name, path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    off_t at = (off_t)(promise_random(random) >> 20) % (off_t)(bytes_of(key) / 2);
    if (fd < 0)
        return;
    if (pread(fd, &byte, 1, at) == 1) {
        byte = (char)(byte ^ (1 << (*random >> 8) % 8));
        all->spoiled += pwrite(fd, &byte, 1, at) == 1;
    }
    (void)close(fd);
}

static void work(rk_store *store, uint64_t *random, bool vandal) {
    unsigned key = some_key(random), what = (unsigned)(promise_random(random) >> 24) % 1000;
    if (what < 600)
        promise_read(store, key, VARIANTS, bytes_of(key), &all->reads);
    else if (what < 960)
        put(store, key, what % VARIANTS);
    else if (what < 996) {
        rk_key name = promise_key(key);
        all->set_aside += rk_store_quarantine(store, &name);
    } else if (what >= 998)
        collect(store);
    if (vandal && what % 5 == 0)
        spoil(key, random);
}

// Plans a fault for a third of the operations: one failing call, or all calls from the n-th on, or
// the end of the process.
static bool plan_fault(uint64_t *random, rk_fault_plan *out_plan) {
    static const int errors[] = {EIO, EMFILE, ESTALE};
    uint64_t number = promise_random(random) >> 16;
    *out_plan = (rk_fault_plan){
        .nth = (unsigned)(number % 60) + 1,
        // After ENOSPC the store refuses writes for a minute, so ENOSPC must be rare.
        .error_number = number / 60 % 32 == 0 ? ENOSPC : errors[number / 60 % RK_ARRAY_LEN(errors)],
        .lasting = number / 360 % 4 == 0,
        .exits = number / 1440 % 40 == 0,
        .most_io_bytes = number / 57600 % 8 ? 0 : 4096,
        .interrupts = number / 57600 % 4 == 0,
    };
    return number / 460800 % 3 == 0;
}

static void work_for_a_while(rk_store *store, uint64_t *random, bool vandal) {
    for (unsigned i = 0; i < 40 && !all->stop; i++) {
        rk_fault_plan plan;
        bool faulty = plan_fault(random, &plan);
        if (faulty)
            rk_fault_begin(&plan);
        work(store, random, vandal);
        if (faulty)
            all->faults += rk_fault_end();
        (void)nanosleep(&breath, NULL);
    }
}

static int live(void *context) {
    unsigned number = *(const unsigned *)context;
    uint64_t random = (uint64_t)number * 0x9e3779b97f4a7c15u + (uint64_t)getpid();
    rk_process self; // read before calls fail: others wait minutes for a partly known holder
    rk_process_self(&self);
    while (!all->stop) {
        rk_store *store = NULL;
        promise_ok(rk_store_open(directory, false, &store), "open");
        promise_ok(rk_store_set_limit(store, cap_bytes), "limit");
        work_for_a_while(store, &random, number % PROCESSES == 0);
        rk_store_free(store);
    }
    return 0;
}

typedef struct peak {
    uint64_t bytes, with_temporary_bytes;
    unsigned samples;
} peak;

static void sample(peak *sum) {
    promise_files files = promise_count_files(directory);
    uint64_t bytes = files.bytes - files.temporary_bytes;
    sum->bytes = bytes > sum->bytes ? bytes : sum->bytes;
    if (files.bytes > sum->with_temporary_bytes)
        sum->with_temporary_bytes = files.bytes;
    sum->samples++;
}

static unsigned run(double seconds, peak *sum) {
    pid_t children[PROCESSES];
    unsigned started = 0, kills = 0;
    uint64_t random = 7;
    for (; started < PROCESSES; started++)
        children[started] = promise_child(live, &started);
    double start = promise_seconds(), said = start;
    while (promise_seconds() - start < seconds) {
        const struct timespec pause = {.tv_nsec = 40000000};
        (void)nanosleep(&pause, NULL);
        unsigned at = (unsigned)(promise_random(&random) >> 20) % PROCESSES;
        (void)kill(children[at], SIGKILL);
        int status = promise_wait(children[at]); // or the child has ended by itself
        promise_need(status == 128 + SIGKILL || status == RK_FAULT_EXIT_STATUS, "a child crashed");
        kills++;
        children[at] = promise_child(live, &started);
        started++;
        sample(sum);
        if (isatty(STDERR_FILENO) && promise_seconds() - said > 1) {
            said = promise_seconds();
            (void)fprintf(stderr, "\r%.0f s, %u reads, %u wrong ", said - start, all->reads.reads,
                          all->reads.wrong);
        }
    }
    all->stop = true;
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status = promise_wait(children[i]);
        promise_need(status == 0 || status == RK_FAULT_EXIT_STATUS, "a child crashed");
    }
    return kills;
}

// After the load, the store still stores, serves and collects.
static unsigned check_afterwards(void) {
    promise_reads reads = {0};
    rk_store *store = NULL;
    promise_ok(rk_store_open(directory, false, &store), "open");
    promise_ok(rk_store_set_limit(store, cap_bytes), "limit");
    collect(store);
    for (unsigned key = 0; key < HOT_KEYS; key++) {
        rk_entry entry = promise_entry(key, 0, bytes_of(key));
        rk_err_free(rk_store_put(store, &entry, NULL));
        promise_read(store, key, VARIANTS, bytes_of(key), &reads);
    }
    rk_store_free(store);
    unsigned left = promise_count_files(directory).temporary;
    unsigned broken = reads.wrong + reads.damaged + reads.failed + left;
    if (broken)
        (void)printf("afterwards: %u wrong, %u damaged, %u failed, %u left over\n", reads.wrong,
                     reads.damaged, reads.failed, left);
    return broken;
}

int main(int argc, char **argv) {
    promise_begin(argc, argv);
    double seconds = promise_size(8, 600);
    cap_bytes = promise_full() || seconds > 60 ? (uint64_t)256 << 20 : (uint64_t)16 << 20;
    keys = (unsigned)(cap_bytes >> 16);
    all = promise_share(sizeof *all);
    directory = promise_directory("mixed", false);
    peak sum = {0};
    unsigned kills = run(seconds, &sum);
    unsigned broken = check_afterwards();
    const promise_reads *reads = &all->reads;
    // The counts are random. A few seconds on a busy machine may see no collection.
    bool worked = reads->hits > reads->reads / 20 && all->replaced > 0 && all->set_aside > 0 &&
                  all->faults > 0 && (!promise_full() || (all->collected && reads->damaged));
    promise_report(
        "mixed load, wrong bytes", "0 by 24 processes in 10 minutes",
        reads->wrong == 0 && broken == 0 && worked,
        "%u wrong of %u reads (%u hits, %u spoiled files found) by %u processes in %.0f s; "
        "%u puts, %u of them without room, %u failed, %u replaced, %u set aside, %u collections, "
        "%u faults, %u kills",
        reads->wrong, reads->reads, reads->hits, reads->damaged, PROCESSES, seconds, all->puts,
        all->no_space, all->failed, all->replaced, all->set_aside, all->collected, all->faults,
        kills);
    uint64_t in_flight = (uint64_t)PROCESSES * LARGEST_KIB << 10;
    promise_report("mixed load, the cap", "never above cap + in flight",
                   sum.bytes <= cap_bytes + in_flight && sum.bytes > cap_bytes / 2,
                   "at most %.1f MiB of %llu MiB stored, %.1f MiB with what is being written, "
                   "in %u samples",
                   (double)sum.bytes / 1048576, (unsigned long long)cap_bytes >> 20,
                   (double)sum.with_temporary_bytes / 1048576, sum.samples);
    return promise_end();
}
