// A plugin whose GetPjrtApi returns NULL. test_children.py builds it without a C library, so that a
// child with any C library can load it.
void *GetPjrtApi(void);
void *own_get_pjrt_api(void) __attribute__((alias("GetPjrtApi")));

void *GetPjrtApi(void) {
    return 0;
}
