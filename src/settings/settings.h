// What the user set: environment variables, then $REKINDLE_DIR/config, then defaults; each value
// remembers where it came from. Names and meanings: docs/settings.md.
//
// Knows only src/base. Read-only after loading, so it may be shared between threads.
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/log.h"

typedef enum rk_mode { RK_MODE_READWRITE, RK_MODE_READONLY, RK_MODE_REFRESH, RK_MODE_OFF } rk_mode;

// What becomes of a real compilation after warm-up.
typedef enum rk_strict { RK_STRICT_OFF, RK_STRICT_WARN, RK_STRICT_FAIL } rk_strict;

// When warm-up ends.
typedef enum rk_warmup_kind {
    RK_WARMUP_AUTO, // when nothing new was executed for a while
    RK_WARMUP_MARK, // when the program says so
    RK_WARMUP_STEPS,
    RK_WARMUP_COMPILES,
    RK_WARMUP_SECONDS,
} rk_warmup_kind;

typedef struct rk_warmup {
    rk_warmup_kind kind;
    uint64_t count; // of steps or compilations; nanoseconds
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
    RK_SETTING_COUNT,
} rk_setting_id;

typedef enum rk_setting_source {
    RK_SOURCE_DEFAULT,
    RK_SOURCE_CONFIG,
    RK_SOURCE_ENVIRONMENT,
} rk_setting_source;

typedef struct rk_setting {
    const char *variable; // "REKINDLE_MODE"; static
    const char *value;    // as text; "" where unset; borrowed from the settings
    rk_setting_source source;
} rk_setting;

// The parsed values. All pointers are borrowed from the rk_settings they came from.
typedef struct rk_settings_values {
    const char *dir; // absolute
    rk_mode mode;
    const char *plugin;       // "" if unset
    const char *job;          // "" if unset: derived from the command line (rk_job_derive)
    const char *signing_key;  // path, absolute; "" if unset
    const char *trusted_keys; // the same
    uint64_t max_size_bytes;
    uint64_t min_compile_ns;
    bool keep_programs;
    const char *name_space; // "" if unset
    const char *key_ignore; // names separated by commas or blanks; "" if unset
    rk_log_level log_level;
    uint64_t drain_ns;  // how long an exit waits for executables to be stored
    uint64_t wait_ns;   // how long a request waits for another process or thread to compile
    uint64_t memory_ns; // between samples of the devices' memory; 0: none are taken
    bool preload;       // what the last run used is loaded before it is asked for
    rk_strict strict;
    rk_warmup warmup;
    uint32_t verify_ppm; // which share of the hits is verified, in millionths
} rk_settings_values;

typedef struct rk_settings rk_settings;

// Loads and checks everything. Errors: RK_INVALID_ARGUMENT naming the variable (or file and line),
// the value, and what would be right, e.g. a URL in REKINDLE_DIR. An unreadable config file is an
// error; a missing one is not. `out_settings` is owned: rk_settings_free.
// `check` (NULL: every folder is fine) is asked of the folder of a config file in which something
// is wrong, or that cannot be read. Its error says that the folder cannot be used as a store, with
// the remedy. Then the file is probably somebody else's (git, ssh and kubectl have a file config
// too), and this error is told instead.
typedef rk_err *(*rk_settings_check_fn)(const char *directory);
RK_NODISCARD rk_err *rk_settings_load(rk_settings_check_fn check, rk_settings **out_settings);
// The same for a job, which must run whatever can be read. Fails as rk_settings_load for a wrong
// value, or for want of memory. Otherwise there are settings, and the mode is RK_MODE_OFF
// - where the home or the config file cannot be found or read, where `check` has an error, or a
//   store would have to be made in the home of another user: `*out_trouble` says which, and how to
//   mend it;
// - where the user has set it so. Then nothing fails, and `*out_trouble` is a wrong value or NULL.
// Else `*out_trouble` is NULL. Both are owned: rk_settings_free, rk_err_free.
RK_NODISCARD rk_err *rk_settings_load_for_job(rk_settings_check_fn check,
                                              rk_settings **out_settings, rk_err **out_trouble);

// Whether an error says that a value is wrong, rather than that something cannot be read.
bool rk_settings_is_wrong(const rk_err *err);

void rk_settings_free(rk_settings *settings); // NULL is fine
void rk_settings_cleanup(rk_settings **settings);

const rk_settings_values *rk_settings_get(const rk_settings *settings);
rk_setting rk_settings_describe(const rk_settings *settings, rk_setting_id id);
// The setting's variable that a variable of another name was probably meant for ("REKINDLE_MDOE");
// NULL where it is one, or like none. Static.
const char *rk_settings_misspelt(rk_span variable);
const char *rk_mode_name(rk_mode mode);
const char *rk_setting_source_name(rk_setting_source source); // "default", "config", "environment"

// What counts as the same job, from a command line: a readable stem of the program's name and a
// digest of the arguments less their volatile parts (dates, process ids, temporary paths, ports).
// Letters, digits, '-', '_' and '.' only, at most 80 characters. Owned: rk_free.
RK_NODISCARD rk_err *rk_job_derive(int argc, const char *const *argv, char **out_job);
