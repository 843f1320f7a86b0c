#include "promise.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, MAX_PAYLOAD_BYTES = 72 << 20, ROOTS = 2 };

static bool full, missed;
static unsigned chosen_size;
static pid_t owner;
static char *roots[ROOTS]; // in memory, on disk; created on demand

void promise_begin(int argc, char **argv) {
    int next = 1;
    full = argc > next && strcmp(argv[next], "--full") == 0;
    next += full;
    if (argc > next)
        chosen_size = (unsigned)strtoul(argv[next], NULL, 10);
    owner = getpid();
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where) {
    (void)where;
    if (kind == FTW_DP && !(info->st_mode & S_IWUSR))
        (void)chmod(path, 0700);
    (void)remove(path);
    return 0;
}

void promise_remove_directory(const char *path) {
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void remove_roots(void) {
    for (int i = 0; i < ROOTS && getpid() == owner; i++) {
        if (roots[i])
            promise_remove_directory(roots[i]);
        free(roots[i]);
        roots[i] = NULL;
    }
}

int promise_end(void) {
    remove_roots();
    return missed ? 1 : 0;
}

bool promise_full(void) {
    return full;
}

unsigned promise_size(unsigned quick, unsigned whole) {
    if (chosen_size)
        return chosen_size;
    return full ? whole : quick;
}

void promise_report(const char *row, const char *asked, bool kept, const char *reached_format,
                    ...) {
    va_list arguments;
    va_start(arguments, reached_format);
    (void)printf("promise: %s: ", row);
    (void)vprintf(reached_format, arguments);
    (void)printf(" (asked: %s)%s\n", asked, kept ? "" : " MISSED");
    va_end(arguments);
    missed = missed || !kept;
}

void promise_give_up(const char *what) {
    (void)fprintf(stderr, "%s: %s\n", what, strerror(errno));
    remove_roots();
    _exit(3);
}

void promise_ok(rk_err *err, const char *what) {
    if (!err)
        return;
    (void)fprintf(stderr, "%s: %s (%s:%d)\n", what, rk_err_message(err), rk_err_file(err),
                  rk_err_line(err));
    remove_roots();
    _exit(3);
}

static const char prefix[] = "rekindle-promise-";

// Removes directories of tests that were killed.
static void sweep(const char *base) {
    char path[PATH_BYTES];
    DIR *names = opendir(base);
    for (const struct dirent *entry = NULL; names && (entry = readdir(names));) {
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) != 0)
            continue;
        long pid = strtol(entry->d_name + sizeof prefix - 1, NULL, 10);
        (void)snprintf(path, sizeof path, "%s/%s", base, entry->d_name);
        if (pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
            promise_remove_directory(path);
    }
    if (names)
        (void)closedir(names);
}

static char *make_root(bool on_disk) {
    char path[PATH_BYTES];
    const char *base = getenv("TMPDIR");
    if (!on_disk && access("/dev/shm", W_OK) == 0)
        base = "/dev/shm";
    else if (!base)
        base = "/tmp";
    sweep(base);
    (void)snprintf(path, sizeof path, "%s/%s%ld-XXXXXX", base, prefix, (long)getpid());
    promise_need(mkdtemp(path) != NULL, path);
    return strdup(path);
}

const char *promise_directory(const char *name, bool on_disk) {
    static char path[PATH_BYTES];
    if (!roots[on_disk])
        roots[on_disk] = make_root(on_disk);
    (void)snprintf(path, sizeof path, "%s/%s", roots[on_disk], name);
    promise_remove_directory(path);
    promise_need(mkdir(path, 0700) == 0, path);
    return path;
}

void *promise_share(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    promise_need(memory != MAP_FAILED, "mmap");
    return memory;
}

pid_t promise_child(int (*body)(void *context), void *context) {
    (void)fflush(NULL);
    pid_t child = fork();
    promise_need(child >= 0, "fork");
    if (child)
        return child;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != owner) // the parent ended before the line above
        _exit(3);
    _exit(body(context));
}

