#include "cli/command_diff.h"

#include <string.h>

// One argument with its values: an option and the words after it, or a word before all options.
// Borrowed from the command.
typedef struct argument {
    rk_span name;  // "--lr"; of a word before the options: the word
    rk_span value; // "1e-3"; empty if there is none
} argument;

// Returns the length of the first word. Blanks in quotes are part of it.
static size_t word_len(const char *text) {
    size_t len = 0;
    for (bool quoted = false; text[len] && (quoted || text[len] != ' '); len++)
        quoted ^= text[len] == '\'';
    return len;
}

static bool is_option(const char *word) {
    return word[0] == '-' && (word[1] < '0' || word[1] > '9');
}

// Reads one argument, and returns what follows it; NULL at the end.
static const char *next_argument(const char *at, argument *out) {
    at += strspn(at, " ");
    if (!*at)
        return NULL;
    size_t len = word_len(at), name = is_option(at) ? strcspn(at, "=") : len;
    *out = (argument){.name = rk_span_of(at, len)};
    if (name < len)
        *out = (argument){rk_span_of(at, name), rk_span_of(at + name + 1, len - name - 1)};
    const char *end = at + len, *value = end + strspn(end, " ");
    while (is_option(at) && name >= len && *value && !is_option(value)) {
        end = value + word_len(value);
        const char *first = at + len + strspn(at + len, " ");
        out->value = rk_span_of(first, (size_t)(end - first));
        value = end + strspn(end, " ");
    }
    return end;
}

static bool find_argument(const char *command, rk_span name, argument *out) {
    while ((command = next_argument(command, out)))
        if (rk_span_equal(out->name, name))
            return true;
    return false;
}

static void add_span(rk_buf *out, rk_span span) {
    rk_buf_add(out, span.data, span.len);
}

static void add_comma(rk_buf *out, size_t start) {
    if (out->len > start)
        rk_buf_add_text(out, ", ");
}

static void add_whole(const argument *one, const char *what, rk_buf *out) {
    add_span(out, one->name);
    if (one->value.len) {
        rk_buf_add_byte(out, ' ');
        add_span(out, one->value);
    }
    rk_buf_add_format(out, " %s", what);
}

void rk_command_diff_add(const char *before, const char *after, rk_buf *out) {
    argument one, other;
    size_t start = out->len;
    for (const char *at = after; (at = next_argument(at, &one));) {
        bool found = find_argument(before, one.name, &other);
        if (found && rk_span_equal(one.value, other.value))
            continue;
        add_comma(out, start);
        if (!found) {
            add_whole(&one, "is new", out);
            continue;
        }
        add_whole(&other, other.value.len ? "→ " : "has the value ", out);
        add_span(out, one.value.len ? one.value : rk_span_text("none"));
    }
    for (const char *at = before; (at = next_argument(at, &one));) {
        if (find_argument(after, one.name, &other))
            continue;
        add_comma(out, start);
        add_whole(&one, "is gone", out);
    }
}
