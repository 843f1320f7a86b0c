// Settings from environment variables. Most are read at each use, so that each test process can set
// them.
#include "fake.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "versions.h"

const char *fake_setting(const char *name, const char *fallback) {
    const char *value = getenv(name);
    return value && *value ? value : fallback;
}

int64_t fake_setting_int(const char *name, int64_t fallback) {
    const char *value = fake_setting(name, NULL);
    if (!value)
        return fallback;
    char *end = NULL;
    long long number = strtoll(value, &end, 10);
    if (*end != '\0')
        fake_misuse("%s=%s is not a number", name, value);
    return number;
}

// A forked child must not inherit a mutex that another thread has locked.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_for_fork(void) {
    pthread_mutex_lock(&lock);
}

static void unlock_after_fork(void) {
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void watch_forks(void) {
    if (pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork) != 0)
        abort();
}

const char *fake_flags(const char *moment) {
    static char *read_once; // under the mutex
    const char *when = fake_setting("FAKE_PJRT_READ_FLAGS", "");
    if (strcmp(when, "always") == 0)
        return fake_setting("XLA_FLAGS", "");
    pthread_mutex_lock(&lock);
    if (!read_once && strcmp(when, moment) == 0)
        read_once = strdup(fake_setting("XLA_FLAGS", ""));
    const char *flags = read_once ? read_once : "";
    pthread_mutex_unlock(&lock);
    return flags;
}

// FAKE_PJRT_FAIL.

enum { MAX_COUNTED = 16 };

// Number of past calls per "what:N", under the mutex. `what` points to string literals of this
// plugin.
static struct {
    const char *what;
    int64_t times;
} struck[MAX_COUNTED];

static bool strikes_again(const char *what, int64_t limit) {
    bool again = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MAX_COUNTED; i++) {
        if (!struck[i].what)
            struck[i].what = what;
        if (strcmp(struck[i].what, what) == 0) {
            again = struck[i].times++ < limit;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return again;
}

bool fake_fails(const char *what) {
    const char *list = fake_setting("FAKE_PJRT_FAIL", "");
    size_t len = strlen(what);
    while (*list) {
        size_t item = strcspn(list, ",");
        if (item >= len && strncmp(list, what, len) == 0) {
            if (item == len)
                return true;
            if (list[len] == ':' && list[len + 1] == '+')
                return !strikes_again(what, strtoll(list + len + 2, NULL, 10));
            if (list[len] == ':')
                return strikes_again(what, strtoll(list + len + 1, NULL, 10));
        }
        list += item + (list[item] == ',');
    }
    return false;
}

// FAKE_PJRT_API_MINOR.

int fake_api_minor(void) {
    static atomic_int minor;
    int value = atomic_load(&minor);
    if (value == 0) {
        value = (int)fake_setting_int("FAKE_PJRT_API_MINOR", PJRT_API_MINOR);
        if (value < PJRT_VERSIONS_FIRST || value > PJRT_VERSIONS_LAST)
            fake_misuse("FAKE_PJRT_API_MINOR=%d: %d to %d are known", value, PJRT_VERSIONS_FIRST,
                        PJRT_VERSIONS_LAST);
        atomic_store(&minor, value);
    }
    return value;
}

// Parses "NAME:SIZE,…": structs that are longer in this plugin than in any API version.
static size_t grown_size(const char *struct_name) {
    const char *list = fake_setting("FAKE_PJRT_GROWN", "");
    size_t len = strlen(struct_name);
    while (*list) {
        size_t item = strcspn(list, ",");
        if (item > len && strncmp(list, struct_name, len) == 0 && list[len] == ':')
            return (size_t)strtoll(list + len + 1, NULL, 10);
        list += item + (list[item] == ',');
    }
    return 0;
}

size_t fake_args_size(const char *struct_name, size_t header_size) {
    size_t grown = grown_size(struct_name);
    return grown ? grown : pjrt_struct_declared(struct_name, fake_api_minor(), header_size);
}

PJRT_Error *fake_check_size(const char *name, const char *ending, const void *args,
                            size_t header_size) {
    size_t expected = fake_args_size(name, header_size), size;
    memcpy(&size, args, sizeof size);
    bool refused = size < expected || (size > expected && fake_setting("FAKE_PJRT_STRICT", NULL));
    if (refused)
        return fake_error(PJRT_Error_Code_INVALID_ARGUMENT,
                          "Unexpected %s%s size: expected %zu, got %zu. Check installed software "
                          "versions. The framework PJRT API version is %d.%d.",
                          name, ending, expected, size, PJRT_API_MAJOR, fake_api_minor());
    return NULL;
}

// Fields that a caller of that version cannot have set must be unset. Otherwise the bytes after the
// caller's struct were passed on.
void fake_check_unset(const char *name, const void *args, size_t header_size) {
    enum { TRANSPOSE_FOR_CALLBACKS = 120 }; // in PJRT_ExecuteOptions; must be 1 for older callers
    int64_t caller = fake_setting_int("FAKE_PJRT_CALLER_MINOR", 0);
    if (caller == 0 || caller >= fake_api_minor())
        return;
    bool options = strcmp(name, "PJRT_ExecuteOptions") == 0;
    size_t end = fake_args_size(name, header_size);
    for (size_t at = pjrt_struct_real(name, (int)caller, header_size); at < end; at++) {
        unsigned char wanted = options && at == TRANSPOSE_FOR_CALLBACKS;
        if (((const unsigned char *)args)[at] != wanted)
            fake_misuse("byte %zu of %s is %d, which its caller cannot have set", at, name,
                        ((const unsigned char *)args)[at]);
    }
}
