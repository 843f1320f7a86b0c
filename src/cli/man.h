// Writes the man pages, from the same tables as `rekindle help` and `rekindle config`, in the
// macros of man(7).
#pragma once

#include "cli/verb.h"

// Appends rekindle(1). `date` is that of the page: "2026-11-25".
void rk_man_add_overview(const rk_verb_list *verbs, const char *date, rk_buf *out);

// Appends the page of one command, such as rekindle-explain(1).
void rk_man_add_verb(const rk_verb *verb, const char *date, rk_buf *out);
