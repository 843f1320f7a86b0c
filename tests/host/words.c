// The words: single words, and blocks of words between "word{" and "}".
#include "host/host.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "pjrt/rekindle.h"

enum { MAX_THREADS = 64 };

static const struct {
    const char *name;
    void (*run)(host *h, const char *value);
    bool needs_api;
} actions[] = {
    {"lib", host_lib, false},
    {"again", host_again, true},
    {"dlclose", host_dlclose, true},
    {"init", host_init, true},
    {"attributes", host_attributes, true},
    {"table", host_table, true},
    {"extra", host_extra, true},
    {"transform", host_transform, true},
    {"minor", host_minor, false},
    {"location", host_location, false},
    {"memories", host_memories, true},
    {"device-stats", host_device_stats, true},
    {"view", host_view, true},
    {"memory-stats", host_memory_stats, true},
    {"option", host_option, true},
    {"client-extension", host_client_extension, true},
    {"client", host_client, true},
    {"use-client", host_use_client, true},
    {"destroy-client", host_destroy_client, true},
    {"destroy-at-exit", host_destroy_at_exit, true},
    {"topology", host_topology, true},
    {"destroy-topology", host_destroy_topology, true},
    {"extension", host_extension, true},
    {"program-extension", host_program_extension, true},
    {"compile", host_compile, true},
    {"compile-topology", host_compile_topology, true},
    {"inspect", host_inspect, true},
    {"optimized", host_optimized, true},
    {"serialize", host_serialize, true},
    {"load", host_load, true},
    {"destroy-exec", host_destroy_exec, true},
    {"execute", host_execute, true},
    {"tohost", host_tohost, true},
    {"destroy-buffers", host_destroy_buffers, true},
    {"misuse", host_misuse, true},
};

// Ends of the process.

static void *exit_from_thread(void *status) {
    exit(*(int *)status);
}

// Ends the process in the given way. Returning from main is not among them; main does that itself.
static void leave(const host *h, const char *how) {
    int status = h->failed ? 1 : 0;
    pthread_t thread;
    if (strcmp(how, "exit") == 0)
        exit(status);
    if (strcmp(how, "_exit") == 0)
        _exit(status);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "sigterm") == 0)
        (void)raise(SIGTERM);
    if (strcmp(how, "sigkill") == 0)
        (void)raise(SIGKILL);
    if (strcmp(how, "thread") == 0 && pthread_create(&thread, NULL, exit_from_thread, &status) == 0)
        (void)pthread_join(thread, NULL);
    host_usage("exit=%s: return, exit, _exit, abort, sigterm, sigkill, thread", how);
}

static void sleep_ms(const char *value) {
    long milliseconds = strtol(value, NULL, 10);
    struct timespec rest = {milliseconds / 1000, (milliseconds % 1000) * 1000000};
    while (nanosleep(&rest, &rest) != 0)
        continue;
}

static void touch(const char *path) {
    FILE *file = fopen(path, "w");
    if (!file || fclose(file) != 0)
        host_usage("%s cannot be written", path);
}

// Sets "NAME=VALUE"; without a value, unsets the variable. The text stays in the environment.
static void change_variable(const char *text) {
    static struct kept {
        struct kept *before;
        char text[];
    } * last;
    size_t len = strlen(text), name_len = strcspn(text, "=");
    struct kept *one = rk_malloc(sizeof *one + len + 1);
    if (!one || !name_len)
        host_usage("setenv=NAME=VALUE");
    memcpy(one->text, text, len + 1);
    if (name_len + 1 >= len)
        one->text[name_len] = '\0';
    one->before = last;
    last = one;
    if (putenv(one->text) != 0)
        host_usage("setenv=%s failed", text);
}

// Closes files that this program did not open, as a program does that becomes a daemon.
static void close_files(const char *ending) {
    enum { END = 1024 };
    for (int fd = 3; fd < END; fd++) {
        char link[64], path[4096];
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t len = readlink(link, path, sizeof path);
        size_t end = strlen(ending);
        if (len > 0 && (size_t)len > end && memcmp(path + (size_t)len - end, ending, end) == 0)
            (void)close(fd);
    }
}

// Blocks.

