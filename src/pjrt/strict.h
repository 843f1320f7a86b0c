// Strict mode: after warm-up nothing should be compiled any more. What is in the store is loaded as
// ever; a real compilation is told (REKINDLE_STRICT=warn) or refused (fail).
#pragma once

#include "pjrt/compile_inside.h"

enum {
    // Warm-up "auto" ends when so many steps and so long nothing new was compiled or executed.
    // Steps alone would end it in an initialisation that executes one small program many times.
    RK_STRICT_FLAT_STEPS = 20,
    RK_STRICT_FLAT_SECONDS = 3,
};

// The program says that warm-up is over. Thread-safe.
RK_HIDDEN void rk_strict_mark_warm(void);

// Called before the plugin's compiler is: the error for the framework, where it must not be; NULL
// where it may. Notes in the request's event that it is late, and tells so.
RK_NODISCARD RK_HIDDEN PJRT_Error *rk_strict_ask(rk_request *r);

// And after it was.
RK_HIDDEN void rk_strict_tell_seconds(const rk_request *r);
