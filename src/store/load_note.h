// Encodes and decodes the load note of a process, loads/note-<process>-<tag>: the loads that have
// begun and not ended (docs/format.md); private to src/store.
#pragma once

#include "base/process.h"
#include "store/loads.h"

enum { RK_LOAD_NOTE_BYTES = 4096, RK_LOAD_SLOTS = 63 };

typedef struct rk_load_slot {
    rk_load_state state;
    uint64_t created_ns; // of the entry
    uint64_t since_ns;   // realtime clock
    rk_digest key;
} rk_load_slot;

typedef struct rk_load_note {
    rk_load_slot slots[RK_LOAD_SLOTS];
} rk_load_note;

RK_HIDDEN void rk_load_note_encode(const rk_load_note *note, uint8_t out[RK_LOAD_NOTE_BYTES]);

// False if `data` has the wrong length or does not begin as a note. Unknown states count as
// RK_LOAD_FREE.
RK_HIDDEN RK_NODISCARD bool rk_load_note_decode(rk_span data, rk_load_note *out_note);

// Appends the file's name. `tag`, letters only, distinguishes several notes of one process.
RK_HIDDEN void rk_load_note_add_name(const rk_process *process, const char *tag, rk_buf *out);
RK_HIDDEN RK_NODISCARD bool rk_load_note_parse_name(const char *name, rk_process *out_process);
