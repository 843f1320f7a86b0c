// Measures rk_program_inspect, which every compilation waits for, in turn with one BLAKE2b pass
// over the same bytes.
//
//     fingerprint_cost FORMAT FILE RUNS
//
// Prints one JSON object. Times are CPU time of this thread, so that other processes count little.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fs.h"
#include "program/program.h"

enum { RUNS_MAX = 100000 };
#define FILE_MAX_BYTES ((size_t)4 << 30)

_Noreturn static void fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double time_inspect(rk_span code, rk_span format, rk_program_info *out_info) {
    double start = cpu_ns();
    rk_err *err = rk_program_inspect(code, format, out_info);
    double end = cpu_ns();
    if (err)
        fail("rk_program_inspect", rk_err_message(err));
    return end - start;
}

static double time_blake2b(rk_span code) {
    rk_digest digest;
    double start = cpu_ns();
    rk_digest_of(code, &digest);
    return cpu_ns() - start;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_quartiles(const char *name, double *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
    printf("\"%s\":{\"median\":%.6g,\"q1\":%.6g,\"q3\":%.6g},", name, values[count / 2],
           values[count / 4], values[count * 3 / 4]);
}

static void measure(rk_span code, rk_span format, size_t runs) {
    double *inspect_ns = calloc(runs, sizeof *inspect_ns);
    double *blake2b_ns = calloc(runs, sizeof *blake2b_ns);
    double *ratios = calloc(runs, sizeof *ratios);
    if (!inspect_ns || !blake2b_ns || !ratios)
        fail("measure", strerror(ENOMEM));
    rk_program_info info;
    (void)time_inspect(code, format, &info); // warm-up
    bool by_meaning = !info.by_bytes;
    rk_program_info_cleanup(&info);
    for (size_t i = 0; i < runs; i++) {
        inspect_ns[i] = time_inspect(code, format, &info);
        rk_program_info_cleanup(&info);
        blake2b_ns[i] = time_blake2b(code);
        ratios[i] = inspect_ns[i] / blake2b_ns[i];
    }
    printf("{\"bytes\":%zu,\"runs\":%zu,", code.len, runs);
    print_quartiles("inspect_ns", inspect_ns, runs);
    print_quartiles("blake2b_ns", blake2b_ns, runs);
    print_quartiles("ratio", ratios, runs);
    printf("\"by_meaning\":%s}\n", by_meaning ? "true" : "false");
    free(inspect_ns);
    free(blake2b_ns);
    free(ratios);
}

// A process with a framework has freed large arrays long before it compiles. After that glibc keeps
// more freed memory, and does not return it after every program to take it again for the next.
static void use_memory_as_a_framework_does(void) {
    enum { LARGE_ARRAY_BYTES = 16 << 20 };
    void *volatile array = malloc(LARGE_ARRAY_BYTES);
    free(array);
}

int main(int argc, char **argv) {
    if (argc != 4)
        fail("usage", "fingerprint_cost FORMAT FILE RUNS");
    use_memory_as_a_framework_does();
    char *end = NULL;
    unsigned long runs = strtoul(argv[3], &end, 10);
    if (*end != '\0' || runs == 0 || runs > RUNS_MAX)
        fail(argv[3], "not a number of runs");
    RK_AUTO(rk_buf) code = RK_BUF_INIT(FILE_MAX_BYTES);
    rk_err *err = rk_fs_read(argv[2], FILE_MAX_BYTES, &code);
    if (err)
        fail(argv[2], rk_err_message(err));
    measure(rk_buf_span(&code), rk_span_text(argv[1]), runs);
    return 0;
}
