#include "settings/values_internal.h"

#include <string.h>

#include "base/buf.h"

// Settings are plain ASCII, whatever locale the host process has set.
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name_char(char c) {
    return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-';
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

rk_err *rk_value_choice(const char *label, const char *value, const char *const *choices,
                        size_t *out_index) {
    size_t count = 0;
    for (; choices[count]; count++) {
        if (strcmp(value, choices[count]) == 0) {
            *out_index = count;
            return NULL;
        }
    }
    RK_AUTO(rk_buf) list = {0};
    for (size_t i = 0; i < count; i++)
        rk_buf_add_format(&list, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", choices[i]);
    RK_TRY(rk_buf_status(&list));
    return rk_error(RK_INVALID_ARGUMENT, "%s is \"%s\"; use %s", label, value, rk_buf_text(&list));
}

rk_err *rk_value_bool(const char *label, const char *value, bool *out_value) {
    static const char *const words[] = {"0", "1", "off", "on", "false", "true", "no", "yes"};
    for (size_t i = 0; i < RK_ARRAY_LEN(words); i++) {
        if (strcmp(value, words[i]) == 0) {
            *out_value = i % 2 == 1;
            return NULL;
        }
    }
    return rk_error(RK_INVALID_ARGUMENT, "%s is \"%s\"; use 1 or 0", label, value);
}

// Takes a decimal number off the front of `*text`, in millionths. strtod would obey the locale. At
// most twelve digits before the point and six after it, so that nothing can overflow.
static bool take_millionths(const char **text, uint64_t *out_millionths) {
    const char *next = *text;
    uint64_t whole = 0, fraction = 0;
    size_t digits = 0, decimals = 0;
    for (; is_digit(*next); next++, digits++)
        whole = digits < 12 ? whole * 10 + (uint64_t)(*next - '0') : whole;
    if (digits == 0 || digits > 12)
        return false;
    if (*next == '.') {
        for (next++; is_digit(*next); next++, decimals++)
            fraction = decimals < 6 ? fraction * 10 + (uint64_t)(*next - '0') : fraction;
        if (decimals == 0 || decimals > 6)
            return false;
        for (size_t i = decimals; i < 6; i++)
            fraction *= 10;
    }
    *out_millionths = whole * 1000000 + fraction;
    *text = next;
    return true;
}

// Returns log2 of the unit, or -1. "" means bytes.
static int unit_shift(const char *unit) {
    if (!*unit)
        return 0;
    const char *rest = unit + 1;
    if (*rest == 'i' && rest[1])
        rest++;
    if (*rest && ((*rest != 'B' && *rest != 'b') || rest[1]))
        return -1;
    switch (*unit) {
    case 'k':
    case 'K':
        return 10;
    case 'm':
    case 'M':
        return 20;
    case 'g':
    case 'G':
        return 30;
    case 't':
    case 'T':
        return 40;
    default:
        return -1;
    }
}

rk_err *rk_value_size(const char *label, const char *value, uint64_t *out_bytes) {
    const char *unit = value;
    uint64_t millionths = 0, whole = 0;
    int shift = -1;
    if (take_millionths(&unit, &millionths))
        shift = unit_shift(unit);
    if (shift < 0 || (shift == 0 && millionths % 1000000 != 0))
        return rk_error(RK_INVALID_ARGUMENT,
                        "%s is \"%s\"; use a size such as 20G, 500M or 1.5T (units K, M, G, T), "
                        "bytes without a unit, or 0 for no limit",
                        label, value);
    if (__builtin_mul_overflow(millionths / 1000000, (uint64_t)1 << shift, &whole) ||
        whole > (uint64_t)INT64_MAX)
        return rk_error(RK_INVALID_ARGUMENT, "%s is \"%s\", which is too large", label, value);
    whole += ((millionths % 1000000) << shift) / 1000000;
    *out_bytes = millionths == 0 ? UINT64_MAX : whole;
    return NULL;
}

rk_err *rk_value_seconds(const char *label, const char *value, uint64_t *out_ns) {
    const char *rest = value;
    uint64_t millionths = 0;
    if (!take_millionths(&rest, &millionths) || *rest || millionths > (uint64_t)1000000 * 1000000)
        return rk_error(RK_INVALID_ARGUMENT,
                        "%s is \"%s\"; use seconds from 0 to 1000000, such as 2 or 0.25", label,
                        value);
    *out_ns = millionths * 1000;
    return NULL;
}

rk_err *rk_value_share(const char *label, const char *value, uint32_t *out_ppm) {
    const char *rest = value;
    uint64_t millionths = 0;
    if (!take_millionths(&rest, &millionths) || *rest || millionths > 1000000)
        return rk_error(RK_INVALID_ARGUMENT, "%s is \"%s\"; use a share from 0 to 1, such as 0.01",
                        label, value);
    *out_ppm = (uint32_t)millionths;
    return NULL;
}

rk_err *rk_value_name(const char *label, const char *value, size_t max_chars) {
    size_t len = 0;
    while (is_name_char(value[len]))
        len++;
    if (value[len] || len > max_chars || value[0] == '.')
        return rk_error(RK_INVALID_ARGUMENT,
                        "%s is \"%s\"; use at most %zu letters, digits, '.', '_' and '-', not "
                        "beginning with '.'",
                        label, value, max_chars);
    return NULL;
}

rk_err *rk_value_warmup(const char *label, const char *value, rk_warmup *out_warmup) {
    static const struct {
        const char *word;
        rk_warmup_kind kind;
    } units[] = {{"steps", RK_WARMUP_STEPS},       {"step", RK_WARMUP_STEPS},
                 {"compiles", RK_WARMUP_COMPILES}, {"compile", RK_WARMUP_COMPILES},
                 {"seconds", RK_WARMUP_SECONDS},   {"second", RK_WARMUP_SECONDS}};
    bool is_auto = strcmp(value, "auto") == 0;
    if (is_auto || strcmp(value, "mark") == 0) {
        *out_warmup = (rk_warmup){.kind = is_auto ? RK_WARMUP_AUTO : RK_WARMUP_MARK};
        return NULL;
    }
    const char *rest = value;
    uint64_t millionths = 0;
    if (take_millionths(&rest, &millionths) && is_blank(*rest)) {
        while (is_blank(*rest))
            rest++;
        for (size_t i = 0; i < RK_ARRAY_LEN(units); i++) {
            bool is_seconds = units[i].kind == RK_WARMUP_SECONDS;
            if (strcmp(rest, units[i].word) != 0 || (!is_seconds && millionths % 1000000 != 0) ||
                millionths > (uint64_t)1000000000 * 1000000)
                continue;
            *out_warmup =
                (rk_warmup){units[i].kind, is_seconds ? millionths * 1000 : millionths / 1000000};
            return NULL;
        }
    }
    return rk_error(RK_INVALID_ARGUMENT,
                    "%s is \"%s\"; use auto, mark, \"N steps\", \"N compiles\" or \"N seconds\"",
                    label, value);
}

// Returns the length of "scheme://" at the front of an address if a tier supports it, else 0.
static size_t known_scheme_len(const char *address, size_t len) {
    static const char *const schemes[] = {"redis://", "rediss://", "s3://",
                                          "http://",  "https://",  "file:///"};
    for (size_t i = 0; i < RK_ARRAY_LEN(schemes); i++) {
        size_t scheme_len = strlen(schemes[i]);
        if (len > scheme_len && memcmp(address, schemes[i], scheme_len) == 0)
            return scheme_len;
    }
    return 0;
}

rk_err *rk_value_remote(const char *label, const char *value) {
    for (const char *next = value; *next;) {
        size_t len = strcspn(next, " \t");
        if (len && known_scheme_len(next, len) == 0) {
            // Shows only the scheme: the rest may contain a password.
            const char *colon = memchr(next, ':', len);
            int shown = colon ? (int)(colon - next) : (int)(len < 40 ? len : 40);
            return rk_error(RK_INVALID_ARGUMENT,
                            "%s has the address \"%.*s%s\"; use redis://host, rediss://host, "
                            "s3://bucket/prefix, http(s)://host/path or file:///path, separated by "
                            "blanks",
                            label, shown, next, colon ? ":…" : "");
        }
        next += len;
        next += strspn(next, " \t");
    }
    return NULL;
}

rk_err *rk_value_names(const char *label, const char *value) {
    for (const char *next = value; *next; next++) {
        if (is_name_char(*next) || is_blank(*next) || *next == ',')
            continue;
        return rk_error(RK_INVALID_ARGUMENT,
                        "%s is \"%s\"; use names only, such as xla_dump_to, without values and "
                        "separated by commas or blanks",
                        label, value);
    }
    return NULL;
}
