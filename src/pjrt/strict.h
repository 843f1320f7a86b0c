// Strict mode: reports compilations after warm-up. Executables in the store are loaded as usual. A
// real compilation is warned about (REKINDLE_STRICT=warn) or refused (fail).
#pragma once

#include "pjrt/request_internal.h"
#include "pjrt/steps.h"

enum {
    // Warm-up "auto" ends after this many steps and this much time without a new program compiled
    // or executed. Without the time, warm-up would end during an initialization that executes one
    // small program many times.
    RK_STRICT_FLAT_STEPS = 20,
    RK_STRICT_FLAT_SECONDS = 3,
};

// Ends warm-up, because the program called rekindle_mark_warm. Thread-safe.
RK_HIDDEN void rk_strict_mark_warm(void);

// Called before the plugin's compiler. Returns the error for the framework if the compilation is
// refused, NULL if it may go on. A compilation after warm-up is marked as late in the request's
// outcome, and warned about.
RK_NODISCARD RK_HIDDEN PJRT_Error *rk_strict_ask(rk_request *r);

// Called after the request was answered. Keeps a summary of the program, to compare later programs
// with it, and warns again if the compilation was late and slow.
RK_HIDDEN void rk_strict_note(const rk_request *r);

// Called at the end of the process. Warns if strict mode never began although the process compiled
// something: then it could refuse nothing.
RK_HIDDEN void rk_strict_end(const rk_runtime *runtime);

// Appends that warning: what was missing for the end of warm-up, and what to set. Appends nothing
// if the process compiled nothing, or if warm-up is over.
RK_HIDDEN void rk_strict_write_end(const rk_runtime *runtime, const rk_steps_state *state,
                                   rk_buf *out);
