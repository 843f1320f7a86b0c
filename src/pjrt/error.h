// Errors of the plugin turned into ours, and ours handed to a framework as PJRT_Error.
#pragma once

#include "base/status.h"
#include "pjrt/abi.h"

// Consumes the plugin's error, or one of ours from the bridge. NULL stays NULL. `api` is the
// plugin's own table.
RK_NODISCARD rk_err *rk_pjrt_error_take(const PJRT_Api *api, PJRT_Error *error);

// The text of a plugin's error; borrowed from it.
rk_span rk_pjrt_error_text(const PJRT_Api *api, const PJRT_Error *error);

// Frees such an error unread. NULL is fine.
void rk_pjrt_error_drop(const PJRT_Api *api, PJRT_Error *error);

// Makes a PJRT_Error of our own; consumes `err`, which is not NULL. The framework owns the result
// and frees it through PJRT_Error_Destroy. Never returns NULL.
PJRT_Error *rk_pjrt_error_give(rk_err *err);

// True for an error made by rk_pjrt_error_give.
bool rk_pjrt_error_is_ours(const PJRT_Error *error);

// The entries of PJRT_Api for errors of our own; they do nothing about others.
void rk_pjrt_error_destroy(PJRT_Error *error);
void rk_pjrt_error_message(const PJRT_Error *error, const char **out_message,
                           size_t *out_message_size);
PJRT_Error_Code rk_pjrt_error_code(const PJRT_Error *error);
