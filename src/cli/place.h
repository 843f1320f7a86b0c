// Where a verb works: the settings, with what the command line says above them, and the store.
#pragma once

#include "cli/env.h"
#include "settings/settings.h"
#include "store/store.h"

// Options act as the variables they stand for: they are put into this process's environment, which
// rk_settings_load then reads, and which a job inherits. A NULL value leaves things as they are.
void rk_place_set_variable(const char *variable, const char *value);

// The environment with all that was set. Borrowed until the next is set.
const rk_env *rk_place_environment(void);

// Loads the settings and sets the log level that they ask for. Owned: rk_settings_free.
RK_NODISCARD rk_err *rk_place_settings(rk_settings **out_settings);

// The same for verbs that read runs and do not open the store: RK_FAILED_PRECONDITION where its
// directory holds files of others and is no store.
RK_NODISCARD rk_err *rk_place_settings_of_runs(rk_settings **out_settings);

// Opens the store that is there; `*out_store` is NULL where there is none yet, which is no error.
// Owned: rk_store_free.
RK_NODISCARD rk_err *rk_place_open_store(const rk_settings *settings, bool readonly,
                                         rk_store **out_store);
void rk_place_store_cleanup(rk_store **store);
#define RK_AUTO_STORE    __attribute__((cleanup(rk_place_store_cleanup))) rk_store *
#define RK_AUTO_SETTINGS __attribute__((cleanup(rk_settings_cleanup))) rk_settings *

// What to do about an empty store; for people, where there is nothing to show.
void rk_place_print_nothing_yet(const rk_settings *settings);
