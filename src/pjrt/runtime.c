#include "pjrt/runtime.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/log.h"

static rk_settings *settings; // set once; lives as long as the process
static bool enabled;
_Atomic(rk_runtime *) rk_runtime_started;
static atomic_uint_fast64_t seq;
static atomic_bool warned[RK_WARNING_COUNT];

static void load_settings(void) {
    rk_autoerr trouble = NULL;
    rk_err *err = rk_settings_load_for_job(rk_store_check_folder, &settings, &trouble);
    if (err) {
        rk_log_error("%s; this job runs without rekindle", rk_err_message(err));
        rk_err_drop(err, "logged; the job continues");
        return;
    }
    const rk_settings_values *values = rk_settings_get(settings);
    rk_log_set_level(values->log_level);
    if (trouble && !rk_settings_is_wrong(trouble)) // otherwise the user has switched rekindle off
        rk_log_warn("%s; this job runs without rekindle", rk_err_message(trouble));
    enabled = values->mode != RK_MODE_OFF;
}

bool rk_runtime_enabled(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load_settings);
    return enabled;
}

const rk_settings_values *rk_runtime_settings(void) {
    (void)rk_runtime_enabled();
    return settings ? rk_settings_get(settings) : NULL;
}

void rk_warn_once(rk_warning warning, rk_err *err) {
    if (rk_err_errno(err) == ENOMEM) // other failures for lack of memory add nothing
        warning = RK_WARNING_MEMORY;
    if (!atomic_exchange(&warned[warning], true)) {
        rk_log_warn("%s", rk_err_message(err));
        const rk_runtime *runtime = rk_runtime_get();
        if (runtime)
            rk_journal_add_warning(runtime->journal, rk_err_message(err));
    }
    rk_err_drop(err, "warned once; the job continues");
}

uint64_t rk_runtime_next_seq(void) {
    return atomic_fetch_add(&seq, 1) + 1;
}

void rk_runtime_check_journal(const rk_runtime *runtime) {
    rk_err *err = rk_journal_take_failure(runtime->journal);
    if (err)
        rk_warn_once(RK_WARNING_WRITE, err);
}

void rk_runtime_set(rk_runtime *runtime) {
    atomic_store_explicit(&rk_runtime_started, runtime, memory_order_release);
}

void rk_runtime_disable(void) {
    enabled = false;
}

void rk_runtime_renew_exit_handler(void) {
    // Exit handlers run in reverse order, together with the destructors of static objects.
    // Registering the handler again before a rekindle thread gets an executable makes it run before
    // the destructors of everything that the plugin has set up until then. A registration takes 32
    // bytes.
    const rk_runtime *runtime = rk_runtime_get();
    if (runtime)
        (void)atexit(runtime->at_exit);
}
