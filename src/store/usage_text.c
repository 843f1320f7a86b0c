// Writes and parses the text of the files in usage/: the base, and the lines of logs.
#include "base/alloc.h"
#include "store/usage_internal.h"

static const char first_line[] = RK_USAGE_START "1\n";
static const char digest_word[] = "digest ";

static const char *const other_places[] = {"quarantine", "runs", "plugins", "jobs", "pending"};

void rk_place_add_name(unsigned place, rk_buf *out) {
    if (place >= RK_PLACE_QUARANTINE) {
        rk_buf_add_text(out, other_places[place - RK_PLACE_QUARANTINE]);
        return;
    }
    bool programs = place >= RK_PLACE_PROGRAMS;
    rk_buf_add_format(out, "%s/%02x",
                      rk_store_kind_folder(programs ? RK_ENTRY_PROGRAM : RK_ENTRY_EXECUTABLE),
                      place & 0xffu);
}

static int hex_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

unsigned rk_place_of(rk_entry_kind kind, const char *hex) {
    unsigned first = kind == RK_ENTRY_PROGRAM ? RK_PLACE_PROGRAMS : RK_PLACE_EXECUTABLES;
    return first + (unsigned)(hex_value(hex[0]) << 4 | hex_value(hex[1]));
}

static bool place_of_kind(rk_span name, rk_entry_kind kind, unsigned *out_place) {
    const char *folder = rk_store_kind_folder(kind);
    size_t len = strlen(folder);
    if (name.len != len + 3 || memcmp(name.data, folder, len) != 0 || name.data[len] != '/')
        return false;
    const char *digits = (const char *)name.data + len + 1;
    if (hex_value(digits[0]) < 0 || hex_value(digits[1]) < 0)
        return false;
    *out_place = rk_place_of(kind, digits);
    return true;
}

static bool parse_place(rk_span name, unsigned *out_place) {
    for (unsigned i = 0; i < RK_ARRAY_LEN(other_places); i++) {
        if (rk_span_is(name, other_places[i])) {
            *out_place = RK_PLACE_QUARANTINE + i;
            return true;
        }
    }
    return place_of_kind(name, RK_ENTRY_EXECUTABLE, out_place) ||
           place_of_kind(name, RK_ENTRY_PROGRAM, out_place);
}

// Takes the next word, up to `end`, and moves `*text` past `end`. False if `end` is missing.
static bool take_word(rk_span *text, char end, rk_span *out_word) {
    const uint8_t *found = text->len ? memchr(text->data, end, text->len) : NULL;
    if (!found)
        return false;
    *out_word = rk_span_of(text->data, (size_t)(found - text->data));
    text->data = found + 1;
    text->len -= out_word->len + 1;
    return true;
}

// Parses a decimal number with an optional sign. At most 18 digits, so that nothing overflows.
static bool parse_number(rk_span word, int64_t *out_number) {
    enum { MAX_DIGITS = 18 };
    bool negative = word.len && word.data[0] == '-';
    size_t at = word.len && (negative || word.data[0] == '+') ? 1 : 0;
    if (word.len == at || word.len - at > MAX_DIGITS)
        return false;
    int64_t number = 0;
    for (; at < word.len; at++) {
        if (word.data[at] < '0' || word.data[at] > '9')
            return false;
        number = number * 10 + (word.data[at] - '0');
    }
    *out_number = negative ? -number : number;
    return true;
}

static bool parse_count(rk_span *line, rk_usage_count *out_count) {
    rk_span files, bytes;
    return take_word(line, ' ', &files) && take_word(line, '\n', &bytes) &&
           parse_number(files, &out_count->files) && parse_number(bytes, &out_count->bytes);
}

void rk_usage_write_line(unsigned place, rk_usage_count change, rk_buf *out) {
    rk_place_add_name(place, out);
    rk_buf_add_format(out, " %+lld %+lld\n", (long long)change.files, (long long)change.bytes);
}

bool rk_usage_parse_line(rk_span text, size_t *out_used, unsigned *out_place,
                         rk_usage_count *out_change) {
    const uint8_t *newline = text.len ? memchr(text.data, '\n', text.len) : NULL;
    *out_used = newline ? (size_t)(newline - text.data) + 1 : 0;
    rk_span line = rk_span_of(text.data, *out_used), name;
    return newline && take_word(&line, ' ', &name) && parse_place(name, out_place) &&
           parse_count(&line, out_change) && line.len == 0;
}

