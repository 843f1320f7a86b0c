#include "pjrt/own_note.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

// The first ELF note marks every library of rekindle. It identifies hooks of another copy in the
// same process, so that a table is never wrapped twice.
// The second note contains the offset of the functions that the program may call (pjrt/rekindle.h).
// The notes are assembly, not variables, because a sanitizer would put bytes between variables.
#define OWN_NOTE_NAME "rekindle"
enum { OWN_NOTE_TYPE = 1 };
__asm__(".pushsection .note.rekindle, \"a\", %note\n"
        ".balign 4\n"
        ".long 9, 0, 1\n"
        ".asciz \"rekindle\"\n"
        ".balign 4\n"
        ".long 9, 8, 2\n"
        ".asciz \"rekindle\"\n"
        ".balign 4\n"
        ".quad rk_guest_functions - .\n"
        ".popsection\n");

static bool is_own_note(const ElfW(Nhdr) * note) {
    return note->n_type == OWN_NOTE_TYPE && note->n_namesz == sizeof OWN_NOTE_NAME &&
           memcmp(note + 1, OWN_NOTE_NAME, sizeof OWN_NOTE_NAME) == 0;
}

static bool has_own_note(const char *data, size_t len) {
    while (len >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)data;
        size_t size = sizeof *note + ((note->n_namesz + 3u) & ~3u) + ((note->n_descsz + 3u) & ~3u);
        if (size > len)
            return false;
        if (is_own_note(note))
            return true;
        data += size;
        len -= size;
    }
    return false;
}

typedef struct search {
    uintptr_t address;
    bool found;
} search;

static int visit_object(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    search *wanted = context;
    bool contains = false, ours = false;
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && wanted->address - start < header->p_memsz)
            contains = true;
        else if (header->p_type == PT_NOTE)
            // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers
            ours = ours || has_own_note((const char *)start, header->p_memsz);
    }
    wanted->found = contains && ours;
    return contains;
}

bool rk_own_note_covers(const void *function) {
    search wanted = {.address = (uintptr_t)function};
    (void)dl_iterate_phdr(visit_object, &wanted);
    return wanted.found;
}
