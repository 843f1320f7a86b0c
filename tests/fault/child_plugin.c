// A plugin without a table, for any C library: test_children.py builds it with none.
void *GetPjrtApi(void);
void *own_get_pjrt_api(void) __attribute__((alias("GetPjrtApi")));

void *GetPjrtApi(void) {
    return 0;
}
