// Writes and reads the text of a summary: two lines of JSON, the second with the digest of the
// first. Inside src/journal only.
#pragma once

#include "base/buf.h"
#include "journal/summary.h"

// Appends the text. Error: RK_RESOURCE_EXHAUSTED (no memory, or the buffer's maximum is reached).
RK_NODISCARD rk_err *rk_summary_text_write(const rk_run_summary *summary, rk_buf *out);

// Parses the text without reading the journals. False: it is damaged, of another version or run, or
// lacks a member; or there is no memory. `*out_summary` must be zeroed, and is owned, also after
// false: rk_run_summary_cleanup.
RK_NODISCARD bool rk_summary_text_read(rk_span text, const char *run, rk_run_summary *out_summary);
