// Formats numbers, times and untrusted text for people.
#pragma once

#include "base/buf.h"

typedef struct rk_text {
    char text[40];
} rk_text;

// "640 B", "1.2 MB", "20 GB". 1 kB is 1024 bytes, as in the settings: 20G is shown as "20 GB".
rk_text rk_text_bytes(uint64_t bytes);
rk_text
rk_text_seconds(uint64_t nanoseconds); // "64 ms", "0.64 s", "12.3 s", "4 min 05 s", "1 h 02 min"
rk_text rk_text_count(uint64_t count); // "1,203,432"
rk_text rk_text_age(uint64_t nanoseconds);        // "just now", "3 min ago", "5 d ago"
rk_text rk_text_local_time(uint64_t nanoseconds); // since 1970: "2026-11-21 13:02:35"; "" for 0
rk_text rk_text_utc(uint64_t nanoseconds);        // since 1970: "2026-11-21T13:02:35Z"; "" for 0

// "s" unless `count` is 1.
const char *rk_text_plural(uint64_t count);

// Decodes the first code point of `text`, which must not be empty. Returns its length in bytes, or
// 0 if the bytes are not UTF-8.
size_t rk_text_decode(rk_span text, uint32_t *out_code_point);

// Appends `text` so that it cannot disturb a terminal: control characters, marks of the writing
// direction and bytes that are not UTF-8 become "\x1b" and the like.
void rk_text_add_printable(rk_buf *out, rk_span text);

// Appends printable text as one word of a shell's command line, in quotes if it needs them.
void rk_text_add_word(rk_buf *out, const char *text);

// The width of printable UTF-8 text on a terminal, in columns. Style sequences have no width.
size_t rk_text_width(const char *text);

// The length in bytes of the longest prefix of `text` that fits in `columns`.
size_t rk_text_fit(const char *text, size_t columns);

// The length in bytes of the first line of `text` if a line has `columns`: up to the last blank
// that fits, or within the first word if it is longer than a line. At least one character.
size_t rk_text_break(const char *text, size_t columns);

// The edit distance of two words: insertions, deletions, replacements, and swaps of neighbours.
// Compares at most the first 63 bytes.
size_t rk_text_distance(const char *a, const char *b);

// True if `word` is probably a misspelling of `candidate`.
bool rk_text_is_near(const char *word, const char *candidate);
