// Stands where the preload library would be, and does nothing: these tests are about the command
// line, and what it hands to a job.
int rk_prefetch_stub(void);
int rk_prefetch_stub(void) {
    return 0;
}
