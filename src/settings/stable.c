#include "settings/stable_internal.h"

// Each match_… function returns the length of its match at the front of `text`, 0 if there is none.
// All work on plain ASCII, whatever locale the host process has set.

enum { LONG_DIGITS = 8, LONG_HEX = 8 };

static bool is_digit(uint8_t c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(uint8_t c) {
    return (uint8_t)((c | 0x20) - 'a') < 26;
}

static bool is_word(uint8_t c) {
    return is_digit(c) || is_letter(c);
}

static bool is_hex(uint8_t c) {
    return is_digit(c) || (uint8_t)((c | 0x20) - 'a') < 6;
}

static bool is_one_of(uint8_t c, const char *set) {
    return c && strchr(set, c);
}

static rk_span from(rk_span text, size_t start) {
    return start < text.len ? rk_span_of(text.data + start, text.len - start) : rk_span_of(NULL, 0);
}

static size_t digits_at(rk_span text, size_t start) {
    size_t count = 0;
    while (start + count < text.len && is_digit(text.data[start + count]))
        count++;
    return count;
}

// True if the `count` bytes at `start` are digits, with a value from `low` to `high`.
static bool number_at(rk_span text, size_t start, size_t count, unsigned low, unsigned high) {
    unsigned value = 0;
    for (size_t i = 0; i < count; i++) {
        if (start + i >= text.len || !is_digit(text.data[start + i]))
            return false;
        value = value * 10 + (unsigned)(text.data[start + i] - '0');
    }
    return value >= low && value <= high;
}

static bool separator_at(rk_span text, size_t at, const char *set) {
    return at < text.len && is_one_of(text.data[at], set);
}

// hh:mm, hh:mm:ss, hh-mm-ss, hhmm, hhmmss, with a fraction and a zone.
static size_t match_clock(rk_span text, bool after_date) {
    if (!number_at(text, 0, 2, 0, 23))
        return 0;
    bool separated = separator_at(text, 2, ":-_.");
    size_t at = separated ? 3 : 2;
    if (!number_at(text, at, 2, 0, 59))
        return 0;
    at += 2;
    bool seconds = separated ? at < text.len && text.data[at] == text.data[2] &&
                                   number_at(text, at + 1, 2, 0, 60)
                             : number_at(text, at, 2, 0, 60);
    if (seconds)
        at += separated ? 3 : 2;
    // Alone, "12-30" or "0815" may be anything; "12:30:59" is a time.
    if (!after_date && !(separated && seconds && text.data[2] != '.'))
        return 0;
    if (digits_at(text, at))
        return 0;
    if (separator_at(text, at, ".,") && digits_at(text, at + 1))
        at += 1 + digits_at(text, at + 1);
    if (separator_at(text, at, "Zz")) {
        at++;
    } else if (separator_at(text, at, "+") && number_at(text, at + 1, 2, 0, 14)) {
        at += 3;
        size_t minutes = separator_at(text, at, ":") ? 1 : 0;
        at += number_at(text, at + minutes, 2, 0, 59) ? minutes + 2 : 0;
    }
    return at;
}

// "2026-11-21", "20261121", "2026_11_21", "Nov21".
static size_t match_day(rk_span text) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (size_t i = 0; text.len >= 3 && i < sizeof months - 1; i += 3) {
        size_t digits = digits_at(text, 3);
        if (memcmp(text.data, months + i, 3) == 0 && (digits == 1 || digits == 2))
            return 3 + digits;
    }
    if (!number_at(text, 0, 4, 1970, 2199))
        return 0;
    bool separated = separator_at(text, 4, "-_./");
    size_t month = separated ? 5 : 4;
    size_t day = month + (separated ? 3 : 2);
    if (!number_at(text, month, 2, 1, 12) || !number_at(text, day, 2, 1, 31))
        return 0;
    return separated && text.data[day - 1] != text.data[4] ? 0 : day + 2;
}

static size_t match_time(rk_span text) {
    size_t day = match_day(text);
    if (!day)
        return match_clock(text, false);
    size_t joint = separator_at(text, day, "Tt_- .") ? 1 : 0;
    size_t clock = match_clock(from(text, day + joint), true);
    if (clock)
        return day + joint + clock;
    return digits_at(text, day) ? 0 : day; // 2026112112345 is a number, not a day
}

static size_t match_uuid(rk_span text) {
    static const size_t groups[] = {8, 4, 4, 4, 12};
    size_t at = 0;
    for (size_t g = 0; g < RK_ARRAY_LEN(groups); g++) {
        if (g && !separator_at(text, at++, "-_"))
            return 0;
        for (size_t i = 0; i < groups[g]; i++, at++)
            if (at >= text.len || !is_hex(text.data[at]))
                return 0;
    }
    return at;
}

// A run of hex digits with at least one decimal digit and one letter: "deadbeef" may be a word.
static size_t match_hex(rk_span text) {
    size_t len = 0, digits = 0;
    if (text.len > 2 && text.data[0] == '0' && text.data[1] == 'x')
        len = 2;
    size_t prefix = len;
    for (; len < text.len && is_hex(text.data[len]); len++)
        digits += is_digit(text.data[len]);
    if (len < text.len && is_word(text.data[len]))
        return 0;
    return len - prefix >= LONG_HEX && digits && digits < len - prefix ? len : 0;
}

