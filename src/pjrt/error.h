// Converts the plugin's errors to rk_err, and rekindle's errors to PJRT_Error for a framework.
#pragma once

#include "base/status.h"
#include "pjrt/abi.h"

// Converts and consumes an error of the plugin, or rekindle's own error from the bridge. NULL stays
// NULL. `api` is the plugin's own table. The result is owned by the caller.
RK_NODISCARD rk_err *rk_pjrt_error_take(const PJRT_Api *api, PJRT_Error *error);

// Returns the text of a plugin's error. Borrowed from the error.
rk_span rk_pjrt_error_text(const PJRT_Api *api, const PJRT_Error *error);

// Frees an error of the plugin, or one of rekindle's own, without reading it. NULL is fine.
void rk_pjrt_error_drop(const PJRT_Api *api, PJRT_Error *error);

// Makes rekindle's own PJRT_Error. Consumes `err`, which is not NULL. The framework owns the result
// and frees it through PJRT_Error_Destroy. Never returns NULL.
PJRT_Error *rk_pjrt_error_give(rk_err *err);

// True if rk_pjrt_error_give made the error.
bool rk_pjrt_error_is_ours(const PJRT_Error *error);

// The entries of PJRT_Api for rekindle's own errors. rk_pjrt_error_destroy ignores other errors;
// for the other two functions, the error must be rekindle's own.
void rk_pjrt_error_destroy(PJRT_Error *error);
void rk_pjrt_error_message(const PJRT_Error *error, const char **out_message,
                           size_t *out_message_size);
PJRT_Error_Code rk_pjrt_error_code(const PJRT_Error *error);