int promise_wait(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        promise_need(errno == EINTR, "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

double promise_seconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

uint64_t promise_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

int promise_compare_doubles(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

double promise_median(double *values, unsigned count) {
    qsort(values, count, sizeof *values, promise_compare_doubles);
    return count ? values[count / 2] : 0;
}

static rk_digest digest_of(const char *what, unsigned key) {
    rk_hasher hasher;
    rk_digest digest;
    rk_hasher_init(&hasher);
    rk_hasher_add_field(&hasher, rk_span_text(what));
    rk_hasher_add_u64(&hasher, key);
    rk_hasher_finish(&hasher, &digest);
    return digest;
}

rk_key promise_key(unsigned key) {
    return (rk_key){
        .digest = digest_of("key", key),
        .program = digest_of("program", key),
        .options = digest_of("options", key),
        .environment = digest_of("environment", key),
    };
}

// Alternates random words and a counter, so that the payload compresses about as well as machine
// code.
static rk_span payload_of(unsigned key, unsigned variant, size_t bytes) {
    static _Thread_local uint64_t *words;
    static _Thread_local size_t capacity;
    promise_need(bytes <= MAX_PAYLOAD_BYTES, "payload");
    if (capacity < bytes + 8) {
        free(words);
        words = malloc(bytes + 8);
        promise_need(words != NULL, "malloc");
        capacity = bytes + 8;
    }
    uint64_t random = ((uint64_t)key << 32 | variant) * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i * 8 < bytes; i++)
        words[i] = i % 2 ? promise_random(&random) : (uint64_t)key << 40 | i;
    return rk_span_of(words, bytes);
}

rk_entry promise_entry(unsigned key, unsigned variant, size_t bytes) {
    return (rk_entry){
        .kind = RK_ENTRY_EXECUTABLE,
        .key = promise_key(key),
        .created_ns = variant,
        .compile_ns = (uint64_t)(key % 100 + 1) * 100000000,
        .components = rk_span_text("[{\"kind\":\"flag\",\"name\":\"--xla_a\",\"value\":\"1\"}]"),
        .metadata = rk_span_text("{\"name\":\"jit_step\",\"platform\":\"cpu\"}"),
        .payload = payload_of(key, variant, bytes),
    };
}

bool promise_entry_is_right(const rk_entry *found, unsigned key, unsigned variants, size_t bytes) {
    if (found->created_ns >= variants)
        return false;
    rk_entry expected = promise_entry(key, (unsigned)found->created_ns, bytes);
    return found->kind == expected.kind && found->flags == expected.flags &&
           found->compile_ns == expected.compile_ns && rk_key_equal(&found->key, &expected.key) &&
           rk_span_equal(found->components, expected.components) &&
           rk_span_equal(found->metadata, expected.metadata) &&
           rk_span_equal(found->payload, expected.payload) && found->options.len == 0;
}

void promise_read(rk_store *store, unsigned key, unsigned variants, size_t bytes,
                  promise_reads *reads) {
    rk_key name = promise_key(key);
    RK_AUTO(rk_store_lookup) lookup = {0};
    rk_err *err = rk_store_get(store, &name, &lookup);
    reads->reads++;
    reads->failed += err != NULL;
    rk_err_free(err);
    reads->damaged += lookup.fault != RK_ENTRY_OK;
    reads->hits += lookup.found;
    reads->misses += !lookup.found;
    if (lookup.found && !promise_entry_is_right(&lookup.view.entry, key, variants, bytes))
        reads->wrong++;
}

static promise_files counted;

static int count_one(const char *path, const struct stat *info, int type, struct FTW *where) {
    if (type != FTW_F)
        return 0;
    const char *name = path + where->base;
    bool temporary = strncmp(name, ".tmp-", 5) == 0;
    counted.files++;
    counted.bytes += (uint64_t)info->st_size;
    counted.temporary += temporary;
    counted.temporary_bytes += temporary ? (uint64_t)info->st_size : 0;
    counted.entries += !temporary && strstr(name, ".rk") != NULL && !strstr(path, "/quarantine/");
    return 0;
}

promise_files promise_count_files(const char *path) {
    counted = (promise_files){0};
    (void)nftw(path, count_one, 16, FTW_PHYS);
    return counted;
}

void promise_path(const char *directory, const rk_key *key, char out[PATH_BYTES]) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&key->digest, hex);
    (void)snprintf(out, PATH_BYTES, "%s/objects/%.2s/%s.rkx", directory, hex, hex);
}

void promise_write_file(const char *path, const void *data, size_t len) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    promise_need(fd >= 0 && write(fd, data, len) == (ssize_t)len && close(fd) == 0, path);
}

uint8_t *promise_read_file(const char *path, size_t *out_len) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    promise_need(fd >= 0 && fstat(fd, &info) == 0, path);
    *out_len = (size_t)info.st_size;
    uint8_t *data = malloc(*out_len + 1);
    promise_need(data && read(fd, data, *out_len) == (ssize_t)*out_len && close(fd) == 0, path);
    return data;
}
