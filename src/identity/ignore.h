// Lists of names to leave out of keys, as in REKINDLE_KEY_IGNORE. Internal to this room.
#pragma once

#include <stdbool.h>

// Whether a component is named in `ignore`, whose names are separated by commas or blanks. A name
// answers to the whole of itself and to its last part, with and without leading dashes:
// "XLA_FLAGS:--xla_foo" and "executable_build_options.debug_options.xla_foo" both to "xla_foo".
bool rk_ignore_matches(const char *ignore, const char *name);