rk_usage_log *rk_usage_log_named(rk_usage_state *state, rk_span name) {
    for (size_t i = 0; i < state->log_count; i++)
        if (rk_span_is(name, state->logs[i].name))
            return &state->logs[i];
    if (state->log_count == state->log_capacity) {
        size_t capacity = state->log_capacity ? 2 * state->log_capacity : 16;
        rk_usage_log *logs = rk_realloc(state->logs, capacity * sizeof *logs);
        if (!logs)
            return NULL;
        state->logs = logs;
        state->log_capacity = capacity;
    }
    char *copy = rk_strndup((const char *)name.data, name.len);
    if (!copy)
        return NULL;
    rk_usage_log *log = &state->logs[state->log_count++];
    *log = (rk_usage_log){.name = copy};
    return log;
}

static void write_log(const rk_usage_log *log, rk_buf *out) {
    rk_buf_add_format(out, "%s %llu %+lld %+lld\n", log->name, (unsigned long long)log->folded,
                      (long long)log->pending.files, (long long)log->pending.bytes);
}

void rk_usage_write_base(const rk_usage_state *state, rk_buf *out) {
    size_t start = out->len;
    rk_buf_add_text(out, first_line);
    for (unsigned place = 0; place < RK_PLACE_COUNT; place++) {
        const rk_usage_count *count = &state->table.places[place];
        if (count->files || count->bytes)
            rk_usage_write_line(place, *count, out);
    }
    for (size_t i = 0; i < state->log_count; i++)
        if (state->logs[i].present)
            write_log(&state->logs[i], out);
    if (out->failed)
        return;
    rk_digest digest;
    rk_digest_of(rk_span_of(out->data + start, out->len - start), &digest);
    rk_buf_add_text(out, digest_word);
    rk_buf_add_hex(out, rk_digest_span(&digest));
    rk_buf_add_text(out, "\n");
}

// Checks that the last line is the digest of all lines before it. `*out_content` is those lines.
static bool check_digest(rk_span text, rk_span *out_content) {
    const size_t word_len = sizeof digest_word - 1;
    const size_t line_len = word_len + RK_DIGEST_HEX_CHARS + 1;
    rk_digest written, found;
    if (text.len < line_len || text.data[text.len - 1] != '\n')
        return false;
    const uint8_t *line = text.data + text.len - line_len;
    if (memcmp(line, digest_word, word_len) != 0 ||
        !rk_digest_from_hex(rk_span_of(line + word_len, RK_DIGEST_HEX_CHARS), &written))
        return false;
    *out_content = rk_span_of(text.data, text.len - line_len);
    rk_digest_of(*out_content, &found);
    return rk_digest_equal(&written, &found);
}

static bool parse_log(rk_span line, rk_usage_state *state) {
    rk_span name, number;
    int64_t folded = 0;
    rk_usage_count pending;
    if (!take_word(&line, ' ', &name) || !take_word(&line, ' ', &number) ||
        !parse_number(number, &folded) || folded < 0 || !parse_count(&line, &pending) ||
        state->log_count >= RK_USAGE_MAX_LOGS)
        return false;
    rk_usage_log *log = rk_usage_log_named(state, name);
    if (log) {
        log->folded = (uint64_t)folded;
        log->pending = pending;
    }
    return log != NULL;
}

bool rk_usage_parse_base(rk_span text, rk_usage_state *out_state) {
    rk_span content;
    const size_t first_len = sizeof first_line - 1;
    if (!check_digest(text, &content) || content.len < first_len ||
        memcmp(content.data, first_line, first_len) != 0)
        return false;
    for (size_t at = first_len; at < content.len;) {
        rk_span rest = rk_span_of(content.data + at, content.len - at);
        size_t used = 0;
        unsigned place = 0;
        rk_usage_count count;
        if (rk_usage_parse_line(rest, &used, &place, &count) && place < RK_PLACE_COUNT)
            out_state->table.places[place] = count;
        else if (!used || !parse_log(rk_span_of(rest.data, used), out_state))
            return false;
        at += used;
    }
    return true;
}
