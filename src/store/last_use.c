#include "store/last_use_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/process.h"
#include "base/temporary.h"
#include "base/tree.h"
#include "store/usage_internal.h"

#define NS_PER_SECOND INT64_C(1000000000)

enum {
    TOUCH_SECONDS = 600,
    DRIFT_SECONDS = 60, // a larger difference is a jump of the clock
    CLOCK_MAX_BYTES = 64 << 10,
    CLOCK_KEPT_SAMPLES = 48,
    SAMPLE_MAX_CHARS = 80,
};

typedef struct sample {
    uint64_t boot[2];
    int64_t offset_s; // file system's clock minus time since boot
} sample;

typedef struct samples {
    sample items[CLOCK_KEPT_SAMPLES]; // the last samples, oldest first
    size_t count;
    bool foreign; // the file has other content, or is too large or not regular
} samples;

static int64_t offset_of(uint64_t realtime_ns) {
    return ((int64_t)realtime_ns - (int64_t)rk_boottime_ns()) / NS_PER_SECOND;
}

static bool differs(int64_t a_s, int64_t b_s) {
    return a_s - b_s > DRIFT_SECONDS || b_s - a_s > DRIFT_SECONDS;
}

static bool same_boot(const sample *a, const sample *b) {
    return a->boot[0] == b->boot[0] && a->boot[1] == b->boot[1];
}

static void add_sample(samples *list, const sample *one) {
    if (list->count == CLOCK_KEPT_SAMPLES) {
        memmove(list->items, list->items + 1, (CLOCK_KEPT_SAMPLES - 1) * sizeof *list->items);
        list->count--;
    }
    list->items[list->count++] = *one;
}

// Parses 16 hex digits.
static uint64_t parse_hex(const char *digits) {
    char text[17];
    memcpy(text, digits, 16);
    text[16] = '\0';
    return strtoull(text, NULL, 16);
}

// Parses "<boot id, 32 hex digits> <seconds>". False for any other text.
static bool parse_sample(const char *line, sample *out) {
    enum { BOOT_DIGITS = 32, MAX_DIGITS = 18 };
    if (strspn(line, "0123456789abcdef") != BOOT_DIGITS || line[BOOT_DIGITS] != ' ')
        return false;
    const char *seconds = line + BOOT_DIGITS + 1;
    size_t sign = *seconds == '-', digits = strspn(seconds + sign, "0123456789");
    if (digits == 0 || digits > MAX_DIGITS || seconds[sign + digits])
        return false;
    *out = (sample){{parse_hex(line), parse_hex(line + 16)}, strtoll(seconds, NULL, 10)};
    return true;
}

static rk_err *read_samples(const rk_store *store, samples *out_samples) {
    *out_samples = (samples){0};
    rk_autofree char *path = rk_usage_path("clock");
    if (!path)
        return rk_err_no_memory();
    RK_AUTO(rk_buf) text = RK_BUF_INIT(CLOCK_MAX_BYTES + 4096);
    rk_err *err = rk_tree_read(store->directory, path, CLOCK_MAX_BYTES, &text);
    if (rk_err_code(err) == RK_NOT_FOUND || rk_err_code(err) == RK_OUT_OF_RANGE) {
        out_samples->foreign = rk_err_code(err) == RK_OUT_OF_RANGE;
        rk_err_drop(err, "no samples: the clock has not jumped as far as we know");
        return NULL;
    }
    RK_TRY(err);
    for (size_t at = 0; at < text.len;) {
        const char *start = rk_buf_text(&text) + at;
        size_t len = strcspn(start, "\n");
        char line[SAMPLE_MAX_CHARS] = "";
        sample one;
        if (len < sizeof line)
            memcpy(line, start, len);
        if (parse_sample(line, &one))
            add_sample(out_samples, &one);
        at += len + 1;
    }
    // After a power cut, rekindle's own file may be empty or full of zeros.
    out_samples->foreign = out_samples->count == 0 && text.len && rk_buf_text(&text)[0];
    return NULL;
}

static void write_sample(const sample *one, rk_buf *out) {
    rk_buf_add_format(out, "%016llx%016llx %lld\n", (unsigned long long)one->boot[0],
                      (unsigned long long)one->boot[1], (long long)one->offset_s);
}

