// A power cut at any moment. The store then returns a complete entry that was put, or a miss. Every
// entry that a put reported as stored is there.
#include "sample.h"

#include <stdio.h>

#include "base/alloc.h"
#include "support/powerloss.h"
#include "support/tempdir.h"

enum { KEYS = 3, STEPS = 8, CHOICES = 40, PAYLOAD_BYTES = 3000 };

// The state of each key after a step: the number of the variant, from 1, or 0 for none.
typedef struct promise {
    unsigned variants[KEYS];
} promise;

static uint8_t payloads[KEYS][3][PAYLOAD_BYTES];

static rk_entry entry_of(unsigned key, unsigned variant) {
    rk_entry entry = sample_entry(RK_ENTRY_EXECUTABLE, key);
    // All keys share one folder, so that they may interfere.
    entry.key.digest.bytes[0] = 0xab;
    entry.created_ns = variant;
    entry.payload = rk_span_of(payloads[key][variant], PAYLOAD_BYTES);
    return entry;
}

static void put(rk_store *store, unsigned key, unsigned variant) {
    rk_entry entry = entry_of(key, variant);
    sample_ok(rk_store_put(store, &entry, NULL));
}

static void take_step(rk_store *store, unsigned step, promise *now) {
    rk_key first = entry_of(0, 1).key;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&first.digest, hex);
    uint64_t freed = 0;
    switch (step) {
    case 0:
    case 1:
    case 2:
        put(store, step, 1);
        now->variants[step] = 1;
        return;
    case 3:
    case 4:
        put(store, step - 3, 2);
        now->variants[step - 3] = 2;
        return;
    case 5:
        assert_true(rk_store_quarantine(store, &first));
        break;
    case 6:
        put(store, 0, 1);
        now->variants[0] = 1;
        return;
    case 7:
        sample_ok(rk_store_remove(store, hex, &freed));
        break;
    }
    // Removed now, but not durably until a later step syncs the folder.
    now->variants[0] = 0;
}

static unsigned states, hits, misses;

static void check_state(const rk_powerloss *record, unsigned cut, const promise *promises) {
    unsigned done = rk_powerloss_marks(record, cut);
    for (unsigned choice = 0; choice < CHOICES; choice++) {
        char *left = rk_test_tempdir();
        rk_powerloss_build(record, cut, choice, left);
        rk_store *store = NULL;
        sample_ok(rk_store_open(left, false, &store));
        for (unsigned key = 0; key < KEYS; key++) {
            rk_entry expected = entry_of(key, 1);
            RK_AUTO(rk_store_lookup) lookup = {0};
            sample_ok(rk_store_get(store, &expected.key, &lookup));
            assert_int_equal(lookup.fault, RK_ENTRY_OK);
            hits += lookup.found;
            misses += !lookup.found;
            unsigned promised = done ? promises[done - 1].variants[key] : 0;
            unsigned next = done < STEPS ? promises[done].variants[key] : promised;
            if (promised && next == promised)
                assert_true(lookup.found);
            if (!lookup.found)
                continue;
            unsigned found = (unsigned)lookup.view.entry.created_ns;
            assert_in_range(found, 1, 2);
            expected = entry_of(key, found);
            sample_assert_same(&lookup.view.entry, &expected);
            if (promised && next == promised)
                assert_int_equal(found, promised);
        }
        if (choice < 3)
            put(store, 0, 2); // the store works on; a put waits for the disk, so not each time
        rk_store_free(store);
        rk_test_tempdir_remove(left);
        states++;
    }
}

static void nothing_wrong_after_a_power_cut(void **state) {
    (void)state;
    char *root = rk_test_tempdir();
    rk_store *store = NULL;
    promise promises[STEPS] = {0}, now = {0};
    sample_ok(rk_store_open(root, false, &store));
    rk_powerloss *record = rk_powerloss_begin(root);
    for (unsigned step = 0; step < STEPS; step++) {
        take_step(store, step, &now);
        promises[step] = now;
        rk_powerloss_mark(record);
    }
    rk_powerloss_end(record);
    rk_store_free(store);
    rk_test_tempdir_remove(root);
    for (unsigned cut = 0; cut <= rk_powerloss_count(record); cut++)
        check_state(record, cut, promises);
    print_message("power loss: %u changes, %u states, %u hits and %u misses, 0 wrong\n",
                  rk_powerloss_count(record), states, hits, misses);
    assert_true(hits > states && misses > states / 4);
    rk_powerloss_free(record);
}

int main(void) {
    uint64_t random = 99;
    for (unsigned key = 0; key < KEYS; key++)
        for (unsigned variant = 0; variant < 3; variant++)
            for (unsigned i = 0; i < PAYLOAD_BYTES; i++)
                payloads[key][variant][i] = (uint8_t)(sample_random(&random) >> 24);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_wrong_after_a_power_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
