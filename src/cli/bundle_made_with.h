// The header of a bundle: the versions and devices that its executables were made with.
#pragma once

#include "bundle/bundle.h"
#include "cli/bundle_select.h"

// Names and values; all text is owned by the JSON object.
typedef struct rk_bundle_facts {
    json_t *object;        // owned; name to text
    rk_bundle_pair *pairs; // owned; borrow from `object`
    size_t count;
} rk_bundle_facts;
void rk_bundle_facts_cleanup(rk_bundle_facts *facts);

// Takes the facts from an entry of the environment of the selection's newest run, or else from the
// newest entry. `out_facts` must be zeroed.
RK_NODISCARD rk_err *rk_bundle_made_with(rk_store *store, const rk_bundle_selection *selection,
                                         rk_bundle_facts *out_facts);

// Sets `facts->pairs` for all members of `facts->object`.
void rk_bundle_facts_pair(rk_bundle_facts *facts);
