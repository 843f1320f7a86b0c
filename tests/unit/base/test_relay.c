#include "base/relay.h"

#include "base/alloc.h"
#include "base/digest.h"
#include "support/expect.h"
#include "support/faults.h"

// A consumer that hashes, and is slower than the caller.
typedef struct slow {
    rk_hasher hasher;
    unsigned parts;
} slow;

static void add(void *context, rk_span part) {
    slow *self = context;
    rk_hasher_add(&self->hasher, part.data, part.len);
    rk_hasher again = self->hasher;
    for (int i = 0; i < 3; i++)
        rk_hasher_add(&again, part.data, part.len);
    self->parts++;
}

static uint8_t byte_of(unsigned part, size_t at) {
    return (uint8_t)(part * 31 + at * 7);
}

static size_t part_len(unsigned part) {
    return part % 3 ? RK_RELAY_PART_BYTES : 1000;
}

static uint64_t len_of(unsigned parts) {
    uint64_t len = 0;
    for (unsigned part = 0; part < parts; part++)
        len += part_len(part);
    return len;
}

static void relay_and_compare(unsigned parts, bool is_threaded) {
    slow consumers[RK_RELAY_CONSUMERS_MAX] = {0};
    rk_hasher expected;
    rk_relay *relay = NULL;
    rk_hasher_init(&expected);
    for (unsigned i = 0; i < RK_RELAY_CONSUMERS_MAX; i++)
        rk_hasher_init(&consumers[i].hasher);
    const rk_relay_consumer both[] = {{add, &consumers[0]}, {add, &consumers[1]}};
    rk_expect_ok(rk_relay_begin(both, RK_RELAY_CONSUMERS_MAX, len_of(parts), is_threaded, &relay));
    for (unsigned part = 0; part < parts; part++) {
        uint8_t *buffer = rk_relay_buffer(relay);
        size_t len = part_len(part);
        for (size_t at = 0; at < len; at++)
            buffer[at] = byte_of(part, at);
        rk_relay_pass(relay, len);
        rk_hasher_add(&expected, buffer, len); // the caller may still read it
    }
    rk_relay_end(relay);
    rk_digest digest, got;
    rk_hasher_finish(&expected, &digest);
    for (unsigned i = 0; i < RK_RELAY_CONSUMERS_MAX; i++) {
        assert_int_equal(consumers[i].parts, parts);
        rk_hasher_finish(&consumers[i].hasher, &got);
        assert_true(rk_digest_equal(&digest, &got));
    }
}

static void consumers_receive_everything_in_order(void **state) {
    (void)state;
    static const unsigned counts[] = {0, 1, RK_RELAY_PARTS, RK_RELAY_PARTS + 1, 40};
    for (size_t i = 0; i < RK_ARRAY_LEN(counts); i++)
        for (int is_threaded = 0; is_threaded < 2; is_threaded++)
            relay_and_compare(counts[i], is_threaded);
}

static void without_consumers(void **state) {
    (void)state;
    rk_relay *relay = NULL;
    rk_expect_ok(rk_relay_begin(NULL, 0, 2 * RK_RELAY_PART_BYTES, true, &relay));
    assert_non_null(rk_relay_buffer(relay));
    rk_relay_pass(relay, 10);
    rk_relay_end(relay);
    rk_relay_end(NULL);
}

static void memory_is_short(void **state) {
    (void)state;
    for (unsigned nth = 1; nth <= 2; nth++) {
        rk_relay *relay = NULL;
        rk_fault_begin(&(rk_fault_plan){.nth = nth, .calls = RK_FAULT_ALLOC});
        rk_err *err = rk_relay_begin(NULL, 0, 2 * RK_RELAY_PART_BYTES, true, &relay);
        assert_true(rk_fault_end());
        assert_int_equal(rk_err_code(err), RK_RESOURCE_EXHAUSTED);
        assert_null(relay);
        rk_err_free(err);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(consumers_receive_everything_in_order),
        cmocka_unit_test(without_consumers),
        cmocka_unit_test(memory_is_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
