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

// How many lines fill two screens of the terminal behind `out`, less the prompts and a last line. A
// list that is longer is cut, and says so. SIZE_MAX if `out` is no terminal.
size_t rk_term_two_screens(FILE *out);

// Output in parts. At most two screens of it are printed.
typedef struct rk_page {
    size_t left;   // lines that may still be printed; SIZE_MAX: any number
    size_t hidden; // parts that were not printed
    bool began;    // something was printed
} rk_page;
rk_page rk_page_start(bool all); // `all`: everything is printed; also if stdout is no terminal
// Prints one part on stdout if it fits, or is the first. After a part that does not fit, no part is
// printed. Returns whether it was printed.
bool rk_page_add(rk_page *page, const char *text);

// The mark for cut text: "…", or "~" if the locale is not UTF-8.
const char *rk_term_ellipsis(void);

// Prints one paragraph, which begins in column `at`, wrapped at `columns`; 0: not wrapped. Lines
// after the first are indented. A word that is longer than a line is broken. Style sequences in the
// text have no width. Ends with a newline.
void rk_term_wrap(const char *text, size_t at, size_t indent, size_t columns, FILE *out);

// Prints one paragraph on stdout, wrapped at the width of the terminal, if there is one.
void rk_term_line(const char *text, size_t indent);

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
