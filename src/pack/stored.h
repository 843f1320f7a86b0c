// Packs in the store. A pack is an entry like an executable (objects/), so the size limit,
// eviction, `gc`, `fsck`, `rm`, pins and signatures apply to it. Its key: `environment` is the
// digest of the environment (torch/environment.h, jax/environment.h), `options` that of module and
// job, `program` that of the files.
//
// The packs of a job and environment are listed in a manifest of their own, jobs/torch-…/manifest
// or jobs/jax-…/manifest. It is a hint: a pack that it lists may be gone.
//
// For one thread. May block on the file system.
#pragma once

#include "pack/module.h"
#include "pack/pack.h"
#include "store/store.h"

// The packs of one job in one environment. All members are borrowed.
typedef struct rk_pack_place {
    rk_store *store;
    rk_pack_family family;
    const char *job;
    const char *name_space; // REKINDLE_NAMESPACE
    const char *run;
    rk_digest environment;
    rk_span components_json; // of the environment: a list (identity/components.h)
} rk_pack_place;

typedef struct rk_pack {
    rk_key key;
    rk_pack_module module;
} rk_pack;

typedef struct rk_pack_list {
    rk_pack *items; // owned
    size_t count;
} rk_pack_list;
void rk_pack_list_cleanup(rk_pack_list *list);

// Digests job, environment and namespace: names the job's list of packs.
void rk_pack_place_identify(const rk_pack_place *place, rk_digest *out_identity);

// True for a folder in jobs/ that lists packs; it is no job of a user.
bool rk_pack_list_is_name(const char *job);

// Lists the packs that exist. `out_list` must be zeroed; owned: rk_pack_list_cleanup.
RK_NODISCARD rk_err *rk_pack_list_read(const rk_pack_place *place, rk_pack_list *out_list);

// A pack that was read. `items` borrow from `lookup`.
typedef struct rk_pack_view {
    rk_store_lookup lookup; // owned
    rk_pack_item *items;    // owned
    size_t count;
    bool found;      // there is a sound pack, whose files are of its module
    bool is_damaged; // there is none, because it is damaged; it was moved to quarantine/
} rk_pack_view;
void rk_pack_view_cleanup(rk_pack_view *view);

// Reads a pack and records its use. `out_view` must be zeroed.
RK_NODISCARD rk_err *rk_pack_read(const rk_pack_place *place, const rk_pack *pack,
                                  rk_pack_view *out_view);

// Stores a pack. Sorts the items. `*out_stored` is false if the store has the same pack, perhaps
// from another start. Errors as for rk_store_put.
RK_NODISCARD rk_err *rk_pack_store(const rk_pack_place *place, rk_pack_module module,
                                   rk_pack_item *items, size_t count, rk_pack *out_pack,
                                   bool *out_stored);

// Adds packs to the list of the job, and keeps those that are listed already and exist.
RK_NODISCARD rk_err *rk_pack_list_note(const rk_pack_place *place, const rk_pack *packs,
                                       size_t count);

// Removes a pack whose files are in another pack.
void rk_pack_drop(const rk_pack_place *place, const rk_pack *pack);
