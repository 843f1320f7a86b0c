// A pack: files of one module of a cache directory, in one payload of an entry.
// docs/format.md describes the bytes.
//
// Decoding accepts any bytes, and gives files with valid names (pack/module.h), or an error.
#pragma once

#include "base/buf.h"
#include "base/digest.h"
#include "pack/module.h"

enum { RK_PACK_ITEMS_MAX = 200000 };
#define RK_PACK_MAX_BYTES ((size_t)256 << 20) // of all files, equal ones too

// A file. The spans are borrowed.
typedef struct rk_pack_item {
    rk_span name; // path in the cache directory
    rk_span content;
    rk_digest digest;     // of the content
    uint64_t modified_ns; // since 1970
    bool is_executable;
} rk_pack_item;

// Appends the pack. Sorts the items by name, and writes equal contents once. RK_OUT_OF_RANGE if a
// limit is exceeded.
RK_NODISCARD rk_err *rk_pack_encode(rk_pack_item *items, size_t count, rk_buf *out_data);

// `*out_items` is owned: rk_free. The items borrow from `data`. RK_DATA_LOSS, with the reason, if
// `data` is no pack. Does not compute digests: the entry has a digest over everything.
RK_NODISCARD rk_err *rk_pack_decode(rk_span data, rk_pack_item **out_items, size_t *out_count);

// RK_DATA_LOSS if a file does not belong into a pack of this module (rk_pack_module_has): so a
// module of a bundle brings nothing of another one.
RK_NODISCARD rk_err *rk_pack_check(rk_pack_family family, rk_pack_module module,
                                   const rk_pack_item *items, size_t count);

// Copies the name of a decoded item.
void rk_pack_item_name(const rk_pack_item *item, char out_name[RK_PACK_NAME_MAX_BYTES + 1]);

// Digests names, permissions and contents of sorted items. Equal packs of two machines have the
// same one, although their files were made at different times.
void rk_pack_digest(const rk_pack_item *items, size_t count, rk_digest *out_digest);
