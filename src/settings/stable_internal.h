// Removes the parts of a command line that change between starts of a job. Private to src/settings.
#pragma once

#include "base/buf.h"

// Appends `text` with its volatile parts replaced: dates and times by "<time>", UUIDs and hex
// numbers of 8 or more digits by "<id>", runs of 8 or more decimal digits by "<n>", paths under
// temporary directories and names from Python's tempfile by "<tmp>", IPv4 addresses by "<ip>", the
// port of an address by "<port>". `temporary` is $TMPDIR, or "".
void rk_stable_add(rk_buf *out, rk_span text, const char *temporary);

// True if the value of this option changes between starts: ports, process ids, ranks, ids of runs
// and of scheduler jobs. `name` has no leading dashes.
RK_NODISCARD bool rk_stable_is_volatile_option(rk_span name);
