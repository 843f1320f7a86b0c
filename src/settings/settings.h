// The user's settings, from environment variables, then $REKINDLE_DIR/config, then defaults. Each
// value records its source. Names and meanings: docs/settings.md.
//
// Depends only on src/base. Read-only after loading, so threads may share the settings.
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/log.h"

typedef enum rk_mode { RK_MODE_READWRITE, RK_MODE_READONLY, RK_MODE_REFRESH, RK_MODE_OFF } rk_mode;

// What rekindle does about a compilation after warm-up. A hit is not a compilation.
typedef enum rk_strict { RK_STRICT_OFF, RK_STRICT_WARN, RK_STRICT_FAIL } rk_strict;

// When warm-up ends.
typedef enum rk_warmup_kind {
    RK_WARMUP_AUTO, // when no program was compiled, or executed for the first time, for some time
                    // (pjrt/strict.h)
    RK_WARMUP_MARK, // when the program calls rekindle_mark_warm (pjrt/rekindle.h)
    RK_WARMUP_STEPS,
    RK_WARMUP_COMPILES,
    RK_WARMUP_SECONDS,
} rk_warmup_kind;

typedef struct rk_warmup {
    rk_warmup_kind kind;
    uint64_t count; // steps, compilations or nanoseconds
} rk_warmup;

typedef enum rk_setting_id {
    RK_SETTING_DIR,
    RK_SETTING_MODE,
    RK_SETTING_PLUGIN,
    RK_SETTING_JOB,
    RK_SETTING_MAX_SIZE,
    RK_SETTING_MIN_COMPILE_SECONDS,
    RK_SETTING_PRELOAD,
    RK_SETTING_STRICT,
    RK_SETTING_WARMUP,
    RK_SETTING_REMOTE,
    RK_SETTING_SIGNING_KEY,
    RK_SETTING_TRUSTED_KEYS,
    RK_SETTING_KEEP_PROGRAMS,
    RK_SETTING_NAMESPACE,
    RK_SETTING_KEY_IGNORE,
    RK_SETTING_LOG,
    RK_SETTING_DRAIN_SECONDS,
    RK_SETTING_WAIT_SECONDS,
    RK_SETTING_MEMORY_SECONDS,
    RK_SETTING_VERIFY,
    RK_SETTING_TORCH_COMPILE,
    RK_SETTING_COUNT,
} rk_setting_id;

typedef enum rk_setting_source {
    RK_SOURCE_DEFAULT,
    RK_SOURCE_CONFIG,
    RK_SOURCE_ENVIRONMENT,
} rk_setting_source;

typedef struct rk_setting {
    const char *variable; // "REKINDLE_MODE"; static
    const char *value;    // as text; "" if unset; borrowed from the settings
    rk_setting_source source;
} rk_setting;

// The parsed values. All pointers are borrowed from the rk_settings.
typedef struct rk_settings_values {
    const char *dir; // absolute
    rk_mode mode;
    const char *plugin;       // "" if unset
    const char *job;          // "" if unset: derived from the command line (rk_job_derive)
    const char *signing_key;  // path, absolute; "" if unset
    const char *trusted_keys; // path, absolute; "" if unset
    uint64_t max_size_bytes;
    uint64_t min_compile_ns;
    bool keep_programs;
    const char *name_space; // "" if unset
    const char *key_ignore; // names separated by commas or blanks; "" if unset
    rk_log_level log_level;
    uint64_t drain_ns;  // how long a process waits at exit until executables are stored
    uint64_t wait_ns;   // how long a request waits for another process or thread that compiles
    uint64_t memory_ns; // between samples of device memory; 0: no samples
    bool torch_compile; // keep torch.compile's caches
    bool torch_sizes;   // torch also remembers which sizes are dynamic (TORCH_COMPILE_JOB_ID)
    bool preload;       // prefetch the executables that the job's last runs used
    rk_strict strict;
    rk_warmup warmup;
    uint32_t verify_ppm; // the share of hits that are verified, in millionths
} rk_settings_values;

typedef struct rk_settings rk_settings;

