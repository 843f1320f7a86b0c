// The terminal: its width, colour where there is one, and text wrapped to it.
#pragma once

#include <stdio.h>

#include "base/buf.h"

typedef enum rk_style {
    RK_STYLE_NONE, // back to plain
    RK_STYLE_BOLD,
    RK_STYLE_DIM,
    RK_STYLE_GOOD,
    RK_STYLE_NOTICE,
    RK_STYLE_BAD,
} rk_style_name;

// The escape sequence of a style, or "" unless `out` is a terminal that has colour and NO_COLOR is
// not set. Static storage.
const char *rk_style(rk_style_name style, FILE *out);

// The width of the terminal behind `out`; 0 if there is none.
size_t rk_term_columns(FILE *out);

// The sign that text was cut: "…", or "~" where the locale has no such character.
const char *rk_term_ellipsis(void);

// Prints words, wrapped so that no line is longer than `columns`, lines after the first indented.
// Paragraphs are separated by an empty line; a line that begins with a blank is printed as it is.
// Ends with a newline.
void rk_term_print_wrapped(const char *text, size_t indent, size_t columns, FILE *out);

// One line that stands for work in progress, on stderr, only if that is a terminal and the work
// takes longer than half a second.
typedef struct rk_progress {
    const char *what; // "reading entries"
    uint64_t start_ns, shown_ns;
} rk_progress;

rk_progress rk_progress_start(const char *what);
void rk_progress_step(rk_progress *progress, uint64_t done, uint64_t all);
void rk_progress_end(rk_progress *progress); // wipes the line
