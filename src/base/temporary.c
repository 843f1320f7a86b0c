#include "base/temporary.h"

#include <stdatomic.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/process.h"
#include "base/sys.h"

static const char prefix[] = ".tmp-";
enum { PREFIX_CHARS = sizeof prefix - 1, NUMBER_CHARS = 16 };

// True if it says who we are in full, so that the name can be kept.
static bool add_self(rk_buf *out) {
    rk_process self;
    rk_process_self(&self);
    rk_process_add_text(&self, out);
    return rk_process_is_known(&self);
}

// Who we are is read from /proc once and kept until a fork, but not what was read in part: of a
// writer half known nobody can tell that it is dead. Whoever finds another thread at it, or a flag
// that a fork left set for ever, reads for itself.
static void add_self_from_memory(rk_buf *out) {
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    static pid_t known_pid;
    static uint8_t known[RK_PROCESS_TEXT_MAX_CHARS];
    static size_t known_chars;
    if (atomic_flag_test_and_set(&busy)) {
        (void)add_self(out);
        return;
    }
    if (known_pid != getpid()) {
        RK_AUTO(rk_buf) text = {0};
        bool whole = add_self(&text);
        known_chars = text.failed || text.len > sizeof known ? 0 : text.len;
        if (known_chars)
            memcpy(known, text.data, known_chars);
        known_pid = known_chars && whole ? getpid() : 0;
    }
    rk_buf_add(out, known, known_chars);
    atomic_flag_clear(&busy);
}

// Not even a process with our id in another container or on another host has the same.
static uint64_t unique_number(void) {
    static atomic_uint serial;
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        number = rk_realtime_ns() << 8 ^ atomic_fetch_add(&serial, 1);
    return number;
}

void rk_temporary_add_name(rk_buf *out) {
    rk_buf_add_text(out, prefix);
    add_self_from_memory(out);
    rk_buf_add_format(out, "-%016llx", (unsigned long long)unique_number());
}

bool rk_temporary_is_name(const char *name) {
    return strncmp(name, prefix, PREFIX_CHARS) == 0;
}

bool rk_temporary_is_abandoned(const char *name, uint64_t age_ns) {
    size_t len = strlen(name);
    rk_process writer;
    rk_liveness liveness = RK_LIVENESS_UNKNOWN;
    if (len > PREFIX_CHARS + 1 + NUMBER_CHARS && name[len - NUMBER_CHARS - 1] == '-' &&
        rk_process_parse(rk_span_of(name + PREFIX_CHARS, len - PREFIX_CHARS - NUMBER_CHARS - 1),
                         &writer))
        liveness = rk_process_liveness(&writer);
    return liveness == RK_LIVENESS_DEAD ||
           (liveness == RK_LIVENESS_UNKNOWN && age_ns >= RK_TEMPORARY_LATE_NS);
}
