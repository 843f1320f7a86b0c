#include "pjrt/crashing_entries_internal.h"

#include <signal.h>

bool rk_crashing_allows_key(rk_request *r) {
    if (rk_loads_doubt_key(r->runtime->loads, &r->key.digest, &r->died_of) == RK_LOAD_ASIDE)
        r->doubt = RK_LOAD_ASIDE;
    return r->doubt != RK_LOAD_ASIDE;
}

bool rk_crashing_allows_entry(rk_request *r, const rk_entry *entry) {
    rk_loads *loads = r->runtime->loads;
    if (r->doubt != RK_LOAD_SUSPECT) {
        r->doubt = rk_loads_doubt_entry(loads, &r->key.digest, entry->created_ns);
        // The note stays until the process ends. It shows that a process which dies anyway did not
        // die of the load.
        if (r->doubt == RK_LOAD_SUSPECT)
            (void)rk_loads_begin(loads, &r->key.digest, entry->created_ns, RK_LOAD_COMPILED);
    }
    return r->doubt != RK_LOAD_SUSPECT;
}

// The signals that mean a crash. A verdict never contains another signal.
static const char *name_of(int signal) {
    switch (signal) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGILL:
        return "SIGILL";
    case SIGFPE:
        return "SIGFPE";
    case SIGABRT:
        return "SIGABRT";
    case SIGTRAP:
        return "SIGTRAP";
    case SIGSYS:
        return "SIGSYS";
    default:
        return NULL;
    }
}

void rk_crashing_warn(const rk_request *r) {
    if (r->doubt != RK_LOAD_ASIDE && r->doubt != RK_LOAD_SUSPECT)
        return;
    char hex[RK_DIGEST_HEX_CHARS + 1];
    rk_digest_to_hex(&r->key.digest, hex);
    const char *name = r->name && *r->name ? r->name : "a program";
    const char *cause = name_of(r->died_of);
    bool aside = r->doubt == RK_LOAD_ASIDE;
    rk_warn_once(
        RK_WARNING_DEADLY,
        rk_error(RK_ABORTED,
                 "%s is compiled instead of loaded: %s died%s%s while loading the stored "
                 "executable; %s; after `rekindle rm %.16s` rekindle stores and loads it again",
                 name, aside && !cause ? "two processes" : "a process", cause ? " of " : "",
                 cause ? cause : "",
                 aside ? "it is not stored again for 30 days" : "the stored executable is replaced",
                 hex));
}
