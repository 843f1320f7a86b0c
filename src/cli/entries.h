// The contents of the store by key: one record for the files of an executable and of its program.
#pragma once

#include "store/store.h"

typedef struct rk_kept {
    char hex[RK_DIGEST_HEX_CHARS + 1]; // digest of the key
    bool has_executable, has_program;
    uint8_t pack; // the executable is a pack of this module, counted from 1; 0: it is not, or that
                  // was not examined
    uint8_t family;                           // of a pack
    uint64_t executable_bytes, program_bytes; // file sizes
    uint64_t modified_ns;
} rk_kept;

typedef struct rk_kept_list {
    rk_kept *items; // owned; sorted by key
    size_t count, capacity;
} rk_kept_list;

void rk_kept_list_cleanup(rk_kept_list *list);
// Lists the files of all keys in the store. `out_list` is owned: rk_kept_list_cleanup.
RK_NODISCARD rk_err *rk_kept_collect(rk_store *store, rk_kept_list *out_list);

// Finds an entry by its key, by the beginning of its key, or by the name of its program; borrowed
// from the list. `store` may be NULL: then names are not found. Reads the heads of all entries to
// find a name. Errors: RK_NOT_FOUND; RK_INVALID_ARGUMENT if `which` is ambiguous (the message, or
// the list below it, has the keys) or cannot be the beginning of a key.
RK_NODISCARD rk_err *rk_kept_find(rk_store *store, const rk_kept_list *list, const char *which,
                                  const rk_kept **out_kept);

// Returns the entry of a whole key, borrowed from the list; NULL if there is none.
const rk_kept *rk_kept_of_key(const rk_kept_list *list, const char *hex);

// What an entry says about its program.
typedef struct rk_kept_about {
    char *name; // owned; NULL if the entry has no name, cannot be read, or is gone
    uint64_t compile_ns;
    bool failed; // the compilation failed: only the program is stored
} rk_kept_about;
void rk_kept_about_cleanup(rk_kept_about *about);
// Reads the head of an entry; also the program if its compilation failed. `*out_about` is owned:
// rk_kept_about_cleanup.
RK_NODISCARD rk_err *rk_kept_read(rk_store *store, const rk_kept *kept, rk_kept_about *out_about);

// Returns the name of an entry for people: "jit_step", "jit_step (failed)" if its compilation
// failed; "" if there is none. Not escaped. Owned: rk_free.
char *rk_kept_shown_name(rk_store *store, const rk_kept *kept);

// Appends the name and the beginning of the key: "jit_step 032924a2e034".
void rk_kept_add_label(rk_store *store, const rk_kept *kept, rk_buf *out);

// `*out_has`: an entry has this name. Reads the heads of all entries.
RK_NODISCARD rk_err *rk_kept_has_name(rk_store *store, const rk_kept_list *list, const char *name,
                                      bool *out_has);
