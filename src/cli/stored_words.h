// Lists the words that name runs and entries of the store, for completion in a shell. Reads little:
// the newest runs and entries. Lists nothing if there is no store, or if it cannot be read.
#pragma once

// Takes a word and what it names. Both are borrowed for the call.
typedef void (*rk_stored_word_fn)(void *context, const char *word, const char *description);

// Runs whose words begin with `prefix`, newest first: `last`, their names, and -1, -2, … if
// `prefix` begins with a dash.
void rk_stored_runs(const char *prefix, rk_stored_word_fn visit, void *context);

// Entries whose words begin with `prefix`, newest first. Without a prefix, each entry has one word:
// its name, or the beginning of its key if other entries have the same name. With a prefix, name
// and key are both compared with it.
void rk_stored_keys(const char *prefix, rk_stored_word_fn visit, void *context);
