// A substitute for the preload library that does nothing. The tests check the command line and the
// environment that it passes to a job.
int rk_preload_stub(void);
int rk_preload_stub(void) {
    return 0;
}
