#include "diagnose/diff/recorded.h"

#include "diagnose/diff/components.h"

enum { DIGITS = 12 }; // of a digest that is shown

static bool differ(const rk_run_hex a, const rk_run_hex b) {
    return *a && *b && strcmp(a, b) != 0;
}

json_t *rk_recorded_environment(rk_recorded of) {
    for (size_t i = 0; i < of.run->client_count; i++) {
        const rk_run_client *client = &of.run->clients[i];
        if (client->process == of.request->process && client->client == of.request->client &&
            client->components_json[0])
            return json_loads(client->components_json, 0, NULL);
    }
    return NULL;
}

// Returns a stored program that was compiled with the same options; NULL if there is none.
static const rk_known *find_options(const rk_corpus *corpus, const rk_run_hex options) {
    char hex[RK_DIGEST_HEX_CHARS + 1];
    for (size_t i = 0; i < corpus->count; i++) {
        rk_digest_to_hex(&corpus->items[i].key.options, hex);
        if (strcmp(hex, options) == 0)
            return &corpus->items[i];
    }
    return NULL;
}

// Appends a difference of which only the digests are known.
static rk_err *note_digests(rk_differences *list, rk_difference_kind kind, const char *what,
                            const rk_run_hex before, const rk_run_hex after) {
    const rk_difference plain = {.kind = kind};
    const rk_difference_words words = {.attribute = rk_span_text(what),
                                       .before = rk_span_of(before, DIGITS),
                                       .after = rk_span_of(after, DIGITS)};
    return rk_differences_note(list, &plain, &words, &(rk_source){0});
}

static rk_err *compare_options(const rk_corpus *corpus, const rk_run_compile *before,
                               const rk_run_compile *after, rk_differences *list) {
    if (!differ(before->options, after->options))
        return NULL;
    const rk_known *a = find_options(corpus, before->options);
    const rk_known *b = find_options(corpus, after->options);
    RK_AUTO(rk_loaded) earlier = {0};
    RK_AUTO(rk_loaded) later = {0};
    size_t count = list->count;
    if (a && b) {
        RK_TRY(rk_corpus_open(corpus, a, &earlier));
        RK_TRY(rk_corpus_open(corpus, b, &later));
        RK_TRY(rk_diff_components(json_object_get(earlier.components, "options"),
                                  json_object_get(later.components, "options"), list));
    }
    return list->count > count ? NULL
                               : note_digests(list, RK_DIFFERENCE_OPTION, RK_UNNAMED_OPTIONS,
                                              before->options, after->options);
}

static rk_err *compare_environments(rk_recorded before, rk_recorded after, rk_differences *list) {
    bool is_same = *before.request->environment &&
                   strcmp(before.request->environment, after.request->environment) == 0;
    json_t *a = is_same ? NULL : rk_recorded_environment(before);
    json_t *b = is_same ? NULL : rk_recorded_environment(after);
    bool known = a && b;
    rk_err *err = known ? rk_diff_components(a, b, list) : NULL;
    json_decref(a);
    json_decref(b);
    if (err || list->count || !differ(before.request->environment, after.request->environment))
        return err;
    return note_digests(list, RK_DIFFERENCE_VARIABLE, RK_UNNAMED_ENVIRONMENT,
                        before.request->environment, after.request->environment);
}

rk_err *rk_diff_recorded(const rk_corpus *corpus, rk_recorded before, rk_recorded after,
                         rk_program_diff *diff) {
    RK_AUTO(rk_differences) settings = {0};
    RK_TRY(compare_environments(before, after, &settings));
    RK_TRY(compare_options(corpus, before.request, after.request, &settings));
    return rk_join_components(diff, &settings);
}

const char *rk_removal_text(rk_removal removal) {
    static const char *const words[RK_REMOVAL_COUNT] = {
        "removed, but not by rekindle", "evicted", "removed by `rekindle gc`",
        "removed by `rekindle rm`", "moved to quarantine/"};
    return words[removal];
}

rk_cause rk_removal_cause(rk_removal removal) {
    static const rk_cause causes[RK_REMOVAL_COUNT] = {
        RK_CAUSE_REMOVED, RK_CAUSE_EVICTED, RK_CAUSE_EVICTED, RK_CAUSE_REMOVED, RK_CAUSE_DAMAGED};
    return causes[removal];
}
