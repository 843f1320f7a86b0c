#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sys.h"

enum { STAT_MAX_BYTES = 1024, MAX_HEX_DIGITS = 16, BOOT_HEX_DIGITS = 32 };

// Reads the beginning of a file as text. False, with errno, if the file cannot be read.
static bool read_start(const char *path, char *text, size_t size) {
    rk_autofd fd = -1;
    do
        fd = rk_sys()->open_fn(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return false;
    size_t len = 0;
    while (len < size - 1) {
        ssize_t got = rk_sys()->read_fn(fd, text + len, size - 1 - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0)
            break;
        len += (size_t)got;
    }
    text[len] = '\0';
    return true;
}

// Fields of /proc/PID/stat (proc_pid_stat(5)).
typedef struct stat_line {
    pid_t pid;            // field 1, in the pid namespace of the /proc mount
    char state;           // field 3
    uint64_t threads;     // field 20
    uint64_t start_ticks; // field 22
} stat_line;

static bool read_stat(const char *path, stat_line *out) {
    enum { STATE_FIELD = 3, THREADS_FIELD = 20, START_FIELD = 22 };
    char text[STAT_MAX_BYTES];
    if (!read_start(path, text, sizeof text))
        return false;
    // Field 2, the name, may contain any character, even blanks and ')'. The last ')' ends it.
    char *next = strrchr(text, ')');
    errno = EINVAL;
    if (!next || next[1] != ' ')
        return false;
    *out = (stat_line){.pid = (pid_t)strtol(text, NULL, 10), .state = next[2]};
    next++;
    for (int field = STATE_FIELD; next; field++) {
        next += strspn(next, " ");
        if (field == THREADS_FIELD)
            out->threads = strtoull(next, NULL, 10);
        if (field == START_FIELD) {
            out->start_ticks = strtoull(next, NULL, 10);
            return out->start_ticks != 0;
        }
        next = strchr(next, ' ');
    }
    return false;
}

static int hex_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// "1b4e28ba-2fa1-11d2-883f-0016d3cca427": 32 digits in two numbers.
static void read_boot_id(uint64_t out_boot[2]) {
    char text[64];
    uint64_t boot[2] = {0};
    unsigned digits = 0;
    if (!read_start("/proc/sys/kernel/random/boot_id", text, sizeof text))
        return;
    for (const char *c = text; *c && *c != '\n'; c++) {
        int value = hex_value(*c);
        if (*c == '-')
            continue;
        if (value < 0 || digits == BOOT_HEX_DIGITS)
            return;
        boot[digits / MAX_HEX_DIGITS] = boot[digits / MAX_HEX_DIGITS] << 4 | (uint64_t)value;
        digits++;
    }
    if (digits == BOOT_HEX_DIGITS)
        memcpy(out_boot, boot, sizeof boot);
}

static uint64_t read_pid_namespace(void) {
    struct stat info;
    rk_autofd fd = rk_sys()->open_fn("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC, 0);
    return fd >= 0 && rk_sys()->fstat_fn(fd, &info) == 0 ? (uint64_t)info.st_ino : 0;
}

static bool is_host_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_';
}

static void read_host(char out_host[RK_PROCESS_HOST_MAX_CHARS + 1]) {
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        return;
    for (size_t i = 0; i < RK_PROCESS_HOST_MAX_CHARS && host[i]; i++)
        out_host[i] = is_host_char(host[i]) ? host[i] : '_';
}

bool rk_process_is_known(const rk_process *process) {
    return process->pid > 0 && process->start_ticks && process->pid_namespace &&
           (process->boot[0] || process->boot[1]) && process->host[0];
}

static void read_self(rk_process *out_process) {
    *out_process = (rk_process){.pid = getpid()};
    stat_line line;
    // If the ids differ, /proc shows the ids of another pid namespace.
    if (read_stat("/proc/self/stat", &line) && line.pid == out_process->pid)
        out_process->start_ticks = line.start_ticks;
    out_process->pid_namespace = read_pid_namespace();
    read_boot_id(out_process->boot);
    read_host(out_process->host);
}

// Caches the result until a fork, but only if no field is unknown: a process with an unknown field
// can never be found dead. If `busy` is set, the caller reads /proc without the cache: another
// thread is in this function, or a fork left the flag set forever.
void rk_process_self(rk_process *out_process) {
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    static rk_process kept;
    if (atomic_flag_test_and_set(&busy)) {
        read_self(out_process);
        return;
    }
    if (kept.pid != getpid()) {
        rk_process self;
        read_self(&self);
        kept = rk_process_is_known(&self) ? self : (rk_process){0};
        *out_process = self;
    } else {
        *out_process = kept;
    }
    atomic_flag_clear(&busy);
}

void rk_process_of_child(pid_t child, rk_process *out_process) {
    rk_process_self(out_process);
    bool same_ids = out_process->start_ticks != 0; // /proc shows the ids of this namespace
    out_process->pid = child;
    out_process->start_ticks = 0;
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)child);
    stat_line line;
    if (same_ids && read_stat(path, &line) && line.pid == child)
        out_process->start_ticks = line.start_ticks;
}

