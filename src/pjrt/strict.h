// Strict mode: after warm-up nothing should be compiled any more. What is in the store is loaded as
// ever; a real compilation is told (REKINDLE_STRICT=warn) or refused (fail).
#pragma once

#include "pjrt/compile_internal.h"

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

// The request was answered: what is compiled later is compared with it, and one that was late and
// slow is told once more.
RK_HIDDEN void rk_strict_note(const rk_request *r);
