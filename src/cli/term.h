// Terminal output: width, colour, word wrap, progress.
#pragma once

#include <stdio.h>

#include "base/buf.h"

typedef enum rk_style {
    RK_STYLE_NONE, // plain text
    RK_STYLE_BOLD,
    RK_STYLE_DIM,
    RK_STYLE_GOOD,
    RK_STYLE_NOTICE,
    RK_STYLE_BAD,
} rk_style_name;

// The escape sequence of a style; "" if `out` is no terminal with colour, or NO_COLOR is set.
// Static.
const char *rk_style(rk_style_name style, FILE *out);

// The width of the terminal behind `out`; 0 if `out` is no terminal.
size_t rk_term_columns(FILE *out);

// The mark for cut text: "…", or "~" if the locale is not UTF-8.
const char *rk_term_ellipsis(void);

// Prints text, wrapped at `columns`. Lines after the first are indented. An empty line separates
// paragraphs. A line that begins with a blank is printed unchanged. Ends with a newline.
void rk_term_print_wrapped(const char *text, size_t indent, size_t columns, FILE *out);

// A progress line on stderr. Appears only on a terminal, and only if the work takes longer than
// half a second.
typedef struct rk_progress {
    const char *what; // "reading entries"
    uint64_t start_ns, shown_ns;
} rk_progress;

rk_progress rk_progress_start(const char *what);
void rk_progress_step(rk_progress *progress, uint64_t done, uint64_t all);
void rk_progress_end(rk_progress *progress); // erases the line
