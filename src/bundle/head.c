#include "bundle/head_internal.h"

#include <stdlib.h>

#include <jansson.h>

#include "base/alloc.h"
#include "base/json.h"
#include "bundle/limits.h"
#include "bundle/name_internal.h"

static int by_name(const void *a, const void *b) {
    const rk_bundle_pair *left = a, *right = b;
    return rk_span_compare(left->name, right->name);
}

rk_err *rk_bundle_pairs_sort(rk_bundle_pairs pairs, rk_bundle_pair **out_sorted) {
    *out_sorted = NULL;
    if (pairs.count == 0)
        return NULL;
    rk_autofree rk_bundle_pair *sorted = rk_calloc(pairs.count, sizeof *sorted);
    if (!sorted)
        return rk_err_no_memory();
    memcpy(sorted, pairs.items, pairs.count * sizeof *sorted);
    qsort(sorted, pairs.count, sizeof *sorted, by_name);
    for (size_t i = 1; i < pairs.count; i++)
        if (rk_span_equal(sorted[i - 1].name, sorted[i].name))
            return rk_error(RK_INVALID_ARGUMENT, "\"%s\" occurs twice",
                            rk_bundle_show(sorted[i].name).text);
    *out_sorted = RK_TAKE(sorted);
    return NULL;
}

static rk_err *encode_pairs(rk_json *json, const char *key, rk_bundle_pairs pairs) {
    if (pairs.count > RK_BUNDLE_HEADER_PAIRS_MAX)
        return rk_error(RK_OUT_OF_RANGE, "%zu values under \"%s\", more than the %d allowed",
                        pairs.count, key, RK_BUNDLE_HEADER_PAIRS_MAX);
    rk_autofree rk_bundle_pair *sorted = NULL;
    RK_TRY(rk_bundle_pairs_sort(pairs, &sorted));
    rk_json_key(json, key);
    rk_json_begin_object(json);
    for (size_t i = 0; i < pairs.count; i++) {
        const char *fault = rk_bundle_pair_fault(&sorted[i]);
        if (fault)
            return rk_error(RK_INVALID_ARGUMENT, "\"%s\" under \"%s\" %s",
                            rk_bundle_show(sorted[i].name).text, key, fault);
        rk_json_key_text(json, sorted[i].name);
        rk_json_text(json, sorted[i].value);
    }
    rk_json_end_object(json);
    return NULL;
}

rk_err *rk_bundle_head_encode(const rk_bundle_head *head, rk_buf *out) {
    size_t start = out->len;
    rk_json json = rk_json_on(out);
    rk_json_begin_object(&json);
    rk_json_member_string(&json, "media_type", RK_BUNDLE_MEDIA_TYPE);
    RK_TRY(encode_pairs(&json, "made_with", head->made_with));
    RK_TRY(encode_pairs(&json, "annotations", head->annotations));
    rk_json_end_object(&json);
    RK_TRY(rk_buf_status(out));
    if (out->len - start > RK_BUNDLE_HEADER_MAX_BYTES)
        return rk_error(RK_OUT_OF_RANGE,
                        "the bundle's header has %zu bytes, more than the %d allowed",
                        out->len - start, RK_BUNDLE_HEADER_MAX_BYTES);
    return NULL;
}

void rk_bundle_read_head_cleanup(rk_bundle_read_head *self) {
    json_decref(self->json);
    rk_free(self->pairs);
    *self = (rk_bundle_read_head){0};
}

static rk_err *fail(const char *shown, const char *what) {
    return rk_error(RK_INVALID_ARGUMENT, "%s: the header %s: export it again with rekindle", shown,
                    what);
}

// Reads an object of texts into `out`. `*out_count` is the number of pairs.
static rk_err *read_pairs(json_t *root, const char *key, const char *shown, rk_bundle_pair *out,
                          size_t *out_count) {
    json_t *object = json_object_get(root, key);
    const char *name = NULL;
    json_t *value = NULL;
    *out_count = 0;
    json_object_foreach(object, name, value) {
        if (!json_is_string(value))
            return fail(shown, "has a value that is no text");
        rk_bundle_pair *pair = &out[(*out_count)++];
        pair->name = rk_span_text(name);
        pair->value = rk_span_of(json_string_value(value), json_string_length(value));
        const char *fault = rk_bundle_pair_fault(pair);
        if (fault)
            return rk_error(RK_INVALID_ARGUMENT,
                            "%s: \"%s\" in the header %s: export it again with rekindle", shown,
                            rk_bundle_show(pair->name).text, fault);
    }
    return NULL;
}

static rk_err *check_pairs(const json_t *root, const char *key, const char *shown) {
    const json_t *object = json_object_get(root, key);
    if (!json_is_object(object))
        return rk_error(RK_INVALID_ARGUMENT,
                        "%s: the header has no \"%s\": export it again with rekindle", shown, key);
    if (json_object_size(object) > RK_BUNDLE_HEADER_PAIRS_MAX)
        return rk_error(RK_OUT_OF_RANGE,
                        "%s: the header has %zu values under \"%s\", more than the %d allowed: "
                        "export it again with rekindle",
                        shown, json_object_size(object), key, RK_BUNDLE_HEADER_PAIRS_MAX);
    return NULL;
}

rk_err *rk_bundle_head_parse(rk_span json, const char *shown, rk_bundle_read_head *out_head) {
    *out_head = (rk_bundle_read_head){0};
    json_error_t where;
    json_t *root = json_loadb((const char *)json.data, json.len, JSON_REJECT_DUPLICATES, &where);
    if (!root && json_error_code(&where) == json_error_out_of_memory)
        return rk_err_no_memory();
    out_head->json = root;
    if (!json_is_object(root))
        return fail(shown, "is not JSON");
    const char *media_type = json_string_value(json_object_get(root, "media_type"));
    if (!media_type || strcmp(media_type, RK_BUNDLE_MEDIA_TYPE) != 0)
        return fail(shown, "has another media type than " RK_BUNDLE_MEDIA_TYPE);
    RK_TRY(check_pairs(root, "made_with", shown));
    RK_TRY(check_pairs(root, "annotations", shown));
    size_t made_with = json_object_size(json_object_get(root, "made_with"));
    size_t count = made_with + json_object_size(json_object_get(root, "annotations"));
    out_head->pairs = rk_calloc(count ? count : 1, sizeof *out_head->pairs);
    if (!out_head->pairs)
        return rk_err_no_memory();
    rk_bundle_head *head = &out_head->head;
    head->made_with.items = out_head->pairs;
    head->annotations.items = out_head->pairs + made_with;
    RK_TRY(read_pairs(root, "made_with", shown, out_head->pairs, &head->made_with.count));
    return read_pairs(root, "annotations", shown, out_head->pairs + made_with,
                      &head->annotations.count);
}
