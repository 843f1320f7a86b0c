#include "diagnose/diff/value_words.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/digest.h"

// If `text` is a list of equal items ("true,true,true"), returns how many; else 0.
static size_t count_equal_items(const char *text) {
    size_t len = strcspn(text, ","), count = 1;
    for (const char *at = text + len; *at; at += len + 1, count++)
        if (strncmp(at + 1, text, len) != 0 || (at[len + 1] != ',' && at[len + 1]))
            return 0;
    return len ? count : 0;
}

static bool is_digest(const char *text) {
    return strlen(text) == RK_DIGEST_HEX_CHARS &&
           strspn(text, "0123456789abcdef") == RK_DIGEST_HEX_CHARS;
}

// Appends the shortest number with the same value. Up to 9 digits are of a number of 32 bits.
// Returns false if the text is no number with a fraction.
static bool add_shortest(const char *text, rk_buf *out) {
    enum { FLOAT_DIGITS = 9, DOUBLE_DIGITS = 17, ROOM = 40 };
    size_t len = strlen(text), digits = 0;
    for (size_t i = 0; i < len && text[i] != 'e' && text[i] != 'E'; i++)
        digits += text[i] >= '0' && text[i] <= '9' && (digits || text[i] != '0');
    if (len != strspn(text, "+-.0123456789eE") || !strpbrk(text, ".eE") || len >= ROOM)
        return false;
    bool is_float = digits <= FLOAT_DIGITS;
    for (int precision = 1; precision <= DOUBLE_DIGITS; precision++) {
        char shown[ROOM];
        (void)snprintf(shown, sizeof shown, "%.*g", precision, strtod(text, NULL));
        bool same = is_float ? !(strtof(shown, NULL) < strtof(text, NULL) ||
                                 strtof(shown, NULL) > strtof(text, NULL))
                             : !(strtod(shown, NULL) < strtod(text, NULL) ||
                                 strtod(shown, NULL) > strtod(text, NULL));
        if (!same)
            continue;
        rk_buf_add_text(out, shown);
        return true;
    }
    return false;
}

// Names the bits of an infinity.
static const char *find_infinity(const char *text) {
    static const char *const bits[][2] = {{"0xFF800000", "-inf (f32)"},
                                          {"0x7F800000", "inf (f32)"},
                                          {"0xFF80", "-inf (bf16)"},
                                          {"0x7F80", "inf (bf16)"},
                                          {"0xFC00", "-inf (f16)"},
                                          {"0x7C00", "inf (f16)"},
                                          {"0xFFF0000000000000", "-inf (f64)"},
                                          {"0x7FF0000000000000", "inf (f64)"},
                                          {"0x7FC00000", "nan (f32)"}};
    for (size_t i = 0; i < RK_ARRAY_LEN(bits); i++)
        if (strcmp(text, bits[i][0]) == 0)
            return bits[i][1];
    return NULL;
}

// Devices are one item a line: "4 cpu\naddressable 4\n".
static void add_lines(const char *text, rk_buf *out) {
    char all[32];
    (void)snprintf(all, sizeof all, "addressable %.*s", (int)strspn(text, "0123456789"), text);
    for (size_t count = 0; *text; count++) {
        size_t len = strcspn(text, "\n");
        bool is_plain = len == strlen(all) && strncmp(text, all, len) == 0;
        if (len && !is_plain) {
            rk_buf_add_text(out, count ? ", " : "");
            rk_buf_add(out, text, len);
        }
        text += len + (text[len] == '\n');
    }
}

void rk_value_words_add(const rk_difference *d, const char *value, rk_buf *out) {
    enum { ITEMS_MIN = 4 };
    size_t count = value ? count_equal_items(value) : 0;
    const char *infinity = value && d->kind == RK_DIFFERENCE_CONSTANT ? find_infinity(value) : NULL;
    if (!value)
        rk_buf_add_text(out, "none");
    else if (infinity)
        rk_buf_add_text(out, infinity);
    else if (d->kind >= RK_DIFFERENCE_OPTION && is_digest(value))
        rk_buf_add_format(out, "a long value (digest %.12s)", value);
    else if (d->kind >= RK_DIFFERENCE_OPTION && count >= ITEMS_MIN)
        rk_buf_add_format(out, "%.*s (%zu times)", (int)strcspn(value, ","), value, count);
    else if (d->kind == RK_DIFFERENCE_TOPOLOGY)
        add_lines(value, out);
    else if (d->kind != RK_DIFFERENCE_CONSTANT || !add_shortest(value, out))
        rk_buf_add_text(out, value);
}

const char *rk_value_words_name(const rk_difference *d) {
    static const char topology[] = "topology.";
    const char *name = d->attribute ? d->attribute : "";
    size_t len = sizeof topology - 1;
    bool repeats = d->kind == RK_DIFFERENCE_TOPOLOGY && strncmp(name, topology, len) == 0;
    return repeats ? name + len : name;
}

const char *rk_value_words_op(const rk_difference *d) {
    const char *dot = d->op ? strchr(d->op, '.') : NULL;
    return dot ? dot + 1 : d->op ? d->op : "";
}

// Returns whether the operation is a loop, a condition or a call, which contains operations.
static bool is_control(const rk_difference *d) {
    static const char *const names[] = {"while", "if", "case", "conditional", "call"};
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++)
        if (strcmp(rk_value_words_op(d), names[i]) == 0)
            return true;
    return false;
}

void rk_value_words_add_operation(const rk_difference *d, rk_buf *out) {
    rk_buf_add_format(out, "%s%s%s %s", rk_value_words_op(d), d->attribute ? " " : "",
                      d->attribute ? d->attribute : "",
                      d->is_moved && is_control(d)        ? "changed"
                      : d->is_moved                       ? "in another place"
                      : d->kind == RK_DIFFERENCE_OP_ADDED ? "added"
                                                          : "removed");
    if (d->after || d->before)
        rk_buf_add_format(out, ": %s", d->after ? d->after : d->before);
}
