#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <wchar.h>

#define NS_PER_MS  UINT64_C(1000000)
#define NS_PER_SEC UINT64_C(1000000000)

rk_text rk_text_bytes(uint64_t bytes) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    rk_text out;
    if (bytes < 1000) {
        (void)snprintf(out.text, sizeof out.text, "%" PRIu64 " B", bytes);
        return out;
    }
    size_t unit = 0;
    double value = (double)bytes;
    // 999.95 would be printed as "1000.0".
    while (value >= 999.95 && unit + 1 < RK_ARRAY_LEN(units)) {
        value /= 1024;
        unit++;
    }
    char number[16];
    int len = snprintf(number, sizeof number, "%.1f", value);
    if (number[len - 1] == '0' && len > 3) // "20.0"
        number[len - 2] = '\0';
    (void)snprintf(out.text, sizeof out.text, "%s %s", number, units[unit]);
    return out;
}

rk_text rk_text_seconds(uint64_t nanoseconds) {
    rk_text out;
    double seconds = (double)nanoseconds / (double)NS_PER_SEC;
    uint64_t whole = (nanoseconds + NS_PER_SEC / 2) / NS_PER_SEC;
    if (nanoseconds == 0)
        (void)snprintf(out.text, sizeof out.text, "0 s");
    else if (nanoseconds < NS_PER_MS / 20)
        (void)snprintf(out.text, sizeof out.text, "<0.1 ms");
    else if (seconds < 9.95e-3)
        (void)snprintf(out.text, sizeof out.text, "%.1f ms", seconds * 1e3);
    else if (seconds < 99.5e-3)
        (void)snprintf(out.text, sizeof out.text, "%.0f ms", seconds * 1e3);
    else if (seconds < 0.995)
        (void)snprintf(out.text, sizeof out.text, "%.2f s", seconds);
    else if (seconds < 59.95)
        (void)snprintf(out.text, sizeof out.text, "%.1f s", seconds);
    else if (whole < 3600)
        (void)snprintf(out.text, sizeof out.text, "%" PRIu64 " min %02" PRIu64 " s", whole / 60,
                       whole % 60);
    else
        (void)snprintf(out.text, sizeof out.text, "%" PRIu64 " h %02" PRIu64 " min", whole / 3600,
                       whole % 3600 / 60);
    return out;
}

rk_text rk_text_count(uint64_t count) {
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, count);
    rk_text out;
    size_t used = 0;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out.text[used++] = ',';
        out.text[used++] = digits[i];
    }
    out.text[used] = '\0';
    return out;
}

rk_text rk_text_age(uint64_t nanoseconds) {
    static const struct {
        uint64_t seconds;
        const char *unit;
    } steps[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {5, "s"}};
    uint64_t seconds = nanoseconds / NS_PER_SEC;
    rk_text out;
    (void)snprintf(out.text, sizeof out.text, "just now");
    for (size_t i = 0; i < RK_ARRAY_LEN(steps); i++) {
        if (seconds >= steps[i].seconds) {
            uint64_t divisor = i + 1 < RK_ARRAY_LEN(steps) ? steps[i].seconds : 1;
            (void)snprintf(out.text, sizeof out.text, "%" PRIu64 " %s ago", seconds / divisor,
                           steps[i].unit);
            break;
        }
    }
    return out;
}

static rk_text time_text(uint64_t nanoseconds, const char *format, bool local) {
    rk_text out = {""};
    time_t seconds = (time_t)(nanoseconds / NS_PER_SEC);
    struct tm parts;
    if (nanoseconds == 0 || !(local ? localtime_r(&seconds, &parts) : gmtime_r(&seconds, &parts)))
        return out;
        // `format` is one of the two literals below.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (strftime(out.text, sizeof out.text, format, &parts) == 0)
        out.text[0] = '\0';
#pragma GCC diagnostic pop
    return out;
}

rk_text rk_text_local_time(uint64_t nanoseconds) {
    return time_text(nanoseconds, "%Y-%m-%d %H:%M:%S", true);
}

rk_text rk_text_utc(uint64_t nanoseconds) {
    return time_text(nanoseconds, "%Y-%m-%dT%H:%M:%SZ", false);
}

const char *rk_text_plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

size_t rk_text_decode(rk_span text, uint32_t *out_code_point) {
    uint8_t first = text.data[0];
    if (first < 0x80) {
        *out_code_point = first;
        return 1;
    }
    size_t len = first >= 0xf0 && first < 0xf5   ? 4
                 : first >= 0xe0 && first < 0xf0 ? 3
                 : first >= 0xc2 && first < 0xe0 ? 2
                                                 : 0;
    if (len == 0 || text.len < len)
        return 0;
    uint32_t code_point = first & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((text.data[i] & 0xc0) != 0x80)
            return 0;
        code_point = code_point << 6 | (text.data[i] & 0x3fu);
    }
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    bool surrogate = code_point >= 0xd800 && code_point < 0xe000;
    if (code_point < smallest[len] || surrogate || code_point > 0x10ffff)
        return 0;
    *out_code_point = code_point;
    return len;
}

void rk_text_add_printable(rk_buf *out, rk_span text) {
    while (text.len > 0) {
        uint32_t code_point = 0;
        size_t len = rk_text_decode(text, &code_point);
        bool control = code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0);
        // Marks of the writing direction can make a line look like a different one.
        bool turns = (code_point >= 0x202a && code_point <= 0x202e) ||
                     (code_point >= 0x2066 && code_point <= 0x2069);
        if (len > 0 && !control && !turns) {
            rk_buf_add(out, text.data, len);
        } else {
            len = len > 0 ? len : 1;
            for (size_t i = 0; i < len; i++)
                rk_buf_add_format(out, "\\x%02x", text.data[i]);
        }
        text.data += len;
        text.len -= len;
    }
}

