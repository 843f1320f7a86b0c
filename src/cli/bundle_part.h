// The items of bundles. In the module `pjrt`: objects/<key>, programs/<key>, jobs/<job>/manifest.
// In the other modules: packs/<key>, entries with packs (pack/stored.h).
#pragma once

#include "bundle/bundle.h"
#include "cli/opt.h"
#include "store/entry_stream.h"
#include "store/manifest.h"

#define RK_BUNDLE_PJRT "pjrt"

typedef enum rk_bundle_part_kind {
    RK_PART_EXECUTABLE,
    RK_PART_PROGRAM,
    RK_PART_MANIFEST,
    RK_PART_PACK,
    RK_PART_KINDS,
} rk_bundle_part_kind;

typedef struct rk_bundle_part {
    rk_bundle_part_kind kind;
    char hex[RK_DIGEST_HEX_CHARS + 1]; // of an entry: the digest of its key
    char job[256];                     // of a manifest
    uint32_t rank;                     // of a manifest
} rk_bundle_part;

// True if this version can import the module.
RK_NODISCARD bool rk_bundle_module_is_known(rk_span name);

// True if `list`, the values of --module, is empty or has the name.
RK_NODISCARD bool rk_bundle_module_is_wanted(const rk_opt_list *list, const char *name);

const char *rk_bundle_part_noun(rk_bundle_part_kind kind); // "executable"; static

// Appends " 3 executables, 3 programs, 1 manifest": each kind of which there is one, and those of
// `pjrt` also if there is none at all.
void rk_bundle_part_add_counts(const size_t counts[RK_PART_KINDS], rk_buf *out);

// Appends the name of an item.
void rk_bundle_part_add_name(const rk_bundle_part *part, rk_buf *out);

// False if the module has no items of that name.
RK_NODISCARD bool rk_bundle_part_parse(rk_span name, rk_bundle_part *out_part);

RK_NODISCARD rk_entry_kind rk_bundle_part_entry_kind(rk_bundle_part_kind kind);

// The start of an entry of a bundle: head, components and metadata.
typedef struct rk_bundle_entry {
    rk_buf start;       // owned; `view` borrows from these bytes
    rk_entry_view view; // owned; without payload and options
} rk_bundle_entry;
void rk_bundle_entry_cleanup(rk_bundle_entry *entry);

// Reads the start of an item without checking any digest. RK_DATA_LOSS, with the name of the item,
// unless it looks like an entry of this kind and key. `out_entry` must be zeroed; owned:
// rk_bundle_entry_cleanup.
RK_NODISCARD rk_err *rk_bundle_part_peek_entry(const rk_bundle *bundle, const rk_bundle_item *item,
                                               const rk_bundle_part *part,
                                               rk_bundle_entry *out_entry);

// Reads the whole item, checks every byte of it, and passes it to `sink`, in memory that does not
// depend on its size. RK_DATA_LOSS unless it is a sound entry of this kind and key, whose start has
// the digest `start`. `is_threaded`: hashes on a thread of its own. Thread-safe.
RK_NODISCARD rk_err *rk_bundle_part_check_entry(const rk_bundle *bundle,
                                                const rk_bundle_module *module,
                                                const rk_bundle_item *item,
                                                const rk_bundle_part *part, const rk_digest *start,
                                                bool is_threaded, rk_bundle_sink_fn sink,
                                                void *context);

// Reads a manifest, and checks every byte of it.
RK_NODISCARD rk_err *rk_bundle_part_read_manifest(const rk_bundle *bundle,
                                                  const rk_bundle_module *module,
                                                  const rk_bundle_item *item,
                                                  rk_manifest *out_manifest);
