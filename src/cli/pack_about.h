// What an entry of the store says about its pack (pack/stored.h).
#pragma once

#include "pack/module.h"
#include "store/store.h"

typedef struct rk_pack_about {
    bool is_pack;
    rk_pack_family family;
    rk_pack_module module;
    char *job;        // owned
    char *name_space; // owned
    uint64_t items;   // number of files
    uint64_t bytes;   // of the payload
    rk_key key;
} rk_pack_about;
void rk_pack_about_cleanup(rk_pack_about *about);

// Reads what the metadata of an entry says. `out_about` must be zeroed; owned:
// rk_pack_about_cleanup.
void rk_pack_about_entry(const rk_entry_view *view, rk_pack_about *out_about);

// As above, for an entry of the store, of which only the start is read. Not a pack if the entry
// cannot be read.
RK_NODISCARD rk_err *rk_pack_about_kept(const rk_store *store, const char *hex,
                                        rk_pack_about *out_about);
