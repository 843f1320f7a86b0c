#include "pjrt/strict.h"

#include "pjrt/runtime.h"
#include "pjrt/steps.h"

static atomic_bool is_warm;

static void become_warm(const rk_runtime *runtime, const char *because) {
    rk_steps_state state;
    if (atomic_exchange(&is_warm, true))
        return;
    rk_steps_get_state(&state);
    rk_journal_add_warm(runtime->journal, because, state.executions);
}

void rk_strict_mark_warm(void) {
    const rk_runtime *runtime = rk_runtime_get();
    if (runtime)
        become_warm(runtime, "mark");
}
