#include "diagnose/shapes/dims_internal.h"

#include <stdlib.h>

bool rk_parse_dims(const char *type, rk_dims *out_dims) {
    const char *at = type ? strchr(type, '<') : NULL;
    out_dims->count = 0;
    while (at && out_dims->count < RK_ARRAY_LEN(out_dims->sizes)) {
        char *end;
        long long size = strtoll(at + 1, &end, 10);
        if (end == at + 1 || *end != 'x')
            break;
        out_dims->sizes[out_dims->count++] = size;
        at = end;
    }
    return out_dims->count > 0;
}

size_t rk_ranks_apart(const char *before, const char *after) {
    rk_dims a, b;
    size_t before_rank = rk_parse_dims(before, &a) ? a.count : 0;
    size_t after_rank = rk_parse_dims(after, &b) ? b.count : 0;
    return before_rank > after_rank ? before_rank - after_rank : after_rank - before_rank;
}

bool rk_same_rank(const char *before, const char *after) {
    return rk_ranks_apart(before, after) == 0;
}

bool rk_is_single_value(const char *type) {
    static const char prefix[] = "tensor<";
    if (!type || strncmp(type, prefix, sizeof prefix - 1) != 0)
        return false;
    type += sizeof prefix - 1;
    while (strncmp(type, "1x", 2) == 0)
        type += 2;
    return *type < '0' || *type > '9';
}

bool rk_is_list_type(const char *type) {
    return type && strstr(type, "xs64>");
}

bool rk_only_axis(const char *before, const char *after, size_t *out_axis) {
    rk_dims a, b;
    size_t found = 0;
    if (!rk_parse_dims(before, &a) || !rk_parse_dims(after, &b) || a.count != b.count)
        return false;
    for (size_t i = 0; i < a.count; i++) {
        if (a.sizes[i] == b.sizes[i])
            continue;
        found++;
        *out_axis = i;
    }
    return found == 1;
}

bool rk_same_axis(const rk_explained *a, const rk_explained *b) {
    size_t x, y;
    const rk_difference *p = rk_explained_head(a), *q = rk_explained_head(b);
    if (p->kind != RK_DIFFERENCE_SHAPE || q->kind != RK_DIFFERENCE_SHAPE)
        return p->kind == q->kind;
    return rk_only_axis(p->before, p->after, &x) && rk_only_axis(q->before, q->after, &y) && x == y;
}

int rk_compare_sizes(const void *a, const void *b) {
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}
