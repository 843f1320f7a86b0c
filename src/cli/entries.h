// What the store holds, key by key: the files of an executable and of its program taken together.
#pragma once

#include "store/store.h"

typedef struct rk_kept {
    char hex[RK_DIGEST_HEX_CHARS + 1]; // the key's digest
    bool has_executable, has_program;
    uint64_t executable_bytes, program_bytes; // of the files
    uint64_t modified_ns;
} rk_kept;

typedef struct rk_kept_list {
    rk_kept *items; // owned; in byte order of keys
    size_t count, capacity;
} rk_kept_list;

void rk_kept_list_cleanup(rk_kept_list *list);
RK_NODISCARD rk_err *rk_kept_collect(rk_store *store, rk_kept_list *out_list);

// The key that `prefix` is the beginning of; borrowed from the list. RK_NOT_FOUND, or
// RK_INVALID_ARGUMENT: ambiguous, or nothing that a key begins with.
RK_NODISCARD rk_err *rk_kept_find(const rk_kept_list *list, const char *prefix,
                                  const rk_kept **out_kept);
