// The text of a summary: two lines of JSON, the second with the digest of the first. Inside
// src/journal only.
#pragma once

#include "base/buf.h"
#include "journal/summary.h"

// RK_RESOURCE_EXHAUSTED where memory is short or the buffer's maximum is reached.
RK_NODISCARD rk_err *rk_summary_text_write(const rk_run_summary *summary, rk_buf *out);

// False where the text is damaged, of another version or run, or lacks a member, and where memory
// is short. `*out_summary` must be zeroed; owned also after false. Its journals were not looked at.
RK_NODISCARD bool rk_summary_text_read(rk_span text, const char *run, rk_run_summary *out_summary);
