#include "cache/cache.h"

#include "base/sys.h"

const char *rk_miss_name(rk_miss miss) {
    static const char *const names[] = {
        [RK_MISS_NONE] = "none",           [RK_MISS_ABSENT] = "absent",
        [RK_MISS_DAMAGED] = "damaged",     [RK_MISS_UNKNOWN_VERSION] = "unknown_version",
        [RK_MISS_OTHER_KEY] = "other_key", [RK_MISS_READ_FAILED] = "read_failed",
        [RK_MISS_REFUSED] = "refused",     [RK_MISS_UNIMPLEMENTED] = "unimplemented",
        [RK_MISS_REFRESH] = "refresh",     [RK_MISS_LOAD_KILLED] = "load_killed",
    };
    return names[miss];
}

void rk_answer_cleanup(rk_answer *answer) {
    rk_err_free(RK_TAKE(answer->problem));
}

static rk_miss miss_of_fault(rk_entry_fault fault) {
    switch (fault) {
    case RK_ENTRY_OK:
        return RK_MISS_ABSENT;
    case RK_ENTRY_UNKNOWN_VERSION:
        return RK_MISS_UNKNOWN_VERSION;
    case RK_ENTRY_OTHER_KEY:
        return RK_MISS_OTHER_KEY;
    case RK_ENTRY_TRUNCATED:
    case RK_ENTRY_NOT_AN_ENTRY:
    case RK_ENTRY_DAMAGED:
        break;
    }
    return RK_MISS_DAMAGED;
}

// True if the plugin refused because of the bytes, not for a temporary reason or a missing feature.
static bool bytes_are_at_fault(rk_code code) {
    return code != RK_UNIMPLEMENTED && code != RK_RESOURCE_EXHAUSTED && code != RK_CANCELLED &&
           code != RK_DEADLINE_EXCEEDED && code != RK_UNAVAILABLE;
}

static void load_entry(rk_store *store, const rk_key *key, const rk_loader *loader,
                       const rk_entry *entry, rk_answer *answer) {
    if (loader->accepts && !loader->accepts(loader->context, entry)) {
        answer->miss = RK_MISS_REFRESH;
        return;
    }
    rk_err *err = loader->load ? loader->load(loader->context, entry, &answer->handle) : NULL;
    if (!err) {
        answer->saved_ns = entry->compile_ns;
        return;
    }
    answer->miss = rk_err_code(err) == RK_UNIMPLEMENTED ? RK_MISS_UNIMPLEMENTED : RK_MISS_REFUSED;
    if (bytes_are_at_fault(rk_err_code(err)))
        answer->quarantined = rk_store_quarantine(store, key);
    answer->problem = err;
}

void rk_cache_lookup(rk_store *store, const rk_key *key, const rk_loader *loader,
                     rk_answer *out_answer) {
    *out_answer = (rk_answer){0};
    uint64_t start_ns = rk_monotonic_ns();
    RK_AUTO(rk_store_lookup) lookup = {0};
    rk_err *err = rk_store_get(store, key, &lookup);
    if (err) {
        out_answer->miss = RK_MISS_READ_FAILED;
        out_answer->problem = err;
    } else if (!lookup.found) {
        out_answer->miss = miss_of_fault(lookup.fault);
        out_answer->quarantined = lookup.quarantined;
    } else {
        load_entry(store, key, loader, &lookup.view.entry, out_answer);
    }
    if (out_answer->miss != RK_MISS_ABSENT)
        out_answer->load_ns = rk_monotonic_ns() - start_ns;
}
