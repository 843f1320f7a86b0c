#include "store/load_note.h"

enum { SLOT_BYTES = 64, HEAD_BYTES = 64, CREATED_AT = 8, SINCE_AT = 16, KEY_AT = 32 };

static const char magic[] = "rekindle loads 1\n"; // then zeroes
static const char prefix[] = "note-";

static void store_le(uint64_t value, size_t bytes, uint8_t *out) {
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> 8 * i);
}

void rk_load_note_encode(const rk_load_note *note, uint8_t out[RK_LOAD_NOTE_BYTES]) {
    memset(out, 0, RK_LOAD_NOTE_BYTES);
    memcpy(out, magic, sizeof magic - 1);
    for (size_t i = 0; i < RK_LOAD_SLOTS; i++) {
        const rk_load_slot *slot = &note->slots[i];
        uint8_t *at = out + HEAD_BYTES + i * SLOT_BYTES;
        if (slot->state == RK_LOAD_FREE)
            continue;
        store_le((uint64_t)slot->state, 4, at);
        store_le(slot->created_ns, 8, at + CREATED_AT);
        store_le(slot->since_ns, 8, at + SINCE_AT);
        memcpy(at + KEY_AT, slot->key.bytes, RK_DIGEST_BYTES);
    }
}

bool rk_load_note_decode(rk_span data, rk_load_note *out_note) {
    *out_note = (rk_load_note){0};
    if (data.len != RK_LOAD_NOTE_BYTES || memcmp(data.data, magic, sizeof magic - 1) != 0)
        return false;
    for (size_t i = sizeof magic - 1; i < HEAD_BYTES; i++)
        if (data.data[i] != 0)
            return false;
    for (size_t i = 0; i < RK_LOAD_SLOTS; i++) {
        const uint8_t *at = data.data + HEAD_BYTES + i * SLOT_BYTES;
        rk_load_slot *slot = &out_note->slots[i];
        uint32_t state = rk_load_u32le(at);
        if (state != RK_LOAD_LOADING && state != RK_LOAD_COMPILED)
            continue;
        slot->state = (rk_load_state)state;
        slot->created_ns = rk_load_u64le(at + CREATED_AT);
        slot->since_ns = rk_load_u64le(at + SINCE_AT);
        memcpy(slot->key.bytes, at + KEY_AT, RK_DIGEST_BYTES);
    }
    return true;
}

void rk_load_note_add_name(const rk_process *process, const char *tag, rk_buf *out) {
    rk_buf_add_text(out, prefix);
    rk_process_add_text(process, out);
    rk_buf_add_format(out, "-%s", tag);
}

bool rk_load_note_parse_name(const char *name, rk_process *out_process) {
    const char *end = strrchr(name, '-');
    size_t len = sizeof prefix - 1;
    if (strncmp(name, prefix, len) != 0 || end < name + len)
        return false;
    return rk_process_parse(rk_span_of(name + len, (size_t)(end - name) - len), out_process);
}
