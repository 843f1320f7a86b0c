// Lists what may come next on a command line of rekindle, for completion in a shell: commands,
// options and their values, runs, and entries. The shells' scripts (src/cli/completion/) call
// `rekindle completion candidates`, which prints this list.
#pragma once

#include "cli/verb.h"

// Appends one line for each word that may replace the last of `words`, which are the words after
// `rekindle`, up to the cursor: the word, a tab, and a description, which may be empty. A line that
// begins with a colon tells the shell to add its own candidates:
//   ":files", ":folders": paths
//   ":command N": commands and their arguments; the command is words[N]
// Appends nothing if nothing is known. Words are taken as bash splits them (`--run`, `=`, `la`) and
// as other shells do (`--run=la`).
void rk_candidates_add(const rk_verb_list *verbs, char *const *words, size_t count, rk_buf *out);
