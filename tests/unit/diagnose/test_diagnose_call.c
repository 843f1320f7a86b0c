// The call of a program, found from the stacks of its operations: JAX before 0.10.2 does not state
// it. Newer programs state it, so each of them shows whether the same call is found without.
#include "diagnose/diff/call.h"

#include <dirent.h>
#include <stdio.h>

#include "diagnose/diff/sketch.h"
#include "fixture.h"
#include "support/expect.h"

// Finds the call of a program without what the program states.
static rk_source find_call(const rk_test_indexed *program) {
    const rk_program_index *index = &program->index;
    uint32_t function = index->functions[index->entry].op;
    uint32_t end = index->model->ops.items[function].end;
    uint32_t location = rk_call_of_operations(index->model, function + 1, end - 1);
    rk_source call = {0};
    if (location == RK_NO_ID || !rk_source_of(index->model, location, &call))
        return (rk_source){0};
    return call;
}

// Returns whether the two are the same call. The second one may be unknown.
static bool is_right(const char *file, const rk_source *stated, const rk_source *found) {
    if (!found->file.len || rk_source_same_line(stated, found))
        return true;
    (void)printf("%s: the call is in line %u, and line %u is found\n", file, stated->line,
                 found->line);
    return false;
}

static void calls_are_found_where_the_programs_state_them(void **state) {
    (void)state;
    size_t stated = 0, found = 0;
    DIR *folder = opendir(RK_TEST_DATA);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        rk_test_indexed program;
        if (!strstr(entry->d_name, ".mlir"))
            continue;
        rk_test_read(entry->d_name, &program);
        if (program.index.call.file.len) {
            const rk_source call = find_call(&program);
            assert_true(is_right(entry->d_name, &program.index.call, &call));
            stated++;
            found += call.file.len > 0;
        }
        rk_test_indexed_cleanup(&program);
    }
    (void)closedir(folder);
    assert_true(stated > 200);
    assert_true(100 * found >= 95 * stated);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_found_where_the_programs_state_them)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