// Loads and checks all settings. A wrong value, such as a URL in REKINDLE_DIR, is
// RK_INVALID_ARGUMENT; the message names the variable (or file and line), the value, and the valid
// values. An unreadable config file is an error; a missing one is not. `out_settings` is owned:
// rk_settings_free.
//
// If the config file has an error or cannot be read, `check` (may be NULL) checks its folder.
// `check` returns an error, with the remedy, if the folder cannot be used as a store. The config
// file then probably belongs to another program (git, ssh and kubectl also have a file `config`),
// and rk_settings_load returns the error of `check`.
typedef rk_err *(*rk_settings_check_fn)(const char *directory);
RK_NODISCARD rk_err *rk_settings_load(rk_settings_check_fn check, rk_settings **out_settings);
// As rk_settings_load, but a wrong value keeps the default, and loading continues. `each` gets the
// error of every wrong variable, of the first wrong line of the config file, or of a config file
// that cannot be read; borrowed for the call.
typedef void (*rk_settings_wrong_fn)(void *context, const rk_err *err);
RK_NODISCARD rk_err *rk_settings_load_all(rk_settings_check_fn check, rk_settings_wrong_fn each,
                                          void *context, rk_settings **out_settings);
// As rk_settings_load, for a job, which must run even if settings cannot be read. Fails like
// rk_settings_load if a value is wrong or memory is short. Otherwise returns settings. Their mode
// is RK_MODE_OFF in two cases:
// - The home directory cannot be found, the config file cannot be read, `check` returned an error,
//   or no new store may be made at that place (for example, in another user's home). `*out_trouble`
//   describes the problem and the remedy.
// - The user set this mode. Then a wrong value is no failure: `*out_trouble` is the error for the
//   first wrong value, or NULL.
// With any other mode `*out_trouble` is NULL. Both outputs are owned: rk_settings_free,
// rk_err_free.
RK_NODISCARD rk_err *rk_settings_load_for_job(rk_settings_check_fn check,
                                              rk_settings **out_settings, rk_err **out_trouble);

// Returns rekindle's folder in the user's cache: $XDG_CACHE_HOME/rekindle or ~/.cache/rekindle,
// whatever REKINDLE_DIR says. Does not make it. `*out_directory` is owned: rk_free. Errors:
// RK_FAILED_PRECONDITION: no home directory found; RK_PERMISSION_DENIED: another user's home.
RK_NODISCARD rk_err *rk_settings_cache(char **out_directory);

// True if the error means that a value is wrong, false if it means that something cannot be read.
bool rk_settings_is_wrong(const rk_err *err);

void rk_settings_free(rk_settings *settings); // NULL is fine
void rk_settings_cleanup(rk_settings **settings);

const rk_settings_values *rk_settings_get(const rk_settings *settings);
rk_setting rk_settings_describe(const rk_settings *settings, rk_setting_id id);
// Returns the variable of a setting that `variable` probably misspells: "REKINDLE_MODE" for
// "REKINDLE_MDOE". NULL if `variable` is correct or resembles no setting. Static.
const char *rk_settings_misspelt(rk_span variable);
// True if the variable has the prefix and is nothing that this version reads.
bool rk_settings_is_unknown(rk_span variable);
const char *rk_settings_variable(rk_setting_id id); // "REKINDLE_MODE"; static
const char *rk_settings_default(rk_setting_id id);  // as text; "" for none; static
// All values of a setting that takes one of a few names, NULL-terminated; NULL for other settings
// and variables. Static.
const char *const *rk_settings_choices(const char *variable);
const char *rk_mode_name(rk_mode mode);
const char *rk_setting_source_name(rk_setting_source source); // "default", "config", "environment"

// Derives the name of a job from its command line. Restarts of a job get the same name. The name
// consists of a readable stem of the program's name, and of a digest of the arguments without their
// volatile parts (dates, process ids, temporary paths, ports). It contains only letters, digits,
// '-', '_' and '.', at most 80 characters. Owned: rk_free.
RK_NODISCARD rk_err *rk_job_derive(int argc, const char *const *argv, char **out_job);
