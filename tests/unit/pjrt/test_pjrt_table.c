// The wrapped table: a copy of all bytes of the plugin's table, in any version, with only the
// watched entries replaced. There is one per plugin, and it is never wrapped twice.
#include "support/cmocka.h"

#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>

#include "pjrt/absent.h"
#include "pjrt/error.h"
#include "pjrt/own_note.h"
#include "pjrt/plugin.h"
#include "pjrt/wrap.h"

// A substitute for any entry of a plugin. It is never called. It lies in libc, because the code
// under test would take entries of this program, or of a sanitizer, for hooks.
static rk_pjrt_any_fn *some_entry(void) {
    const char *(*function)(void) = gnu_get_libc_version;
    rk_pjrt_any_fn *entry;
    memcpy(&entry, &function, sizeof entry);
    return entry;
}

enum { LATER_ENTRIES = 20 };

// A table with `extra` entries more (if negative: fewer) than the header's. Freed by the test.
static PJRT_Api *make_table(int extra) {
    size_t size = (size_t)((int)PJRT_Api_STRUCT_SIZE + extra * (int)sizeof(void *));
    size_t allocated_bytes = size > sizeof(PJRT_Api) ? size : sizeof(PJRT_Api);
    PJRT_Api *table = calloc(1, allocated_bytes);
    assert_non_null(table);
    rk_pjrt_any_fn *entry = some_entry();
    for (size_t at = offsetof(PJRT_Api, PJRT_Error_Destroy); at < size; at += sizeof entry)
        memcpy((char *)table + at, &entry, sizeof entry);
    table->struct_size = size;
    table->pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
    table->pjrt_api_version.minor_version = PJRT_API_MINOR + extra;
    return table;
}

// Number of entries in which two tables differ.
static int differences(const PJRT_Api *a, const PJRT_Api *b) {
    int count = 0;
    for (size_t at = 0; at < a->struct_size; at += sizeof(void *))
        count += memcmp((const char *)a + at, (const char *)b + at, sizeof(void *)) != 0;
    return count;
}

enum { WATCHED_ENTRIES = 25, LATER_WATCHED_ENTRIES = 3 };

static void the_whole_table_is_copied(void **state) {
    (void)state;
    PJRT_Api *real = make_table(0);
    const PJRT_Api *wrapped = rk_wrap_table(real);
    assert_ptr_not_equal(wrapped, real);
    assert_int_equal(wrapped->struct_size, real->struct_size);
    assert_int_equal(differences(real, wrapped), WATCHED_ENTRIES);
    assert_ptr_equal(rk_wrap_table(real), wrapped);
    assert_ptr_equal(rk_wrap_table(wrapped), wrapped); // already ours
    assert_true(rk_own_note_covers((const void *)(uintptr_t)wrapped->PJRT_Client_Compile));
}

static void a_newer_table_keeps_its_tail(void **state) {
    (void)state;
    PJRT_Api *real = make_table(LATER_ENTRIES);
    const PJRT_Api *wrapped = rk_wrap_table(real);
    assert_int_equal(wrapped->struct_size, real->struct_size);
    assert_int_equal(differences(real, wrapped), WATCHED_ENTRIES + LATER_WATCHED_ENTRIES);
    assert_ptr_not_equal(rk_pjrt_later(wrapped, RK_PJRT_ERROR_FOR_EACH_PAYLOAD),
                         rk_pjrt_later(real, RK_PJRT_ERROR_FOR_EACH_PAYLOAD));
    assert_ptr_equal(rk_pjrt_later(wrapped, RK_PJRT_TOPOLOGY_FINGERPRINT), some_entry());
}

static void an_older_table_stays_short(void **state) {
    (void)state;
    enum { SHORT_BY = 30, BEHIND = 5 }; // ends before PJRT_Compile and four more watched entries
    PJRT_Api *real = make_table(-SHORT_BY);
    const PJRT_Api *wrapped = rk_wrap_table(real);
    assert_ptr_not_equal(wrapped, real);
    assert_int_equal(wrapped->struct_size, real->struct_size);
    assert_int_equal(differences(real, wrapped), WATCHED_ENTRIES - BEHIND);
    assert_null(rk_pjrt_later(wrapped, RK_PJRT_ERROR_FOR_EACH_PAYLOAD));
}

static void what_is_no_usable_table_is_handed_on(void **state) {
    (void)state;
    PJRT_Api *major = make_table(0);
    major->pjrt_api_version.major_version = 1;
    assert_ptr_equal(rk_wrap_table(major), major);
    PJRT_Api *tiny = make_table(0);
    tiny->struct_size = offsetof(PJRT_Api, PJRT_Client_Create);
    assert_ptr_equal(rk_wrap_table(tiny), tiny);
    PJRT_Api *huge = make_table(0);
    huge->struct_size = (size_t)1 << 40;
    assert_ptr_equal(rk_wrap_table(huge), huge);
    assert_null(rk_wrap_table(NULL));
    free(major);
    free(tiny);
    free(huge);
}

