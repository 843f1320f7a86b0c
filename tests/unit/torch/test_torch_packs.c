// Packs in the store: how many there are, and what happens to damaged and missing ones.
#include "sessions.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "store/pins.h"

// A start that adds one file of `bytes` bytes.
static void add(scene *s, unsigned number, size_t bytes) {
    char name[64];
    char *content = malloc(bytes + 1);
    RK_AUTO(rk_torch_session) one = {0};
    memset(content, 'a' + (int)(number % 26), bytes);
    content[bytes] = '\0';
    (void)snprintf(name, sizeof name, "q5/file_%u.py", number);
    scene_move(s);
    scene_start(s, &one);
    scene_put(&one, name, content);
    scene_stop(&one);
    assert_int_equal(one.counts.kept, 1);
    assert_int_equal(one.counts.restored, number);
    free(content);
}

static void packs_do_not_only_grow(void **state) {
    scene *s = *state;
    for (unsigned i = 0; i < 30; i++) {
        add(s, i, 1000);
        assert_true(scene_packs(s) <= 6);
    }
}

// A large pack is not rewritten for each small file.
static void a_large_pack_stays(void **state) {
    scene *s = *state;
    add(s, 0, 300000);
    add(s, 1, 10);
    assert_int_equal(scene_packs(s), 2);
    for (unsigned i = 2; i < 20; i++)
        add(s, i, 10);
    assert_true(scene_packs(s) <= 5);
}

static void equal_packs_are_one(void **state) {
    scene *s = *state;
    for (int i = 0; i < 2; i++) {
        rk_digest digest;
        rk_pack pack;
        rk_pack_item item = {.name = rk_span_text("q5/x.py"), .content = rk_span_text("content")};
        rk_digest_of(item.content, &item.digest);
        rk_digest_of(rk_span_text("environment"), &digest);
        item.modified_ns = (uint64_t)i;
        const rk_pack_place place = {.store = s->opened,
                                     .job = "train",
                                     .name_space = "",
                                     .run = "run",
                                     .environment = digest,
                                     .components_json = rk_span_text("[]")};
        bool stored = false;
        rk_expect_ok(rk_pack_store(&place, RK_PACK_INDUCTOR, &item, 1, &pack, &stored));
        assert_int_equal(stored, i == 0);
    }
    assert_int_equal(scene_packs(s), 1);
}

static rk_err *note_path(void *context, const rk_store_item *item) {
    (void)snprintf(context, 1024, "%s", item->path);
    return NULL;
}

static void damage(const scene *s) {
    char path[1024];
    rk_expect_ok(rk_store_each(s->opened, RK_ENTRY_EXECUTABLE, note_path, path));
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "?????", 5, 300), 5);
    (void)close(fd);
}

static void a_damaged_pack_is_set_aside(void **state) {
    scene *s = *state;
    add(s, 0, 100);
    damage(s);
    scene_move(s);
    RK_AUTO(rk_torch_session) two = {0};
    scene_start(s, &two);
    assert_int_equal(two.counts.damaged, 1);
    assert_int_equal(two.counts.restored, 0);
    scene_expect(&two, "q5/file_0.py", NULL);
    scene_put(&two, "q5/file_0.py", "new");
    scene_stop(&two);
    rk_torch_session_cleanup(&two);
    scene_move(s);
    scene_start(s, &two);
    assert_int_equal(two.counts.damaged, 0);
    scene_expect(&two, "q5/file_0.py", "new");
}

static void a_removed_pack_is_missed(void **state) {
    scene *s = *state;
    char path[1024];
    add(s, 0, 100);
    rk_expect_ok(rk_store_each(s->opened, RK_ENTRY_EXECUTABLE, note_path, path));
    assert_int_equal(unlink(path), 0);
    scene_move(s);
    RK_AUTO(rk_torch_session) two = {0};
    scene_start(s, &two);
    assert_int_equal(two.counts.restored, 0);
    assert_int_equal(two.counts.damaged, 0);
}

// The store may be copied while no job runs, also to another path.
static void a_copied_store_is_as_good(void **state) {
    scene *s = *state;
    char moved[1024];
    add(s, 0, 100);
    rk_store_free(s->opened);
    (void)snprintf(moved, sizeof moved, "%s/moved", s->root);
    assert_int_equal(rename(s->store, moved), 0);
    rk_expect_ok(rk_store_open(moved, true, &s->opened));
    scene_move(s);
    RK_AUTO(rk_torch_session) two = {0};
    scene_start(s, &two);
    assert_int_equal(two.counts.restored, 1);
}

static void a_store_that_is_too_small(void **state) {
    scene *s = *state;
    RK_AUTO(rk_torch_session) one = {0};
    rk_expect_ok(rk_store_set_limit(s->opened, 500));
    scene_start(s, &one);
    char *content = malloc(5001);
    for (int i = 0; i < 5000; i++)
        content[i] = (char)(33 + (i * 7919 + i * i) % 90);
    content[5000] = '\0';
    scene_put(&one, "q5/large.py", content);
    rk_expect_code(RK_OUT_OF_RANGE, rk_torch_session_end(&one, true, RK_TORCH_SUCCEEDED));
    assert_int_equal(one.counts.not_kept, 1);
    free(content);
}

// What the user pinned stays as it is, and its files count as known.
static void a_pinned_pack_stays(void **state) {
    scene *s = *state;
    char path[1024], hex[RK_DIGEST_HEX_CHARS + 1];
    add(s, 0, 100);
    rk_expect_ok(rk_store_each(s->opened, RK_ENTRY_EXECUTABLE, note_path, path));
    (void)snprintf(hex, sizeof hex, "%s", strrchr(path, '/') + 1);
    rk_expect_ok(rk_store_pin(s->opened, hex, NULL));
    for (unsigned i = 1; i < 4; i++)
        add(s, i, 1000);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(scene_packs(s), 2);
}

// A pack brings only files of its own module.
static void foreign_names_are_refused(void **state) {
    scene *s = *state;
    static const char *const names[] = {"aotautograd/abc", ".x", "locks/a.lock", "q5/a.wrapper.so"};
    RK_AUTO(rk_torch_session) one = {0};
    scene_start(s, &one);
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++) {
        RK_AUTO(rk_pack_view) view = {0};
        bool stored = false;
        rk_pack pack;
        rk_pack_item item = {.name = rk_span_text(names[i]), .content = rk_span_text("content")};
        rk_digest_of(item.content, &item.digest);
        rk_expect_ok(rk_pack_store(&one.packs.place, RK_PACK_PGO, &item, 1, &pack, &stored));
        rk_expect_ok(rk_pack_read(&one.packs.place, &pack, &view));
        assert_true(view.is_damaged && !view.found);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(packs_do_not_only_grow),    TEST(a_large_pack_stays),
        TEST(equal_packs_are_one),       TEST(a_damaged_pack_is_set_aside),
        TEST(a_removed_pack_is_missed),  TEST(a_copied_store_is_as_good),
        TEST(a_store_that_is_too_small), TEST(a_pinned_pack_stays),
        TEST(foreign_names_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
