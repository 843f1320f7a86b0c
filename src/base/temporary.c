#include "base/temporary.h"

#include <stdatomic.h>

#include "base/older_libc.h"
#include "base/process.h"
#include "base/sys.h"

static const char prefix[] = ".tmp-";
enum { PREFIX_CHARS = sizeof prefix - 1, NUMBER_CHARS = 16 };

// Unique even among processes that have the same id in other containers or on other hosts.
static uint64_t unique_number(void) {
    static atomic_uint serial;
    uint64_t number = 0;
    if (rk_getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        number = rk_realtime_ns() << 8 ^ atomic_fetch_add(&serial, 1);
    return number;
}

void rk_temporary_add_name(rk_buf *out) {
    rk_process self;
    rk_process_self(&self);
    rk_buf_add_text(out, prefix);
    rk_process_add_text(&self, out);
    rk_buf_add_format(out, "-%016llx", (unsigned long long)unique_number());
}

bool rk_temporary_is_name(const char *name) {
    static const char digits[] = "0123456789abcdef";
    const char *number = strrchr(name, '-');
    rk_process writer;
    if (strncmp(name, prefix, PREFIX_CHARS) != 0 || number < name + PREFIX_CHARS)
        return false;
    const char *whose = name + PREFIX_CHARS;
    size_t whose_len = (size_t)(number - whose), len = strlen(++number);
    if (len == 0 || len > NUMBER_CHARS || strspn(number, digits) != len)
        return false;
    return (len == NUMBER_CHARS && rk_process_parse(rk_span_of(whose, whose_len), &writer)) ||
           (whose_len > 0 && strspn(whose, "0123456789") == whose_len);
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
