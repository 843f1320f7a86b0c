// `rekindle bundle export`: packs entries, programs and manifests of the store into a bundle.
#pragma once

#include "cli/bundle_select.h"
#include "settings/settings.h"

typedef struct rk_bundle_export_request {
    rk_bundle_wish wish;
    const char *output;    // path of the bundle
    const char *directory; // a cache directory that is stored first; or NULL
    const char *python;    // whose framework made that directory; NULL: that of PATH
    bool json;
} rk_bundle_export_request;

RK_NODISCARD rk_err *rk_bundle_export(const rk_settings *settings,
                                      const rk_bundle_export_request *request);
