// `rekindle bundle inspect`: what is in a bundle, who signed it, and whether it is of use here.
#pragma once

#include "base/status.h"
#include "cli/opt.h"
#include "settings/settings.h"

typedef struct rk_bundle_inspect_request {
    const char *file;
    const char *python;    // whose frameworks packs are compared with; NULL: that of PATH
    const char *directory; // the cache directory that would get the files; or NULL
    const rk_opt_list *trust;
    bool for_this_machine, all, json; // `all`: of text not only two screens
} rk_bundle_inspect_request;

// `*out_usable`: false if it was asked for, and no entry can be used here.
RK_NODISCARD rk_err *rk_bundle_inspect(const rk_settings *settings,
                                       const rk_bundle_inspect_request *request, bool *out_usable);
