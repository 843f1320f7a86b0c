// Sampled verification (REKINDLE_VERIFY): some hits are compiled once more in the background,
// and what the compiler gives is compared with what was loaded. Inside src/pjrt only.
#pragma once

#include "pjrt/compile_internal.h"

// Takes note of the entry that a request is about to load; only where there is a verifier.
RK_HIDDEN void rk_verify_note(rk_request *r, const rk_entry *entry);

// A request has just become a hit: it may be chosen. Costs a branch where the setting is 0.
RK_HIDDEN void rk_verify_hit(rk_request *r);
