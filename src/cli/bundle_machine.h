// What this machine compiles with, and whether it can use the entries of a bundle.
//
// Only a plugin knows its version and devices, and a bundle is examined without one. So they come
// from the newest run in the store that recorded them. Without such a run, only the CPU and the
// version of rekindle are known. For packs, this machine is what one Python has.
#pragma once

#include "cli/bundle_part.h"
#include "cli/out.h"
#include "pack/module.h"
#include "settings/settings.h"

typedef struct rk_machine {
    char *run;                                 // owned; the run that says what is here; NULL: none
    char environment[RK_DIGEST_HEX_CHARS + 1]; // of the run's last client; "" without a run
    json_t *components;                        // owned; of that environment, or of the CPU alone
    json_t *toolchain;                         // owned; versions of the framework; NULL: not known
    char *features;                            // owned; of this CPU, in full
    const char *python_asked;                  // borrowed; NULL: the Python of PATH
    const char *directory;                     // borrowed; that gets the files; NULL: none
    struct {
        char *python;       // owned; path of the Python that was looked at; NULL: there is none
        json_t *components; // owned; NULL: it does not have the framework
    } packs[RK_PACK_FAMILIES];
    const char *name_space; // borrowed from the settings
} rk_machine;
void rk_machine_cleanup(rk_machine *machine);

// `store` may be NULL. `settings` must outlive `out_machine`, which must be zeroed but for
// `python_asked` and `directory`.
RK_NODISCARD rk_err *rk_machine_read(const rk_settings *settings, rk_store *store,
                                     rk_machine *out_machine);

typedef enum rk_bundle_use {
    RK_USE_NOT_KNOWN,
    RK_USE_YES,
    RK_USE_NO_WARNING, // not with the present flags, versions of the framework, …
    RK_USE_NO,         // never on this machine, with its present plugin
} rk_bundle_use;

// The judgement about entries with one environment.
typedef struct rk_bundle_verdict {
    rk_bundle_use use;
    bool is_pack;
    bool lacks_framework; // the Python that was asked for does not have the framework of the pack
    bool differs;         // there are mismatches, perhaps such that the entry is used nevertheless
    json_t *mismatches;   // owned: [{"what","bundle","here","blocks"}]
    char *why;            // owned; "" if there are no mismatches
    const char *why_not_known; // static; "" if nothing tells
} rk_bundle_verdict;
void rk_bundle_verdict_cleanup(rk_bundle_verdict *verdict);

// `out_verdict` must be zeroed; owned: rk_bundle_verdict_cleanup.
RK_NODISCARD rk_err *rk_machine_judge(const rk_machine *machine, const rk_bundle_head *head,
                                      const rk_entry *entry, rk_bundle_verdict *out_verdict);