// Appends one line to the file. Does not sync the file, since a hit must not wait for a disk.
static rk_err *append_sample(const rk_store *store, const sample *one) {
    RK_AUTO(rk_buf) line = {0};
    rk_autofree char *path = rk_usage_path("clock");
    write_sample(one, &line);
    RK_TRY(rk_buf_status(&line));
    if (!path)
        return rk_err_no_memory();
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK;
    rk_autofd fd = -1;
    rk_err *err = rk_tree_open(store->directory, path, flags, 0600, &fd);
    if (rk_err_code(err) == RK_NOT_FOUND) {
        rk_err_drop(err, "the folder is made lazily");
        RK_TRY(rk_usage_make_folder(store));
        err = rk_tree_open(store->directory, path, flags, 0600, &fd);
    }
    RK_TRY(err);
    return rk_fd_write_all(fd, line.data, line.len);
}

// Records a sample unless the file has one of the same boot and nearly the same offset.
static rk_err *keep_sample(const rk_store *store, int64_t offset_s) {
    rk_process self;
    rk_process_self(&self);
    sample one = {{self.boot[0], self.boot[1]}, offset_s};
    samples known;
    RK_TRY(read_samples(store, &known));
    if (known.foreign)
        return NULL;
    for (size_t i = 0; i < known.count; i++)
        if (same_boot(&known.items[i], &one) && !differs(known.items[i].offset_s, offset_s))
            return NULL;
    return append_sample(store, &one);
}

// Records a sample of the clock that set the file's modification time, if it differs from the last
// one that this process saw.
static void sample_clock(rk_store *store, int fd) {
    struct stat info;
    if (rk_sys()->fstat_fn(fd, &info) != 0)
        return;
    int64_t offset_s = offset_of(rk_stat_modified_ns(&info));
    int64_t last_s = atomic_load(&store->clock_offset_s);
    if (last_s != 0 && !differs(offset_s, last_s))
        return;
    atomic_store(&store->clock_offset_s, offset_s);
    rk_err_drop(keep_sample(store, offset_s), "the sample matters only after a clock jump");
}

// Opens an entry's file; -1 if that fails, without an error.
static int open_entry(const rk_store *store, rk_entry_kind kind, const char *hex) {
    RK_AUTO(rk_buf) path = {0};
    int fd = -1;
    rk_store_add_path(store, kind, hex, &path);
    rk_err *err = rk_buf_status(&path);
    if (!err)
        err = rk_tree_open(store->directory, rk_store_below(store, &path), O_RDONLY | O_NONBLOCK, 0,
                           &fd);
    rk_err_drop(err, "removed meanwhile; recording the use is best effort");
    return fd;
}

void rk_last_use_sample_clock(rk_store *store, rk_entry_kind kind, const char *hex) {
    rk_autofd fd = open_entry(store, kind, hex);
    if (fd >= 0)
        sample_clock(store, fd);
}

static bool touch(rk_store *store, int fd) {
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
    if (rk_sys()->futimens_fn(fd, times) == 0)
        return true;
    rk_err *err = rk_error_errno(errno, "cannot note that an entry was used");
    rk_store_note_refusal(store, err);
    rk_err_drop(err, "it only looks older than it is");
    return false;
}

void rk_last_use_touch(rk_store *store, const char *hex) {
    struct stat info;
    if (!rk_store_accepts(store))
        return;
    rk_autofd fd = open_entry(store, RK_ENTRY_EXECUTABLE, hex);
    if (fd < 0 || rk_sys()->fstat_fn(fd, &info) != 0)
        return;
    // The process's own clock suffices to decide whether ten minutes have passed.
    int64_t since_ns = (int64_t)rk_realtime_ns() - (int64_t)rk_stat_modified_ns(&info);
    if ((since_ns >= 0 && since_ns < TOUCH_SECONDS * NS_PER_SECOND) || !touch(store, fd))
        return;
    sample_clock(store, fd);
    rk_autofd program = open_entry(store, RK_ENTRY_PROGRAM, hex);
    if (program >= 0)
        (void)touch(store, program);
}

