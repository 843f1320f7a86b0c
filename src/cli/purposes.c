#include "cli/purposes.h"

static const char *const purposes[RK_SETTING_COUNT] = {
    [RK_SETTING_DIR] = "the folder of the store, on a local disk",
    [RK_SETTING_MODE] =
        ("readwrite; readonly (no executable is stored); refresh (everything is compiled and "
         "stored again); off"),
    [RK_SETTING_PLUGIN] =
        "the path of the real plugin, for jobs that load rekindle as their plugin",
    [RK_SETTING_JOB] =
        "the job's name: runs of one name are one job; default: from the command line",
    [RK_SETTING_MAX_SIZE] = "the largest size of the store, such as 20G; 0: no limit",
    [RK_SETTING_MIN_COMPILE_SECONDS] = "programs that compile faster are not stored",
    [RK_SETTING_PRELOAD] = "1: prefetch the executables that the job's last runs used; 0: do not",
    [RK_SETTING_STRICT] =
        "what happens at a compilation after warm-up: off (nothing), warn, or fail",
    [RK_SETTING_WARMUP] =
        "when warm-up ends: auto, mark, \"N steps\", \"N compiles\", \"N seconds\"",
    [RK_SETTING_REMOTE] =
        "no effect in this version: addresses of remote tiers, separated by blanks",
    [RK_SETTING_SIGNING_KEY] = "the file of the key that signs what is stored",
    [RK_SETTING_TRUSTED_KEYS] = "the file of the keys whose signatures are trusted",
    [RK_SETTING_KEEP_PROGRAMS] =
        "1: keep programs for explain, diff and show; 0: only sketches of them",
    [RK_SETTING_NAMESPACE] = "a name that separates teams which share a store",
    [RK_SETTING_KEY_IGNORE] = "flags and variables that are left out of the key: if they change, "
                              "nothing is compiled again",
    [RK_SETTING_LOG] = "which messages a job prints: error, warn, info or debug",
    [RK_SETTING_DRAIN_SECONDS] =
        "how long a process waits at its end, at most, for executables to be stored",
    [RK_SETTING_WAIT_SECONDS] =
        "how long a process waits, at most, for another one to compile the same program",
    [RK_SETTING_MEMORY_SECONDS] = "how often the memory of the devices is recorded; 0: never",
    [RK_SETTING_VERIFY] =
        "the share of loaded programs that are compiled again and compared: 0 to 1",
    [RK_SETTING_TORCH_COMPILE] =
        "1: restore torch.compile's caches before a job and keep them after it; pgo: torch also "
        "remembers which sizes are dynamic; 0: do not",
};

const char *rk_setting_purpose(rk_setting_id id) {
    return purposes[id] ? purposes[id] : "";
}
