#include "base/tree.h"
#include "store/load_note.h"
#include "store/load_verdict.h"

enum { MAX_FILES = 1 << 16 };
// A process that compiled instead of loading, and was found dead within this time, did not die of
// the load.
#define ACQUITTAL_NS (UINT64_C(60) * 1000000000)

typedef struct judging {
    rk_store *store;
    const rk_process *only; // NULL: all dead processes
    rk_load_death death;
    int signal;
} judging;

// Writes a verdict for a load that was in flight when the process died. `alone`: it was the only
// one.
static rk_err *blame(const judging *self, const rk_load_slot *slot, bool alone) {
    rk_load_verdict before;
    bool known = rk_load_verdict_read(self->store, &slot->key, &before);
    rk_load_verdict now = {
        .created_ns = slot->created_ns, .judged_ns = rk_realtime_ns(), .signal = self->signal};
    now.aside = (self->death == RK_DEATH_CRASH && alone) ||
                (known && (before.aside || before.created_ns != slot->created_ns));
    if (known && before.aside >= now.aside)
        return NULL;
    RK_TRY(rk_load_verdict_write(self->store, &slot->key, &now));
    if (now.aside) {
        char hex[RK_DIGEST_HEX_CHARS + 1];
        rk_digest_to_hex(&slot->key, hex);
        (void)rk_store_set_aside(self->store, RK_ENTRY_EXECUTABLE, hex);
    }
    return NULL;
}

// Removes the suspicion of a key if the process died soon after compiling it.
static rk_err *drop_suspicion(const judging *self, const rk_load_slot *slot) {
    rk_load_verdict before;
    uint64_t now_ns = rk_realtime_ns();
    if (now_ns < slot->since_ns || now_ns - slot->since_ns > ACQUITTAL_NS ||
        !rk_load_verdict_read(self->store, &slot->key, &before) || before.aside)
        return NULL;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&slot->key, hex);
    return rk_load_verdict_remove(self->store, hex);
}

static rk_err *judge(const judging *self, const rk_load_note *note) {
    unsigned loading = 0;
    rk_err *first = NULL;
    for (size_t i = 0; i < RK_LOAD_SLOTS; i++)
        loading += note->slots[i].state == RK_LOAD_LOADING;
    for (size_t i = 0; i < RK_LOAD_SLOTS; i++) {
        const rk_load_slot *slot = &note->slots[i];
        rk_err *err = NULL;
        if (slot->state == RK_LOAD_LOADING)
            err = blame(self, slot, loading == 1);
        else if (slot->state == RK_LOAD_COMPILED)
            err = drop_suspicion(self, slot);
        if (err && first)
            rk_err_drop(err, "the first one says enough");
        else if (err)
            first = err;
    }
    return first;
}

// True for a note that was not changed for 30 days. Used if it is unknown whether the process
// lives.
static bool is_old(const rk_store *store, const char *path) {
    struct stat info;
    rk_err *err = rk_tree_stat(store->directory, path, &info);
    uint64_t now_ns = rk_realtime_ns();
    uint64_t then_ns = err ? now_ns : (uint64_t)info.st_mtim.tv_sec * UINT64_C(1000000000);
    rk_err_drop(err, "files that cannot be read stay");
    return now_ns > then_ns && now_ns - then_ns > RK_LOAD_VERDICT_NS;
}

static rk_err *visit_note(const judging *self, const rk_process *owner, const char *path) {
    bool dead = self->only ? rk_process_equal(owner, self->only)
                           : rk_process_liveness(owner) == RK_LIVENESS_DEAD;
    if (!dead && (self->only || !is_old(self->store, path)))
        return NULL;
    RK_AUTO(rk_buf) data = {0};
    rk_load_note note;
    RK_TRY(rk_tree_read(self->store->directory, path, RK_LOAD_NOTE_BYTES, &data));
    bool sound = rk_load_note_decode(rk_buf_span(&data), &note);
    // Writes the verdict before it removes the note, so that a process that starts meanwhile finds
    // one of them. Judging the same note twice gives the same verdict.
    if (dead && sound && self->death != RK_DEATH_HARMLESS)
        RK_TRY(judge(self, &note));
    return rk_tree_remove(self->store->directory, path);
}

static rk_err *visit_verdict(const judging *self, const char *hex, const char *path) {
    RK_AUTO(rk_buf) text = {0};
    rk_load_verdict verdict;
    RK_TRY(rk_tree_read(self->store->directory, path, RK_LOAD_NOTE_BYTES, &text));
    // Any other text is of a later version or foreign.
    bool ours = rk_load_verdict_parse(rk_buf_span(&text), &verdict);
    return ours && rk_load_verdict_is_over(&verdict) ? rk_load_verdict_remove(self->store, hex)
                                                     : NULL;
}

static rk_err *visit(void *context, const char *name) {
    const judging *self = context;
    RK_AUTO(rk_buf) path = {0};
    rk_buf_add_format(&path, "%s/%s", RK_LOADS_FOLDER, name);
    RK_TRY(rk_buf_status(&path));
    rk_process owner;
    rk_digest key;
    rk_err *err = NULL;
    if (rk_load_note_parse_name(name, &owner))
        err = visit_note(self, &owner, rk_buf_text(&path));
    else if (!self->only && rk_digest_from_hex(rk_span_text(name), &key))
        err = visit_verdict(self, name, rk_buf_text(&path));
    rk_err_drop(err, "the other notes are still judged");
    return NULL;
}

rk_err *rk_loads_judge(rk_store *store, const rk_process *only, rk_load_death death, int signal) {
    judging self = {store, only, death, death == RK_DEATH_CRASH ? signal : 0};
    if (store->readonly || !rk_store_accepts(store))
        return NULL;
    rk_err *err = rk_tree_list(store->directory, RK_LOADS_FOLDER, MAX_FILES, visit, &self);
    if (rk_err_code(err) != RK_NOT_FOUND)
        return err;
    rk_err_drop(err, "nothing was loaded yet");
    return NULL;
}
