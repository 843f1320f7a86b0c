// What stays the same in a command line from one start of a job to the next. Inside src/settings
// only.
#pragma once

#include "base/buf.h"

// Appends `text` with its volatile parts replaced: dates and times by "<time>", UUIDs and hex
// numbers of 8 or more digits by "<id>", runs of 8 or more decimal digits by "<n>", paths under
// temporary directories by "<tmp>", IPv4 addresses by "<ip>", the port of an address by "<port>".
// `temporary` is $TMPDIR, or "".
void rk_stable_add(rk_buf *out, rk_span text, const char *temporary);

// True for the name of an option, without leading dashes, whose value differs from start to start:
// ports, process ids, ranks, ids of runs and of scheduler jobs.
RK_NODISCARD bool rk_stable_is_volatile_option(rk_span name);
