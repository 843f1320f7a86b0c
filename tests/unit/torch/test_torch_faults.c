// A failing disk, and kills: the job runs, and the packs in the store stay sound.
#include "sessions.h"

#include <errno.h>
#include <stdlib.h>

#include "store/fsck.h"
#include "support/faults.h"

static void first(scene *s) {
    RK_AUTO(rk_torch_session) one = {0};
    scene_start(s, &one);
    scene_put(&one, "fxgraph/ab/0123", "graph");
    scene_put(&one, "q5/kernel.py", "code");
    scene_stop(&one);
}

static void assert_sound(scene *s) {
    rk_fsck_report report;
    rk_expect_ok(rk_store_fsck(s->opened, &(rk_fsck_options){0}, &report));
    assert_int_equal(report.found[RK_FSCK_DAMAGED], 0);
}

// Each call of a restore fails once. What is there afterwards is whole.
static void restoring_survives_any_failure(void **state) {
    scene *s = *state;
    first(s);
    scene_move(s);
    for (unsigned nth = 1;; nth++) {
        RK_AUTO(rk_torch_session) one = {0};
        rk_err *trouble = NULL;
        // Not close: a descriptor that stays open keeps its lock.
        rk_fault_begin(&(rk_fault_plan){
            .nth = nth, .calls = RK_FAULT_EVERY_SYSCALL & ~RK_FAULT_CLOSE, .error_number = EIO});
        rk_err *err = scene_try(s, &one, &trouble);
        bool failed = rk_fault_end();
        if (!err) {
            char *code = scene_get(&one, "q5/kernel.py");
            if (code)
                assert_string_equal(code, "code");
            free(code);
        }
        rk_err_free(err);
        rk_err_free(trouble);
        scene_move(s);
        assert_sound(s);
        if (!failed)
            break;
    }
}

// The disk of the store is full from the n-th change on.
static void keeping_survives_a_full_disk(void **state) {
    scene *s = *state;
    first(s);
    for (unsigned nth = 1;; nth++) {
        RK_AUTO(rk_torch_session) one = {0};
        scene_move(s);
        scene_start(s, &one);
        scene_expect(&one, "q5/kernel.py", "code");
        scene_put(&one, "q5/more.py", "more");
        rk_fault_begin(&(rk_fault_plan){
            .nth = nth, .calls = RK_FAULT_EVERY_CHANGE, .error_number = ENOSPC, .lasting = true});
        rk_err *err = rk_torch_session_end(&one, true, RK_TORCH_SUCCEEDED);
        bool failed = rk_fault_end();
        rk_err_free(err);
        assert_sound(s);
        if (!failed)
            break;
        // The store refuses further puts for a minute after ENOSPC.
        rk_store_free(s->opened);
        rk_expect_ok(rk_store_open(s->store, false, &s->opened));
    }
}

static void keep(void *context) {
    RK_AUTO(rk_torch_session) one = {0};
    scene *s = ((void **)context)[0];
    const unsigned *nth = ((void **)context)[1];
    scene_start(s, &one);
    scene_put(&one, "q5/more.py", "more");
    rk_fault_begin(&(rk_fault_plan){.nth = *nth, .exits = true});
    rk_err_free(rk_torch_session_end(&one, true, RK_TORCH_SUCCEEDED));
    bool ignored = rk_fault_end();
    (void)ignored;
}

// rekindle is killed at the n-th system call after the job.
static void keeping_survives_a_kill(void **state) {
    scene *s = *state;
    first(s);
    for (unsigned nth = 1;; nth++) {
        void *context[] = {s, &nth};
        int status = rk_fault_in_child(keep, context);
        assert_sound(s);
        RK_AUTO(rk_torch_session) next = {0};
        scene_move(s);
        scene_start(s, &next);
        scene_expect(&next, "fxgraph/ab/0123", "graph");
        scene_expect(&next, "q5/kernel.py", "code");
        if (status != RK_FAULT_EXIT_STATUS) {
            scene_expect(&next, "q5/more.py", "more");
            break;
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(restoring_survives_any_failure),
        TEST(keeping_survives_a_full_disk),
        TEST(keeping_survives_a_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