// Reads the file system's clock: the modification time of a new file.
static rk_err *probe_now(const rk_store *store, uint64_t *out_now_ns) {
    RK_AUTO(rk_buf) name = {0};
    rk_buf_add_text(&name, "usage/");
    rk_temporary_add_name(&name);
    RK_TRY(rk_buf_status(&name));
    const char *path = rk_buf_text(&name);
    RK_TRY(rk_usage_make_folder(store));
    rk_autofd fd = -1;
    RK_TRY(rk_tree_open(store->directory, path, O_WRONLY | O_CREAT | O_EXCL, 0600, &fd));
    struct stat info;
    // Uses the same call as for candidates, because libraries that fake times replace only some
    // calls.
    rk_err *err = rk_tree_stat(store->directory, path, &info);
    if (!err)
        *out_now_ns = rk_stat_modified_ns(&info);
    rk_err_drop(rk_tree_remove(store->directory, path), "an empty file");
    return err;
}

// Computes the correction of each sample's clock: the difference to the last sample of the same
// boot, or for this boot, to the current clock.
static void find_shifts(const samples *known, const sample *current, rk_last_use_clock *clock) {
    for (size_t i = 0; i < known->count && clock->shift_count < RK_LAST_USE_MAX_SHIFTS; i++) {
        const sample *one = &known->items[i], *last = one;
        if (same_boot(one, current))
            last = current;
        for (size_t j = i + 1; j < known->count && last != current; j++)
            if (same_boot(&known->items[j], one))
                last = &known->items[j];
        if (differs(one->offset_s, last->offset_s))
            clock->shifts_ns[clock->shift_count++] =
                (last->offset_s - one->offset_s) * NS_PER_SECOND;
    }
}

rk_err *rk_last_use_load_clock(const rk_store *store, rk_last_use_clock *out_clock) {
    *out_clock = (rk_last_use_clock){.now_ns = rk_realtime_ns()};
    rk_err *err = store->readonly ? NULL : probe_now(store, &out_clock->now_ns);
    if (rk_err_errno(err) == ENOSPC || rk_err_errno(err) == EDQUOT) {
        rk_err_drop(err, "the disk is full: the process's own clock is used");
        err = NULL;
    }
    RK_TRY(err);
    samples known;
    RK_TRY(read_samples(store, &known));
    rk_process self;
    rk_process_self(&self);
    sample current = {{self.boot[0], self.boot[1]}, offset_of(out_clock->now_ns)};
    find_shifts(&known, &current, out_clock);
    return NULL;
}

bool rk_last_use_is_future(const rk_last_use_clock *clock, uint64_t stamp_ns) {
    return stamp_ns > clock->now_ns + DRIFT_SECONDS * (uint64_t)NS_PER_SECOND;
}

uint64_t rk_last_use_age(const rk_last_use_clock *clock, uint64_t stamp_ns) {
    if (stamp_ns >= clock->now_ns)
        return 0;
    uint64_t least_ns = clock->now_ns - stamp_ns;
    for (size_t i = 0; i < clock->shift_count; i++) {
        int64_t age_ns = (int64_t)(clock->now_ns - stamp_ns) - clock->shifts_ns[i];
        if (age_ns < -DRIFT_SECONDS * NS_PER_SECOND)
            continue; // the stamp is in that clock's future, so another clock set it
        uint64_t this_ns = age_ns < 0 ? 0 : (uint64_t)age_ns;
        least_ns = this_ns < least_ns ? this_ns : least_ns;
    }
    return least_ns;
}

void rk_last_use_trim_clock(const rk_store *store) {
    enum { WORTH_TRIMMING_BYTES = 2 * CLOCK_KEPT_SAMPLES * SAMPLE_MAX_CHARS / 2 };
    rk_autofree char *path = rk_usage_path("clock");
    struct stat info;
    rk_err *err = path ? rk_tree_stat(store->directory, path, &info) : rk_err_no_memory();
    if (err || info.st_size < WORTH_TRIMMING_BYTES) {
        rk_err_drop(err, "there is none, or it is trimmed another time");
        return;
    }
    samples known;
    RK_AUTO(rk_buf) text = {0};
    err = read_samples(store, &known);
    for (size_t i = 0; !err && i < known.count; i++)
        write_sample(&known.items[i], &text);
    if (!err)
        err = rk_buf_status(&text);
    if (!err && !known.foreign)
        err = rk_tree_publish(store->directory, path, text.data, text.len, 0600);
    rk_err_drop(err, "it is trimmed another time");
}
