// With REKINDLE_MODE=off the framework gets the plugin's own table.
#include "support/cmocka.h"

#include "pjrt/plugin.h"
#include "pjrt/runtime.h"
#include "pjrt/wrap.h"

static void off_hands_on_the_plugins_own_table(void **state) {
    (void)state;
    static PJRT_Api real = {.struct_size = PJRT_Api_STRUCT_SIZE};
    assert_false(rk_runtime_enabled());
    assert_ptr_equal(rk_wrap_table(&real), &real);
    assert_null(rk_plugin_at(0));
    assert_null(rk_runtime_get());
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(off_hands_on_the_plugins_own_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
