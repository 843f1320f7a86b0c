// Entries whose load killed a process (store/loads.h), on the way of a request. Inside src/pjrt
// only.
#pragma once

#include "pjrt/compile_internal.h"

// False if nothing of the request's key may be loaded or stored; the request says so from then on.
RK_HIDDEN bool rk_deadly_allows_key(rk_request *r);

// False if this entry is not loaded, but compiled and replaced.
RK_HIDDEN bool rk_deadly_allows_entry(rk_request *r, const rk_entry *entry);

// The request's program was compiled: says once a process why it was not loaded, if this is why.
RK_HIDDEN void rk_deadly_warn(const rk_request *r);