// Compares host names too: machines resumed from one snapshot share their boot id.
static bool is_of_one_place(const rk_process *a, const rk_process *b) {
    return rk_process_is_known(a) && rk_process_is_known(b) &&
           memcmp(a->boot, b->boot, sizeof a->boot) == 0 && a->pid_namespace == b->pid_namespace &&
           strcmp(a->host, b->host) == 0;
}

rk_liveness rk_process_liveness(const rk_process *process) {
    rk_process self;
    rk_process_self(&self);
    if (!is_of_one_place(process, &self))
        return RK_LIVENESS_UNKNOWN;
    // Checked first, because a mount option of /proc (hidepid) may hide processes.
    if (kill(process->pid, 0) != 0 && errno == ESRCH)
        return RK_LIVENESS_DEAD;
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)process->pid);
    stat_line line;
    if (!read_stat(path, &line))
        return RK_LIVENESS_UNKNOWN;
    if (line.start_ticks != process->start_ticks || line.state == 'X' || line.state == 'x')
        return RK_LIVENESS_DEAD;
    // If only the first thread has ended, the process shows as a zombie, but other threads run.
    return line.state == 'Z' && line.threads <= 1 ? RK_LIVENESS_DEAD : RK_LIVENESS_ALIVE;
}

bool rk_process_equal(const rk_process *a, const rk_process *b) {
    return is_of_one_place(a, b) && a->pid == b->pid && a->start_ticks == b->start_ticks;
}

void rk_process_add_text(const rk_process *process, rk_buf *out) {
    rk_buf_add_format(
        out, "%lx-%llx-%llx-%016llx%016llx-%s", (unsigned long)process->pid,
        (unsigned long long)process->start_ticks, (unsigned long long)process->pid_namespace,
        (unsigned long long)process->boot[0], (unsigned long long)process->boot[1], process->host);
}

// Takes 1 to 16 digits and the '-' after them.
static bool take_hex(rk_span *text, uint64_t *out_value) {
    uint64_t value = 0;
    size_t len = 0;
    for (; len < text->len && len < MAX_HEX_DIGITS && hex_value((char)text->data[len]) >= 0; len++)
        value = value << 4 | (uint64_t)hex_value((char)text->data[len]);
    if (len == 0 || len == text->len || text->data[len] != '-')
        return false;
    *text = rk_span_of(text->data + len + 1, text->len - len - 1);
    *out_value = value;
    return true;
}

// Takes 32 digits and the '-' after them.
static bool take_boot(rk_span *text, uint64_t out_boot[2]) {
    if (text->len <= BOOT_HEX_DIGITS || text->data[BOOT_HEX_DIGITS] != '-')
        return false;
    for (size_t i = 0; i < BOOT_HEX_DIGITS; i++) {
        int value = hex_value((char)text->data[i]);
        if (value < 0)
            return false;
        out_boot[i / MAX_HEX_DIGITS] = out_boot[i / MAX_HEX_DIGITS] << 4 | (uint64_t)value;
    }
    *text = rk_span_of(text->data + BOOT_HEX_DIGITS + 1, text->len - BOOT_HEX_DIGITS - 1);
    return true;
}

bool rk_process_parse(rk_span text, rk_process *out_process) {
    *out_process = (rk_process){0};
    uint64_t pid = 0;
    if (!take_hex(&text, &pid) || pid == 0 || pid > INT32_MAX ||
        !take_hex(&text, &out_process->start_ticks) ||
        !take_hex(&text, &out_process->pid_namespace) || !take_boot(&text, out_process->boot) ||
        text.len > RK_PROCESS_HOST_MAX_CHARS)
        return false;
    out_process->pid = (pid_t)pid;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_host_char((char)text.data[i]))
            return false;
        out_process->host[i] = (char)text.data[i];
    }
    return true;
}
