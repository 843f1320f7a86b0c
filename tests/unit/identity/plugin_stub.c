// A substitute for a plugin's file, with or without a build-id.
int rk_test_plugin_function(void);

__attribute__((visibility("default"))) int rk_test_plugin_function(void) {
    return 42;
}
