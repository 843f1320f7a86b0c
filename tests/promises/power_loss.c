// A power cut at every position of a sequence of puts, replacements and a quarantine, each with
// many choices of the changes that reached the disk. Size: number of choices per cut.
#include "promise.h"

#include <stdlib.h>
#include <string.h>

#include "support/powerloss.h"

enum { KEYS = 4, VARIANTS = 4, STEPS = 12, BYTES = 3000 };
static const uint64_t limit_bytes = 1 << 20;

// The variant of each key after each step, or NONE.
enum { NONE = 99 };
static unsigned kept[STEPS + 1][KEYS];

static rk_store *open_store(const char *directory) {
    rk_store *store = NULL;
    promise_ok(rk_store_open(directory, false, &store), "open");
    promise_ok(rk_store_set_limit(store, limit_bytes), "limit");
    return store;
}

static void take_step(rk_store *store, unsigned step) {
    memcpy(kept[step + 1], kept[step], sizeof kept[step]);
    unsigned key = step % KEYS, variant = step / KEYS % VARIANTS;
    rk_key name = promise_key(key);
    if (step == 9) {
        promise_need(rk_store_quarantine(store, &name), "quarantine");
        kept[step + 1][key] = NONE;
        return;
    }
    rk_entry entry = promise_entry(key, variant, BYTES);
    promise_ok(rk_store_put(store, &entry, NULL), "put");
    kept[step + 1][key] = variant;
}

static unsigned states, wrong, lost, hits, stuck;

static void check_state(const rk_powerloss *record, unsigned cut, unsigned choice) {
    const char *left = promise_directory("after", false);
    rk_powerloss_build(record, cut, choice, left);
    unsigned done = rk_powerloss_marks(record, cut);
    unsigned next = done < STEPS ? done + 1 : done;
    rk_store *store = open_store(left);
    for (unsigned key = 0; key < KEYS; key++) {
        rk_key name = promise_key(key);
        RK_AUTO(rk_store_lookup) lookup = {0};
        promise_ok(rk_store_get(store, &name, &lookup), "get");
        unsigned found = lookup.found ? (unsigned)lookup.view.entry.created_ns : NONE;
        hits += lookup.found;
        if (lookup.fault ||
            (lookup.found && !promise_entry_is_right(&lookup.view.entry, key, VARIANTS, BYTES)))
            wrong++;
        // An entry of the last finished step must be there, unless the next step changes it.
        bool settled = kept[done][key] == kept[next][key] && kept[done][key] != NONE;
        lost += settled && found != kept[done][key];
    }
    rk_entry entry = promise_entry(KEYS, 0, BYTES);
    rk_err *err = choice < 3 ? rk_store_put(store, &entry, NULL) : NULL;
    stuck += err != NULL;
    rk_err_free(err);
    rk_store_free(store);
    states++;
}

int main(int argc, char **argv) {
    promise_begin(argc, argv);
    unsigned choices = promise_size(40, 400);
    for (unsigned key = 0; key < KEYS; key++)
        kept[0][key] = NONE;
    const char *directory = promise_directory("before", false);
    rk_powerloss *record = rk_powerloss_begin(directory);
    rk_store *store = open_store(directory);
    for (unsigned step = 0; step < STEPS; step++) {
        take_step(store, step);
        rk_powerloss_mark(record);
    }
    rk_store_free(store);
    rk_powerloss_end(record);
    for (unsigned cut = 0; cut <= rk_powerloss_count(record); cut++)
        for (unsigned choice = 0; choice < choices; choice++)
            check_state(record, cut, choice);
    promise_report("power loss, wrong bytes served", "0", wrong == 0 && hits > states,
                   "%u in %u states after %u cuts (%u look-ups hit)", wrong, states,
                   rk_powerloss_count(record) + 1, hits);
    promise_report("power loss, what was stored is lost", "0", lost + stuck == 0,
                   "%u entries lost, %u stores that take nothing more", lost, stuck);
    rk_powerloss_free(record);
    return promise_end();
}
