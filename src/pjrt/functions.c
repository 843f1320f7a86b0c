// The functions that the program may call (pjrt/rekindle.h). A note in own_note.c contains their
// address.
#include "base/buf.h"
#include "pjrt/counts.h"
#include "pjrt/rekindle.h"
#include "pjrt/runtime.h"
#include "pjrt/steps.h"
#include "pjrt/strict.h"

RK_HIDDEN extern const rekindle_functions rk_guest_functions;

static void flush(void) {
    if (rk_runtime_get())
        rk_counts_write(true);
}

static void copy_text(char *to, size_t size, const char *text) {
    size_t len = strlen(text);
    if (size == 0)
        return;
    len = len < size ? len : size - 1;
    memcpy(to, text, len);
    to[len] = '\0';
}

static int place(char *directory, size_t directory_size, char *run, size_t run_size) {
    const rk_runtime *runtime = rk_runtime_get();
    if (!runtime || !runtime->journal)
        return 0;
    copy_text(directory, directory_size, runtime->settings->dir);
    copy_text(run, run_size, rk_journal_run(runtime->journal));
    return 1;
}

const rekindle_functions rk_guest_functions = {
    .size = sizeof(rekindle_functions),
    .step = rk_steps_mark,
    .mark_warm = rk_strict_mark_warm,
    .flush = flush,
    .place = place,
};
