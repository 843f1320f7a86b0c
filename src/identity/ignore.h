// Matches names against a list of names to leave out of keys, such as REKINDLE_KEY_IGNORE. Private
// to src/identity.
#pragma once

#include <stdbool.h>

// True if the list `ignore` contains the component `name`. Commas or blanks separate the list's
// words. A word matches the whole name, or its last part with or without leading dashes: "xla_foo"
// matches "XLA_FLAGS:--xla_foo" and "executable_build_options.debug_options.xla_foo".
bool rk_ignore_matches(const char *ignore, const char *name);
