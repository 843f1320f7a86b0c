// What a program that runs under rekindle may tell it. Installed as <rekindle.h>; C and C++, Linux.
//
// Nothing is to be linked: rekindle's libraries say in an ELF note where these functions are, and
// whoever wants them looks through what the process has loaded. Without rekindle there are none,
// and the helpers below do nothing.
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

// All may be called from any thread, at any time, and return at once unless told otherwise.
typedef struct rekindle_functions {
    size_t size; // of this struct: later versions append
    // A step of the program ends here. From the first call on rekindle believes these, and no
    // longer looks for steps by itself.
    void (*step)(void);
    // Warm-up is over: from now on nothing should be compiled (REKINDLE_STRICT).
    void (*mark_warm)(void);
    // Writes what is counted into the journal. May block on the file system.
    void (*flush)(void);
    // Where the journal of this process is: the store's directory, and the run's name, cut to what
    // there is room for and terminated. Returns 1, or 0 if nothing is watched (yet).
    int (*place)(char *directory, size_t directory_size, char *run, size_t run_size);
} rekindle_functions;

#define REKINDLE_NOTE_NAME      "rekindle"
#define REKINDLE_NOTE_FUNCTIONS 2 // type of the note; its content: where they are, seen from there
#define REKINDLE_MAX_COPIES     4 // in one process: one for each way in

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

// All that are loaded now; none: this process has nothing of rekindle's.
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