static void the_extension_chain_is_the_plugins_own(void **state) {
    (void)state;
    static PJRT_Extension_Base second = {sizeof second, PJRT_Extension_Type_FFI, NULL};
    static PJRT_Extension_Base first = {sizeof first, PJRT_Extension_Type_Example, &second};
    PJRT_Api *real = make_table(0);
    real->extension_start = &first;
    assert_ptr_equal(rk_wrap_table(real)->extension_start, &first);
    assert_ptr_equal(first.next, &second);
}

static int registrations;

static PJRT_Error *register_transform(void *args) {
    registrations += args == &registrations;
    return NULL;
}

static void a_registered_transform_is_noticed(void **state) {
    (void)state;
    static PJRT_Extension_Base last = {sizeof last, PJRT_Extension_Type_FFI, NULL};
    static struct {
        PJRT_Extension_Base base;
        rk_pjrt_any_fn *register_fn, *clear_fn;
    } transform = {{sizeof transform, (PJRT_Extension_Type)RK_PJRT_EXTENSION_XLA_TRANSFORM, &last},
                   register_transform,
                   register_transform};
    static PJRT_Extension_Base first = {sizeof first, PJRT_Extension_Type_Example, &transform.base};
    PJRT_Api *real = make_table(0);
    real->extension_start = &first;
    const PJRT_Api *wrapped = rk_wrap_table(real);
    const PJRT_Extension_Base *node = wrapped->extension_start;
    assert_int_equal(node->type, first.type);
    node = node->next;
    assert_int_equal(node->struct_size, sizeof transform);
    assert_ptr_equal(node->next, &last);
    rk_pjrt_any_fn *register_fn;
    memcpy(&register_fn, node + 1, sizeof register_fn);
    const rk_plugin *plugin = NULL;
    for (int i = 0; (plugin = rk_plugin_at(i)) && plugin->real != real; i++)
        ;
    assert_non_null(plugin);
    assert_false(atomic_load(&plugin->xla_transformed));
    assert_null(register_fn(&registrations));
    assert_int_equal(registrations, 1);
    assert_true(atomic_load(&plugin->xla_transformed));
    assert_ptr_equal(transform.register_fn, register_transform); // the plugin's memory is unchanged
}

static void plugins_beyond_the_slots_work_unwatched(void **state) {
    (void)state;
    int wrapped = 0;
    enum { MANY = 2 * RK_PLUGIN_SLOTS };
    PJRT_Api *reals[MANY];
    for (int i = 0; i < MANY; i++) {
        reals[i] = make_table(0);
        wrapped += rk_wrap_table(reals[i]) != reals[i];
    }
    assert_true(wrapped < MANY);
    assert_non_null(rk_plugin_at(RK_PLUGIN_SLOTS - 1));
    assert_ptr_equal(rk_wrap_table(reals[MANY - 1]), reals[MANY - 1]);
    for (int i = wrapped; i < MANY; i++)
        free(reals[i]); // a watched table stays until the process ends
}

static void an_absent_plugin_gives_its_reason_everywhere(void **state) {
    (void)state;
    const PJRT_Api *table = rk_absent_table(rk_error(RK_NOT_FOUND, "no plugin at all"));
    PJRT_Plugin_Initialize_Args initialize = {.struct_size = sizeof initialize};
    PJRT_Error *error = table->PJRT_Plugin_Initialize(&initialize);
    assert_non_null(error);
    PJRT_Error_Message_Args message = {.struct_size = sizeof message, .error = error};
    table->PJRT_Error_Message(&message);
    assert_string_equal(message.message, "no plugin at all");
    PJRT_Error_GetCode_Args code = {.struct_size = sizeof code, .error = error};
    assert_null(table->PJRT_Error_GetCode(&code));
    assert_int_equal(code.code, PJRT_Error_Code_NOT_FOUND);
    PJRT_Error_Destroy_Args destroy = {.struct_size = sizeof destroy, .error = error};
    table->PJRT_Error_Destroy(&destroy);
    PJRT_LoadedExecutable_GetDeviceAssignment_Args last = {.struct_size = sizeof last};
    error = table->PJRT_LoadedExecutable_GetDeviceAssignment(&last);
    assert_true(rk_pjrt_error_is_ours(error));
    rk_pjrt_error_destroy(error);
    assert_int_equal(table->struct_size, PJRT_Api_STRUCT_SIZE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_table_is_copied),
        cmocka_unit_test(a_newer_table_keeps_its_tail),
        cmocka_unit_test(an_older_table_stays_short),
        cmocka_unit_test(what_is_no_usable_table_is_handed_on),
        cmocka_unit_test(the_extension_chain_is_the_plugins_own),
        cmocka_unit_test(a_registered_transform_is_noticed),
        cmocka_unit_test(plugins_beyond_the_slots_work_unwatched),
        cmocka_unit_test(an_absent_plugin_gives_its_reason_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
