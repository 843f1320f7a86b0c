// What the parts of the text of an explanation share. Inside src/cli/explain_*.c only.
#pragma once

#include <stdio.h>

#include "cli/explain_view.h"
#include "cli/term.h"

// Prints a line of printable text, which is wrapped on a terminal only.
void rk_explain_print_line(const rk_buf *line, size_t indent, FILE *out);

// Appends text in a style, which ends after it.
void rk_explain_add_styled(rk_buf *out, rk_style_name style, const char *text);

// Prints the head: the run, its compilations in numbers, the three questions, and what to look at
// besides.
void rk_explain_print_head(const rk_explanation *x, const rk_explain_how *how, FILE *out);

// Returns whether a finding costs little: less than 1 % of all compile time, or less than 5 % and
// less than 5 s.
bool rk_explain_is_small(uint64_t cost_ns, uint64_t all_ns);

// Returns whether a finding costs so little that it is left out even if there is no other one: less
// than 1 % of all compile time, and less than 1 s.
bool rk_explain_is_nothing(uint64_t cost_ns, uint64_t all_ns);
