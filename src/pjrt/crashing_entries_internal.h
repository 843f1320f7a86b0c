// Crashing entries: entries whose load crashed a process (store/loads.h). Used only inside
// src/pjrt.
#pragma once

#include "pjrt/request_internal.h"

// False if no entry of the request's key may be loaded or stored. The request records this in
// `doubt`.
RK_HIDDEN bool rk_crashing_allows_key(rk_request *r);

// False if this entry must not be loaded; the program is then compiled and the entry replaced.
RK_HIDDEN bool rk_crashing_allows_entry(rk_request *r, const rk_entry *entry);

// Called after the request's program was compiled. Warns once per process if a crashing entry was
// the reason.
RK_HIDDEN void rk_crashing_warn(const rk_request *r);
