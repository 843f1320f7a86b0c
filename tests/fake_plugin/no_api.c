// A shared object that is not a plugin: it has no GetPjrtApi.
extern __attribute__((visibility("default"))) int not_a_plugin(void);

int not_a_plugin(void) {
    return 0;
}