static size_t match_ipv4(rk_span text) {
    size_t at = 0;
    for (int part = 0; part < 4; part++) {
        if (part && !separator_at(text, at++, "."))
            return 0;
        size_t digits = digits_at(text, at);
        if (digits == 0 || digits > 3 || !number_at(text, at, digits, 0, 255))
            return 0;
        at += digits;
    }
    return at;
}

// ":41231" after a host: a name or address with a dot, "]", localhost, or any name after "//".
static size_t match_port(rk_span whole, size_t at) {
    if (whole.data[at] != ':')
        return 0;
    size_t digits = digits_at(whole, at + 1);
    if (digits < 2 || digits > 5)
        return 0;
    size_t start = at;
    bool dotted = at > 0 && whole.data[at - 1] == ']';
    while (start > 0 &&
           (is_word(whole.data[start - 1]) || is_one_of(whole.data[start - 1], ".-"))) {
        start--;
        dotted = dotted || whole.data[start] == '.';
    }
    bool known = rk_span_is(rk_span_of(whole.data + start, at - start), "localhost") ||
                 (start >= 2 && memcmp(whole.data + start - 2, "//", 2) == 0);
    return dotted || known ? 1 + digits : 0;
}

static bool starts_path(rk_span text, const char *directory) {
    size_t len = strlen(directory);
    while (len > 1 && directory[len - 1] == '/')
        len--;
    return len && text.len >= len && memcmp(text.data, directory, len) == 0 &&
           (text.len == len || text.data[len] == '/');
}

// A path under a temporary directory, to the end of the path.
static size_t match_temporary(rk_span text, const char *temporary) {
    if (!starts_path(text, "/tmp") && !starts_path(text, "/var/tmp") &&
        !starts_path(text, "/dev/shm") && !(*temporary == '/' && starts_path(text, temporary)))
        return 0;
    size_t len = 0;
    while (len < text.len && !is_one_of(text.data[len], ",:;'\" \t"))
        len++;
    return len;
}

// A name from Python's tempfile: "tmp" and eight of a-z, 0-9 and '_'.
static size_t match_tmp_name(rk_span text) {
    enum { PREFIX = 3, RANDOM = 8 };
    if (text.len < PREFIX + RANDOM || memcmp(text.data, "tmp", PREFIX) != 0)
        return 0;
    size_t len = PREFIX;
    while (len < text.len && (is_word(text.data[len]) || text.data[len] == '_'))
        len++;
    return len == PREFIX + RANDOM ? len : 0;
}

// Matches what is recognized only at the beginning of a word, or of digits after a letter.
static size_t match_word(rk_span text, const char **out_token) {
    size_t len = match_uuid(text);
    *out_token = "<id>";
    if (len)
        return len;
    len = match_time(text);
    *out_token = "<time>";
    if (len)
        return len;
    len = match_ipv4(text);
    *out_token = "<ip>";
    if (len)
        return len;
    len = match_hex(text);
    *out_token = "<id>";
    if (len)
        return len;
    *out_token = "<n>";
    len = digits_at(text, 0);
    if (len >= LONG_DIGITS)
        return len;
    *out_token = "<tmp>";
    return match_tmp_name(text);
}

void rk_stable_add(rk_buf *out, rk_span text, const char *temporary) {
    for (size_t at = 0; at < text.len;) {
        rk_span rest = from(text, at);
        uint8_t before = at ? text.data[at - 1] : 0;
        const char *token = "<tmp>";
        size_t len =
            is_word(before) || is_one_of(before, "/.") ? 0 : match_temporary(rest, temporary);
        if (!len) {
            token = ":<port>";
            len = match_port(text, at);
        }
        if (!len && (!is_word(before) || (is_letter(before) && is_digit(rest.data[0]))))
            len = match_word(rest, &token);
        if (len) {
            rk_buf_add_text(out, token);
            at += len;
        } else {
            rk_buf_add_byte(out, text.data[at++]);
        }
    }
}

// Options with longer names are never volatile.
enum { OPTION_MAX_CHARS = 40 };

static bool ends_in(const char *name, size_t len, const char *word) {
    size_t word_len = strlen(word);
    if (len < word_len || strcmp(name + len - word_len, word) != 0)
        return false;
    return len == word_len || name[len - word_len - 1] == '_' || name[len - word_len - 1] == '.';
}

bool rk_stable_is_volatile_option(rk_span name) {
    static const char *const words[] = {"port",          "pid",      "rank",      "hostname",
                                        "run_id",        "job_id",   "rdzv_id",   "session_id",
                                        "process_id",    "trial_id", "worker_id", "node_id",
                                        "process_index", "timestamp"};
    char lower[OPTION_MAX_CHARS + 1];
    if (name.len == 0 || name.len > OPTION_MAX_CHARS)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.data[i];
        if (c == '-')
            c = '_';
        lower[i] = (char)(is_letter(c) ? (uint8_t)(c | 0x20) : c);
    }
    lower[name.len] = '\0';
    for (size_t i = 0; i < RK_ARRAY_LEN(words); i++)
        if (ends_in(lower, name.len, words[i]))
            return true;
    return false;
}
