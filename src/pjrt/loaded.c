#include "pjrt/loaded.h"

#include <stdint.h>

// Both loaders publish their list for debuggers, under different names.
extern struct r_debug _r_debug __attribute__((weak));        // glibc
extern struct r_debug *_dl_debug_addr __attribute__((weak)); // musl
// This library's own dynamic section, by the linker's name.
RK_HIDDEN extern ElfW(Dyn) _DYNAMIC[];

// An object's symbol tables, located through its dynamic section.
typedef struct tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash;      // NULL if the object has none
    const uint32_t *hash;          // NULL if the object has none
    const ElfW(Versym) * versions; // NULL: its symbols have no versions
} tables;

bool rk_loaded_is_glibc(void) {
    return &_r_debug != NULL;
}

const struct link_map *rk_loaded_first(void) {
    if (&_r_debug)
        return _r_debug.r_map;
    return &_dl_debug_addr && _dl_debug_addr ? _dl_debug_addr->r_map : NULL;
}

const struct link_map *rk_loaded_self(void) {
    const struct link_map *object = rk_loaded_first();
    while (object && object->l_ld != _DYNAMIC)
        object = object->l_next;
    return object;
}

// glibc adds the base to the addresses in a dynamic section. musl does not, and neither does glibc
// if the section is read-only. A value below the base is an offset, because no offset in an object
// is as large as the object's base.
static const void *address_in(const struct link_map *object, ElfW(Addr) value) {
    return (const void *)(value < object->l_addr ? object->l_addr + value : value);
}

static bool read_tables(const struct link_map *object, tables *out) {
    *out = (tables){0};
    for (const ElfW(Dyn) *entry = object->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        const void *at = address_in(object, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB)
            out->symbols = at;
        else if (entry->d_tag == DT_STRTAB)
            out->strings = at;
        else if (entry->d_tag == DT_GNU_HASH)
            out->gnu_hash = at;
        else if (entry->d_tag == DT_HASH)
            out->hash = at;
        else if (entry->d_tag == DT_VERSYM)
            out->versions = at;
    }
    return out->symbols && out->strings;
}

static bool is_same(const char *a, const char *b) {
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static bool is_definition(const tables *t, uint32_t index, const char *name) {
    enum { HIDDEN_VERSION = 0x8000 }; // the symbol has a newer version
    const ElfW(Sym) *symbol = &t->symbols[index];
    unsigned type = symbol->st_info & 0xfu, binding = symbol->st_info >> 4;
    return symbol->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_NOTYPE) &&
           (binding == STB_GLOBAL || binding == STB_WEAK) &&
           !(t->versions && (t->versions[index] & HIDDEN_VERSION)) &&
           is_same(t->strings + symbol->st_name, name);
}

// Returns the index of `name`, or STN_UNDEF. Sources of both formats: binutils' bfd/elflink.c, and
// the System V ABI.
static uint32_t find_by_gnu_hash(const tables *t, const char *name) {
    uint32_t buckets_count = t->gnu_hash[0], first = t->gnu_hash[1], bloom_words = t->gnu_hash[2];
    const uint32_t *buckets =
        t->gnu_hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = buckets + buckets_count;
    uint32_t hash = 5381;
    for (const char *at = name; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    uint32_t index = buckets_count ? buckets[hash % buckets_count] : STN_UNDEF;
    if (index < first)
        return STN_UNDEF;
    for (;; index++) {
        uint32_t entry = chain[index - first]; // the lowest bit marks the end of the chain
        if ((entry | 1u) == (hash | 1u) && is_definition(t, index, name))
            return index;
        if (entry & 1u)
            return STN_UNDEF;
    }
}

static uint32_t find_by_hash(const tables *t, const char *name) {
    uint32_t buckets_count = t->hash[0];
    const uint32_t *buckets = t->hash + 2, *chain = buckets + buckets_count;
    uint32_t hash = 0;
    for (const char *at = name; *at; at++) {
        hash = (hash << 4) + (unsigned char)*at;
        hash = (hash ^ (hash & 0xf0000000u) >> 24) & 0x0fffffffu;
    }
    uint32_t index = buckets_count ? buckets[hash % buckets_count] : STN_UNDEF;
    while (index != STN_UNDEF && !is_definition(t, index, name))
        index = chain[index];
    return index;
}

void *rk_loaded_find(const struct link_map *from, const char *name) {
    for (const struct link_map *object = from; object; object = object->l_next) {
        tables t;
        if (!read_tables(object, &t))
            continue;
        uint32_t index = t.gnu_hash ? find_by_gnu_hash(&t, name)
                         : t.hash   ? find_by_hash(&t, name)
                                    : STN_UNDEF;
        if (index != STN_UNDEF)
            return (void *)(object->l_addr + t.symbols[index].st_value);
    }
    return NULL;
}
