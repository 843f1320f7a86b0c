// A look-up ends as a hit or as a miss with a reason, and quarantines bytes that the plugin
// refuses.
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "cache/cache.h"
#include "support/tempdir.h"

typedef struct fixture {
    char *directory;
    rk_store *store;
    rk_key key;
    rk_code refuse_with; // RK_OK: the load succeeds
    int loads;
    rk_span seen;
    char seen_bytes[64];
} fixture;

static rk_err *load(void *context, const rk_entry *entry, void **out_handle) {
    fixture *f = context;
    rk_span executable = entry->payload;
    f->loads++;
    assert_true(executable.len < sizeof f->seen_bytes);
    memcpy(f->seen_bytes, executable.data, executable.len);
    f->seen = rk_span_of(f->seen_bytes, executable.len);
    if (f->refuse_with != RK_OK)
        return rk_error(f->refuse_with, "refused by the test");
    *out_handle = f;
    return NULL;
}

static int setup(void **state) {
    fixture *f = calloc(1, sizeof *f);
    f->directory = rk_test_tempdir();
    assert_null(rk_store_open(f->directory, false, &f->store));
    memset(f->key.program.bytes, 1, RK_DIGEST_BYTES);
    rk_key_finish(&f->key, "");
    *state = f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    rk_store_free(f->store);
    rk_test_tempdir_remove(f->directory);
    free(f);
    return 0;
}

static void put(fixture *f, const char *payload) {
    rk_entry entry = {.kind = RK_ENTRY_EXECUTABLE,
                      .key = f->key,
                      .compile_ns = 7000,
                      .components = rk_span_text("{}"),
                      .metadata = rk_span_text("{}"),
                      .payload = rk_span_text(payload)};
    assert_null(rk_store_put(f->store, &entry, NULL));
}

static rk_answer look_up(fixture *f) {
    rk_answer answer;
    rk_loader loader = {f, load, NULL};
    rk_cache_lookup(f->store, &f->key, &loader, &answer);
    return answer;
}

static void an_empty_store_is_a_miss(void **state) {
    fixture *f = *state;
    rk_answer answer = look_up(f);
    assert_int_equal(answer.miss, RK_MISS_ABSENT);
    assert_null(answer.handle);
    assert_null(answer.problem);
    assert_int_equal(f->loads, 0);
    assert_int_equal(answer.load_ns, 0);
}

static void what_was_put_is_loaded(void **state) {
    fixture *f = *state;
    put(f, "the executable");
    rk_answer answer = look_up(f);
    assert_int_equal(answer.miss, RK_MISS_NONE);
    assert_ptr_equal(answer.handle, f);
    assert_true(rk_span_is(f->seen, "the executable"));
    assert_int_equal(answer.saved_ns, 7000);
    assert_true(answer.load_ns > 0);
}

static void without_a_loader_it_is_only_looked_for(void **state) {
    fixture *f = *state;
    rk_answer answer;
    const rk_loader none = {.context = f};
    rk_cache_lookup(f->store, &f->key, &none, &answer);
    assert_int_equal(answer.miss, RK_MISS_ABSENT);
    put(f, "the executable");
    rk_cache_lookup(f->store, &f->key, &none, &answer);
    assert_int_equal(answer.miss, RK_MISS_NONE);
    assert_null(answer.handle);
    assert_int_equal(answer.saved_ns, 7000);
    assert_int_equal(f->loads, 0);
}

static void refused_bytes_are_set_aside(void **state) {
    fixture *f = *state;
    put(f, "bad");
    f->refuse_with = RK_INTERNAL;
    rk_answer answer = look_up(f);
    assert_int_equal(answer.miss, RK_MISS_REFUSED);
    assert_true(answer.quarantined);
    assert_string_equal(rk_err_message(answer.problem), "refused by the test");
    rk_answer_cleanup(&answer);
    answer = look_up(f);
    assert_int_equal(answer.miss, RK_MISS_ABSENT);
    assert_int_equal(f->loads, 1);
}

static void a_plugin_that_cannot_load_leaves_the_entry(void **state) {
    fixture *f = *state;
    put(f, "good");
    f->refuse_with = RK_UNIMPLEMENTED;
    rk_answer answer = look_up(f);
    assert_int_equal(answer.miss, RK_MISS_UNIMPLEMENTED);
    assert_false(answer.quarantined);
    rk_answer_cleanup(&answer);
    f->refuse_with = RK_OK;
    answer = look_up(f);
    assert_int_equal(answer.miss, RK_MISS_NONE);
}

static void a_full_device_leaves_the_entry(void **state) {
    fixture *f = *state;
    put(f, "good");
    f->refuse_with = RK_RESOURCE_EXHAUSTED;
    rk_answer answer = look_up(f);
    assert_int_equal(answer.miss, RK_MISS_REFUSED);
    assert_false(answer.quarantined);
    rk_answer_cleanup(&answer);
}

static void damage_never_reaches_the_loader(void **state) {
    fixture *f = *state;
    put(f, "good");
    char hex[RK_DIGEST_HEX_CHARS + 1], path[512];
    rk_digest_to_hex(&f->key.digest, hex);
    (void)snprintf(path, sizeof path, "%s/objects/%.2s/%s.rkx", f->directory, hex, hex);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    int last = fgetc(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    assert_true(fputc(last ^ 1, file) != EOF);
    assert_int_equal(fclose(file), 0);
    rk_answer answer = look_up(f);
    assert_int_equal(answer.miss, RK_MISS_DAMAGED);
    assert_true(answer.quarantined);
    assert_int_equal(f->loads, 0);
    rk_answer_cleanup(&answer);
}

static void every_miss_has_a_name(void **state) {
    (void)state;
    for (rk_miss miss = RK_MISS_NONE; miss <= RK_MISS_REFRESH; miss++)
        assert_true(strlen(rk_miss_name(miss)) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_store_is_a_miss, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_put_is_loaded, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_loader_it_is_only_looked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(refused_bytes_are_set_aside, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plugin_that_cannot_load_leaves_the_entry, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_full_device_leaves_the_entry, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_never_reaches_the_loader, setup, teardown),
        cmocka_unit_test(every_miss_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
