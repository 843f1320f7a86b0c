// `rekindle bundle import`: checks a bundle, and then publishes its items in the store.
#pragma once

#include "base/status.h"
#include "cli/opt.h"
#include "settings/settings.h"

typedef struct rk_bundle_import_request {
    const char *file;
    const char *python;    // whose frameworks packs are compared with; NULL: that of PATH
    const char *directory; // a cache directory that gets the files of packs too; or NULL
    const rk_opt_list *trust, *modules;
    bool force, dry_run, is_unsigned, json;
} rk_bundle_import_request;

// A refused bundle is an error with an exit status of 1; then nothing was written.
RK_NODISCARD rk_err *rk_bundle_import(const rk_settings *settings,
                                      const rk_bundle_import_request *request);
