#include "cli/entries.h"

#include <stdlib.h>
#include <string.h>

#include "cli/fail.h"

enum { MIN_PREFIX_DIGITS = 4 };

void rk_kept_list_cleanup(rk_kept_list *list) {
    rk_free(list->items);
    *list = (rk_kept_list){0};
}

typedef struct collector {
    rk_kept_list *list;
    rk_entry_kind kind;
} collector;

static rk_err *add_file(void *context, const rk_store_item *item) {
    collector *self = context;
    rk_kept_list *list = self->list;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 256;
        list->items = rk_need(rk_realloc(list->items, capacity * sizeof *list->items));
        list->capacity = capacity;
    }
    rk_kept *kept = &list->items[list->count++];
    *kept = (rk_kept){.modified_ns = item->modified_ns};
    memcpy(kept->hex, item->hex, sizeof kept->hex);
    if (self->kind == RK_ENTRY_EXECUTABLE) {
        kept->has_executable = true;
        kept->executable_bytes = item->stored_bytes;
    } else {
        kept->has_program = true;
        kept->program_bytes = item->stored_bytes;
    }
    return NULL;
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const rk_kept *)a)->hex, ((const rk_kept *)b)->hex);
}

// Merges neighbours with the same key; the list is sorted.
static void merge(rk_kept_list *list) {
    size_t used = 0;
    for (size_t i = 0; i < list->count; i++) {
        rk_kept *last = used > 0 ? &list->items[used - 1] : NULL;
        const rk_kept *next = &list->items[i];
        if (!last || strcmp(last->hex, next->hex) != 0) {
            list->items[used++] = *next;
            continue;
        }
        last->has_executable |= next->has_executable;
        last->has_program |= next->has_program;
        last->executable_bytes += next->executable_bytes;
        last->program_bytes += next->program_bytes;
        last->modified_ns =
            last->modified_ns > next->modified_ns ? last->modified_ns : next->modified_ns;
    }
    list->count = used;
}

rk_err *rk_kept_collect(rk_store *store, rk_kept_list *out_list) {
    collector executables = {out_list, RK_ENTRY_EXECUTABLE};
    collector programs = {out_list, RK_ENTRY_PROGRAM};
    RK_TRY(rk_store_each(store, RK_ENTRY_EXECUTABLE, add_file, &executables));
    RK_TRY(rk_store_each(store, RK_ENTRY_PROGRAM, add_file, &programs));
    if (out_list->count > 0)
        qsort(out_list->items, out_list->count, sizeof *out_list->items, by_key);
    merge(out_list);
    return NULL;
}

rk_err *rk_kept_find(const rk_kept_list *list, const char *prefix, const rk_kept **out_kept) {
    size_t len = strlen(prefix);
    if (len < MIN_PREFIX_DIGITS || len > RK_DIGEST_HEX_CHARS ||
        strspn(prefix, "0123456789abcdef") != len)
        return rk_error(
            RK_INVALID_ARGUMENT,
            "'%s' is not a key: give at least %d of the digits that `rekindle ls` shows", prefix,
            MIN_PREFIX_DIGITS);
    const rk_kept *found = NULL;
    for (size_t i = 0; i < list->count; i++) {
        if (strncmp(list->items[i].hex, prefix, len) != 0)
            continue;
        if (found)
            return rk_error(RK_INVALID_ARGUMENT,
                            "several keys begin with %s, %.16s and %.16s among them: give more "
                            "digits",
                            prefix, found->hex, list->items[i].hex);
        found = &list->items[i];
    }
    if (!found)
        return rk_error(RK_NOT_FOUND, "no key begins with %s: `rekindle ls` lists those there are",
                        prefix);
    *out_kept = found;
    return NULL;
}