// The child runs the words. If none of them ends it, the child calls exit. The parent waits and
// reports the child's end.
static void run_fork(host *h, char *const *words, size_t count) {
    pid_t child = fork();
    if (child == 0) {
        h->failed = false;
        host_run(h, words, count);
        exit(h->failed ? 1 : 0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        host_usage("fork failed");
    host_line line;
    host_begin(&line, h, "fork");
    rk_json_member_uint(&line.json, "child", (uint64_t)child);
    rk_json_key(&line.json, "status");
    rk_json_int(&line.json, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    (void)host_end(&line, h, NULL);
}

typedef struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    host *own;
    char *const *words;
    size_t count;
} worker;

static void *run_worker(void *untyped) {
    worker *w = untyped;
    (void)pthread_barrier_wait(w->start);
    host_run(w->own, w->words, w->count);
    return NULL;
}

static void cancel_after(host *h, const worker *w, const char *milliseconds) {
    void *result = NULL;
    sleep_ms(milliseconds);
    (void)pthread_cancel(w->thread);
    (void)pthread_join(w->thread, &result);
    host_line line;
    host_begin(&line, h, "cancel");
    rk_json_member_bool(&line.json, "cancelled", result == PTHREAD_CANCELED);
    (void)host_end(&line, h, NULL);
}

// All threads start at once. The plugin keeps their executables, as when a framework exits. If
// `cancel_ms` is not NULL, there is one thread, which is cancelled after that time.
static void run_threads(host *h, size_t threads, const char *cancel_ms, char *const *words,
                        size_t count) {
    if (threads < 1 || threads > MAX_THREADS)
        host_usage("thread=N: 1 to %d", MAX_THREADS);
    worker workers[MAX_THREADS];
    pthread_barrier_t start;
    if (pthread_barrier_init(&start, NULL, (unsigned)threads) != 0)
        host_usage("no barrier");
    for (size_t i = 0; i < threads; i++) {
        host *own = rk_malloc(sizeof *own);
        if (!own)
            host_usage("no memory");
        *own = *h;
        own->executable_count = own->output_count = 0;
        own->serialized = (rk_buf){0};
        own->failed = false;
        own->thread = (int)i;
        workers[i] = (worker){.start = &start, .own = own, .words = words, .count = count};
        if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) != 0)
            host_usage("no thread");
    }
    for (size_t i = 0; i < threads; i++) {
        if (cancel_ms)
            cancel_after(h, &workers[i], cancel_ms);
        else
            (void)pthread_join(workers[i].thread, NULL);
        h->failed = h->failed || workers[i].own->failed;
        rk_buf_cleanup(&workers[i].own->serialized);
        rk_free(workers[i].own);
    }
    (void)pthread_barrier_destroy(&start);
}

static void run_repeat(host *h, size_t rounds, char *const *words, size_t count) {
    for (size_t i = 0; i < rounds; i++) {
        h->round = (int)i;
        host_run(h, words, count);
    }
}

// Number of words before the brace that closes the block that starts before words[0].
static size_t block_length(char *const *words, size_t count) {
    size_t depth = 1;
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(words[i]);
        if (strcmp(words[i], "}") == 0 && --depth == 0)
            return i;
        depth += len > 1 && words[i][len - 1] == '{';
    }
    host_usage("a block is not closed");
}

static void run_block(host *h, const char *head, char *const *words, size_t count) {
    if (strcmp(head, "fork{") == 0)
        run_fork(h, words, count);
    else if (strncmp(head, "thread=", 7) == 0)
        run_threads(h, strtoul(head + 7, NULL, 10), NULL, words, count);
    else if (strncmp(head, "cancel=", 7) == 0)
        run_threads(h, 1, head + 7, words, count);
    else if (strncmp(head, "repeat=", 7) == 0)
        run_repeat(h, strtoul(head + 7, NULL, 10), words, count);
    else
        host_usage("unknown block %s", head);
}

// Running.

static void run_word(host *h, const char *word) {
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : strlen(word);
    const char *value = equals ? equals + 1 : "";
    for (size_t i = 0; i < RK_ARRAY_LEN(actions); i++) {
        if (strlen(actions[i].name) != len || memcmp(actions[i].name, word, len) != 0)
            continue;
        if (actions[i].needs_api && !h->api)
            host_usage("%s: there is no plugin", word);
        actions[i].run(h, value);
        return;
    }
    if (strncmp(word, "sleep=", 6) == 0)
        sleep_ms(value);
    else if (strncmp(word, "touch=", 6) == 0)
        touch(value);
    else if (strncmp(word, "close-files=", 12) == 0)
        close_files(value);
    else if (strncmp(word, "setenv=", 7) == 0)
        change_variable(value);
    else if (strcmp(word, "step") == 0)
        rekindle_step();
    else if (strcmp(word, "mark-warm") == 0)
        rekindle_mark_warm();
    else if (strncmp(word, "exit=", 5) == 0)
        leave(h, value);
    else
        host_usage("unknown word \"%s\"", word);
}

void host_run(host *h, char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(words[i]);
        if (len > 1 && words[i][len - 1] == '{') {
            size_t inside = block_length(words + i + 1, count - i - 1);
            run_block(h, words[i], words + i + 1, inside);
            i += inside + 1;
        } else {
            run_word(h, words[i]);
        }
    }
}
