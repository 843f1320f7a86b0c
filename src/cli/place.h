// The settings and the store of a verb. Options of the command line override variables.
#pragma once

#include "cli/env.h"
#include "settings/settings.h"
#include "store/store.h"

// Sets a variable in the environment of this process; NULL changes nothing. An option of the
// command line sets its variable in this way: rk_settings_load then reads the variable, and a job
// inherits it.
void rk_place_set_variable(const char *variable, const char *value);

// The environment of this process, with all variables set so far. Borrowed until the next call of
// rk_place_set_variable.
const rk_env *rk_place_environment(void);

// Loads the settings, and sets the log level of this process to theirs. Owned: rk_settings_free.
RK_NODISCARD rk_err *rk_place_settings(rk_settings **out_settings);

// RK_FAILED_PRECONDITION if the store is a file; RK_NOT_FOUND if it is missing and the user gave it
// as --dir (`is_given`), probably with a typing error. A missing store is no error otherwise,
// because the first job makes it.
RK_NODISCARD rk_err *rk_place_check(const rk_settings *settings, bool is_given);

// For verbs that read runs and do not open the store: RK_FAILED_PRECONDITION if the directory holds
// other files and is no store.
RK_NODISCARD rk_err *rk_place_check_runs(const rk_settings *settings);

// Opens an existing store. `*out_store` is NULL, without an error, if the directory does not exist
// yet. Owned: rk_store_free.
RK_NODISCARD rk_err *rk_place_open_store(const rk_settings *settings, bool readonly,
                                         rk_store **out_store);
// RK_NOT_FOUND if `store`, as rk_place_open_store returned it, is NULL.
RK_NODISCARD rk_err *rk_place_need_store(const rk_settings *settings, const rk_store *store);
void rk_place_store_cleanup(rk_store **store);
#define RK_AUTO_STORE    __attribute__((cleanup(rk_place_store_cleanup))) rk_store *
#define RK_AUTO_SETTINGS __attribute__((cleanup(rk_settings_cleanup))) rk_settings *

// The size of all files of the store that count towards REKINDLE_MAX_SIZE, in bytes; 0 if there is
// no store. Lists the store, which may take a second.
uint64_t rk_place_store_bytes(const rk_settings *settings);

// Prints, for people, that there is no store yet, or no `what` in it ("runs"), and how to fill it.
void rk_place_print_nothing_yet(const rk_settings *settings, const char *what);
