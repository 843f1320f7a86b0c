// The steps of a compile request that compilation by a client and AOT compilation share. Used only
// inside src/pjrt.
#pragma once

#include "pjrt/request_internal.h"

// Frees what the request owns. Does not finish its flight.
RK_HIDDEN void rk_request_cleanup(rk_request *r);

// Records that the compiler refused the program, and its message. Borrows the error.
RK_HIDDEN void rk_request_note_error(rk_request *r, const PJRT_Error *error);

// Records an unknown extension of the call or of its program.
RK_HIDDEN void rk_request_note_extensions(rk_request *r, const PJRT_Extension_Base *start,
                                          const PJRT_Program *program);

// Returns the reason why the request cannot be cached, borrowed from the request. NULL if it can be
// cached; then it has a key.
RK_HIDDEN const char *rk_request_reason_to_bypass(rk_request *r);

// Looks the key up in the store, once. True if the entry exists and was loaded (for AOT: if it
// exists). Otherwise sets the reason in the request's outcome. If several look-ups fail, the
// outcome keeps the most informative reason.
RK_HIDDEN bool rk_request_look_up(rk_request *r);

// Fills the journal's event from the request and its outcome, and writes it. `start_ns` is the
// start of the request, by rk_monotonic_ns.
RK_HIDDEN void rk_request_report(rk_request *r, uint64_t start_ns);