// Adds text for use between single quotes. Lines stay lines.
static void add_quoted(rk_buf *out, const char *text) {
    while (*text) {
        size_t len = strcspn(text, "'\n\t");
        rk_text_add_printable(out, rk_span_of(text, len));
        text += len;
        if (*text == '\'')
            rk_buf_add_text(out, "'\\''");
        else
            rk_buf_add(out, text, *text != '\0');
        text += *text != '\0';
    }
}

void rk_text_add_word(rk_buf *out, const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+:,=@%";
    bool quoted = !text[0] || text[strspn(text, plain)] != '\0';
    rk_buf_add_text(out, quoted ? "'" : "");
    add_quoted(out, text);
    rk_buf_add_text(out, quoted ? "'" : "");
}

// Returns the length in bytes of the first code point or style sequence of `text`, and its width in
// columns.
static size_t step(rk_span text, size_t *out_columns) {
    uint32_t code_point = 0;
    if (text.len > 1 && text.data[0] == '\x1b' && text.data[1] == '[') {
        const uint8_t *end = memchr(text.data, 'm', text.len);
        *out_columns = 0;
        return end ? (size_t)(end - text.data) + 1 : text.len;
    }
    size_t len = rk_text_decode(text, &code_point);
    // wcwidth returns -1 for a character that the locale cannot print. A terminal shows one
    // replacement character.
    int columns = code_point < 0x80 ? 1 : wcwidth((wchar_t)code_point);
    *out_columns = columns < 0 ? 1 : (size_t)columns;
    return len > 0 ? len : 1;
}

size_t rk_text_width(const char *text) {
    rk_span rest = rk_span_text(text);
    size_t width = 0;
    while (rest.len > 0) {
        size_t columns;
        size_t len = step(rest, &columns);
        width += columns;
        rest = rk_span_of(rest.data + len, rest.len - len);
    }
    return width;
}

size_t rk_text_fit(const char *text, size_t columns) {
    rk_span rest = rk_span_text(text);
    size_t all = rest.len;
    while (rest.len > 0) {
        size_t needed;
        size_t len = step(rest, &needed);
        if (needed > columns)
            break;
        columns -= needed;
        rest = rk_span_of(rest.data + len, rest.len - len);
    }
    return all - rest.len;
}

// True if a line may be broken after this byte of a word that is too long for a line.
static bool is_break(char byte) {
    return byte == '/' || byte == ',' || byte == '.' || byte == '_';
}

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

// True if the word is a unit: "s", or "kB)" at the end of a clause.
static bool is_unit(const char *word) {
    static const char *const units[] = {"s",  "ms", "min", "h",  "d", "B",
                                        "kB", "MB", "GB",  "TB", "%"};
    size_t len = strcspn(word, " ,.;:)\x1b");
    for (size_t i = 0; i < RK_ARRAY_LEN(units); i++)
        if (strlen(units[i]) == len && memcmp(units[i], word, len) == 0)
            return true;
    return false;
}

// True if the space at `at` stands inside of a quantity: "5.2 s", "1 min 56 s".
static bool is_in_quantity(const char *text, size_t at) {
    const char *after = text + at + strspn(text + at, " ");
    if (at > 0 && is_digit(text[at - 1]))
        return is_unit(after);
    bool is_compound = (at > 4 && memcmp(text + at - 4, " min", 4) == 0) ||
                       (at > 2 && memcmp(text + at - 2, " h", 2) == 0);
    return is_compound && is_digit(*after);
}

// True if the space at `at` stands inside of a command in backticks, which users paste.
static bool is_in_command(const char *text, size_t at) {
    bool inside = false;
    for (size_t i = 0; i < at; i++)
        inside = inside != (text[i] == '`');
    return inside && strchr(text + at, '`');
}

// Returns where the line may end at a space, at most at `fit`; 0: nowhere.
static size_t break_at_space(const char *text, size_t fit, bool within_commands) {
    size_t indent = strspn(text, " ");
    for (size_t at = fit; at > indent; at--)
        if (text[at] == ' ' && !is_in_quantity(text, at) &&
            (within_commands || !is_in_command(text, at)))
            return at;
    return 0;
}

size_t rk_text_break(const char *text, size_t columns) {
    size_t fit = rk_text_fit(text, columns), width;
    if (text[fit] == '\0')
        return fit;
    size_t at = break_at_space(text, fit, false);
    at = at ? at : break_at_space(text, fit, true);
    if (at)
        return at;
    for (size_t i = fit; i > fit / 2; i--)
        if (is_break(text[i - 1]))
            return i;
    return fit > 0 ? fit : step(rk_span_text(text), &width);
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

// Optimal string alignment. Keeps three rows: the current one and the two before it.
size_t rk_text_distance(const char *a, const char *b) {
    enum { MAX_CHARS = 63 };
    size_t a_len = strnlen(a, MAX_CHARS), b_len = strnlen(b, MAX_CHARS);
    size_t rows[3][MAX_CHARS + 1];
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t cost = above[j - 1] + (a[i - 1] != b[j - 1]);
            cost = least(cost, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost = least(cost, second[j - 2] + 1);
            row[j] = cost;
        }
    }
    return rows[a_len % 3][b_len];
}

bool rk_text_is_near(const char *word, const char *candidate) {
    return rk_text_distance(word, candidate) <= 1 + strlen(word) / 4;
}
