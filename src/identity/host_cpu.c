#include "identity/host_cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/fs.h"

enum {
    MAX_CPUINFO_BYTES = 16 << 10, // the section of the first processor has about 1.5 KiB
    MAX_FEATURES = 1024,
    MAX_CPUS = 1 << 16,
};

// Names in /proc/cpuinfo, for x86-64 and aarch64 (arch/x86/kernel/cpu/proc.c and
// arch/arm64/kernel/cpuinfo.c in Linux).
static const char *const MODEL_NAMES[] = {
    "vendor_id", "cpu family", "model", "CPU implementer", "CPU architecture", "CPU part",
};
static const char *const FEATURE_NAMES[] = {"flags", "Features"};

static bool is_one_of(rk_span name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (rk_span_is(name, names[i]))
            return true;
    return false;
}

static rk_span trim(rk_span text) {
    while (text.len && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = rk_span_of(text.data + 1, text.len - 1);
    while (text.len && (text.data[text.len - 1] == ' ' || text.data[text.len - 1] == '\t'))
        text.len--;
    return text;
}

// Takes "name : value" off the front. False at the end of the first processor's section.
static bool take_line(rk_span *info, rk_span *out_name, rk_span *out_value) {
    if (!info->len || info->data[0] == '\n')
        return false;
    const uint8_t *end = memchr(info->data, '\n', info->len);
    size_t len = end ? (size_t)(end - info->data) : info->len;
    const uint8_t *colon = memchr(info->data, ':', len);
    size_t name_len = colon ? (size_t)(colon - info->data) : len;
    *out_name = trim(rk_span_of(info->data, name_len));
    *out_value = colon ? trim(rk_span_of(colon + 1, len - name_len - 1)) : (rk_span){0};
    size_t step = end ? len + 1 : len;
    *info = rk_span_of(info->data + step, info->len - step);
    return true;
}

static int compare_spans(const void *left, const void *right) {
    const rk_span *a = left, *b = right;
    return rk_span_compare(*a, *b);
}

// Sorts the flags, because their order depends on the kernel's version. One blank separates them.
static rk_err *add_features(rk_span flags, rk_components *out) {
    RK_AUTO(rk_buf) text = {0};
    rk_autofree rk_span *words = rk_calloc(MAX_FEATURES, sizeof *words);
    size_t count = 0;
    if (!words)
        return rk_err_no_memory();
    for (size_t start = 0, i = 0; i <= flags.len; i++) {
        if (i < flags.len && flags.data[i] != ' ')
            continue;
        if (i > start && count < MAX_FEATURES)
            words[count++] = rk_span_of(flags.data + start, i - start);
        start = i + 1;
    }
    qsort(words, count, sizeof *words, compare_spans);
    for (size_t i = 0; i < count; i++) {
        rk_buf_add_text(&text, i ? " " : "");
        rk_buf_add_span(&text, words[i]);
    }
    RK_TRY(rk_buf_status(&text));
    return rk_components_add(out, RK_COMPONENT_TOPOLOGY, "host.cpu_features", rk_buf_span(&text));
}

rk_err *rk_host_cpu_add_info(rk_span cpuinfo, rk_components *out) {
    RK_AUTO(rk_buf) model = {0};
    rk_span name, value, features = {0};
    while (take_line(&cpuinfo, &name, &value)) {
        if (is_one_of(name, FEATURE_NAMES, RK_ARRAY_LEN(FEATURE_NAMES)))
            features = value;
        if (!is_one_of(name, MODEL_NAMES, RK_ARRAY_LEN(MODEL_NAMES)))
            continue;
        rk_buf_add_text(&model, model.len ? ", " : "");
        rk_buf_add_span(&model, name);
        rk_buf_add_byte(&model, ' ');
        rk_buf_add_span(&model, value);
    }
    RK_TRY(rk_buf_status(&model));
    RK_TRY(rk_components_add(out, RK_COMPONENT_TOPOLOGY, "host.cpu", rk_buf_span(&model)));
    return add_features(features, out);
}

static rk_err *read_cpuinfo(rk_buf *out) {
    rk_autofd fd = rk_sys()->open_fn("/proc/cpuinfo", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return rk_error_errno(errno, "cannot open /proc/cpuinfo");
    while (out->len < MAX_CPUINFO_BYTES) {
        uint8_t chunk[4096];
        ssize_t got = rk_sys()->read_fn(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rk_error_errno(errno, "cannot read /proc/cpuinfo");
        if (got == 0)
            break;
        rk_buf_add(out, chunk, (size_t)got);
    }
    return rk_buf_status(out);
}

// Counts as tsl::port::NumSchedulableCPUs does.
static rk_err *count_cpus(int *out_count) {
    int error = EINVAL; // the kernel's error if its set is larger than `set`
    for (size_t capacity = 1024; capacity <= MAX_CPUS && error == EINVAL; capacity *= 2) {
        cpu_set_t *set = CPU_ALLOC(capacity);
        size_t size = CPU_ALLOC_SIZE(capacity);
        if (!set)
            return rk_err_no_memory();
        error = sched_getaffinity(0, size, set) ? errno : 0;
        *out_count = error ? 0 : CPU_COUNT_S(size, set);
        CPU_FREE(set);
    }
    return error ? rk_error_errno(error, "cannot count the CPUs of this process") : NULL;
}

rk_err *rk_host_cpu_add(rk_components *out) {
    RK_AUTO(rk_buf) info = {0};
    RK_AUTO(rk_buf) text = {0};
    int cpus;
    RK_TRY(read_cpuinfo(&info));
    RK_TRY(rk_host_cpu_add_info(rk_buf_span(&info), out));
    RK_TRY(count_cpus(&cpus));
    rk_buf_add_format(&text, "%d", cpus);
    RK_TRY(rk_buf_status(&text));
    return rk_components_add(out, RK_COMPONENT_TOPOLOGY, "host.cpus", rk_buf_span(&text));
}
