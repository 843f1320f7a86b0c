// Functions that a program under rekindle can call. Installed as <rekindle.h>; for C and C++ on
// Linux.
//
// There is nothing to link. rekindle's libraries contain an ELF note with the address of these
// functions, and the helpers below search the loaded libraries for it. If rekindle is not loaded,
// the helpers do nothing.
//
//     #include <rekindle.h>
//     for (…) {
//         train_step();
//         rekindle_step();
//     }
#ifndef REKINDLE_H
#define REKINDLE_H

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

// All functions are thread-safe, may be called at any time, and return at once unless their comment
// says otherwise.
typedef struct rekindle_functions {
    size_t size; // size of this struct; later versions append fields
    // Marks the end of a step of the program. From the first call on, rekindle uses these marks and
    // no longer detects steps itself.
    void (*step)(void);
    // Marks the end of warm-up: nothing should be compiled from now on (REKINDLE_STRICT).
    void (*mark_warm)(void);
    // Writes the counters into the journal. May block on the file system.
    void (*flush)(void);
    // Writes the location of this process's journal: the store's directory and the name of the run,
    // each truncated to its buffer and NUL-terminated. Returns 1, or 0 if no plugin is watched
    // (yet).
    int (*place)(char *directory, size_t directory_size, char *run, size_t run_size);
} rekindle_functions;

#define REKINDLE_NOTE_NAME      "rekindle"
#define REKINDLE_NOTE_FUNCTIONS 2 // note type; content: offset from itself to the functions
#define REKINDLE_MAX_COPIES     4 // copies of rekindle in one process

typedef struct rekindle_copies {
    const rekindle_functions *items[REKINDLE_MAX_COPIES];
    size_t count;
} rekindle_copies;

static inline void rekindle_read_notes(const char *at, const char *end, rekindle_copies *copies) {
    ElfW(Nhdr) head;
    while ((size_t)(end - at) >= sizeof head) {
        memcpy(&head, at, sizeof head);
        const char *name = at + sizeof head, *content = name + ((head.n_namesz + 3u) & ~3u);
        int64_t offset;
        if (head.n_type == REKINDLE_NOTE_FUNCTIONS && head.n_descsz == sizeof offset &&
            head.n_namesz == sizeof REKINDLE_NOTE_NAME &&
            memcmp(name, REKINDLE_NOTE_NAME, sizeof REKINDLE_NOTE_NAME) == 0 &&
            copies->count < REKINDLE_MAX_COPIES) {
            memcpy(&offset, content, sizeof offset);
            copies->items[copies->count++] =
                (const rekindle_functions *)(const void *)(content + offset);
        }
        at = content + ((head.n_descsz + 3u) & ~3u);
        if (at > end)
            return;
    }
}

static inline int rekindle_visit(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const char *notes = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            rekindle_read_notes(notes, notes + info->dlpi_phdr[i].p_memsz,
                                (rekindle_copies *)context);
    }
    return 0;
}

// Finds the functions of all copies of rekindle in this process. `count` is 0 if rekindle is not
// loaded.
static inline rekindle_copies rekindle_find(void) {
    rekindle_copies copies = {{0}, 0};
    (void)dl_iterate_phdr(rekindle_visit, &copies);
    return copies;
}

static inline void rekindle_step(void) {
    rekindle_copies copies = rekindle_find();
    for (size_t i = 0; i < copies.count; i++)
        copies.items[i]->step();
}

static inline void rekindle_mark_warm(void) {
    rekindle_copies copies = rekindle_find();
    for (size_t i = 0; i < copies.count; i++)
        copies.items[i]->mark_warm();
}

#ifdef __cplusplus
}
#endif

#endif
