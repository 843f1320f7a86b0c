#include "cli/run_keep.h"

#include <errno.h>

#include "base/sys.h"
#include "cli/run_view.h"

rk_run_keeper rk_run_keeper_start(const rk_settings *settings) {
    const rk_settings_values *values = rk_settings_get(settings);
    rk_run_keeper keeper = {0};
    if (values->mode == RK_MODE_OFF || values->mode == RK_MODE_READONLY)
        return keeper;
    // Read-only: opening for writing could repair the store, which is not the task here.
    rk_err_drop(rk_store_open(values->dir, true, &keeper.store),
                "a store that cannot be used is not written to");
    return keeper;
}

void rk_run_keeper_cleanup(rk_run_keeper *keeper) {
    rk_store_free(RK_TAKE(keeper->store));
}

static bool is_quiet(const rk_run_model *run) {
    const uint64_t hour_ns = (uint64_t)3600 * 1000000000;
    uint64_t now_ns = rk_realtime_ns();
    for (size_t i = 0; i < run->process_count; i++) {
        uint64_t modified_ns = run->processes[i].modified_ns;
        if (modified_ns > now_ns || now_ns - modified_ns < hour_ns)
            return false;
    }
    return true;
}

static bool is_over(const rk_run_model *run) {
    bool ended = run->ended || run->command.known;
    return (ended && rk_run_state_of(run) != RK_RUN_RUNNING) || is_quiet(run);
}

// Other failures, such as a folder without write permission, may concern one run only.
static bool is_disk_refusal(int error_number) {
    return error_number == ENOSPC || error_number == EDQUOT || error_number == EROFS;
}

void rk_run_keep(rk_run_keeper *keeper, const rk_run_summary *summary) {
    if (!keeper->store || summary->was_kept || !rk_run_summary_is_whole(summary) ||
        !is_over(&summary->run) || !rk_store_may_keep_summary(keeper->store, summary->run.run))
        return;
    rk_err *err = rk_run_summary_keep(rk_store_directory(keeper->store), summary);
    if (is_disk_refusal(rk_err_errno(err)))
        rk_run_keeper_cleanup(keeper);
    rk_err_drop(err, "the journals are read the next time as well");
}
