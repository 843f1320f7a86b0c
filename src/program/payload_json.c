// Reads JSON (RFC 8259) in configurations of custom calls. Strict: rejects text that two parsers
// might understand differently, for example duplicate keys.
#include "program/payload.h"

enum { MAX_DEPTH = 16, MAX_OPEN_FIELDS = 1024 };

typedef enum place { PLACE_ELSEWHERE, PLACE_ROOT, PLACE_CONFIG } place;

typedef struct reader {
    rk_model *model;
    const uint8_t *at, *end;
    uint32_t number_word; // string id
    rk_payload_json found;
    rk_field open[MAX_OPEN_FIELDS]; // of unfinished objects and arrays
    uint32_t open_count;
} reader;

static uint32_t read_value(reader *r, unsigned depth, place in);

static void skip_blanks(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

static bool take(reader *r, uint8_t byte) {
    skip_blanks(r);
    if (r->at == r->end || *r->at != byte)
        return false;
    r->at++;
    return true;
}

// Takes the bytes between the quotes, escapes included.
static bool take_string(reader *r, rk_span *out_text, bool *out_escaped) {
    *out_escaped = false;
    if (!take(r, '"'))
        return false;
    const uint8_t *start = r->at;
    for (; r->at < r->end && *r->at != '"'; r->at++) {
        if (*r->at < 0x20)
            return false;
        if (*r->at == '\\') {
            *out_escaped = true;
            if (++r->at == r->end)
                return false;
        }
    }
    if (r->at == r->end)
        return false;
    *out_text = rk_span_of(start, (size_t)(r->at++ - start));
    return true;
}

static bool push(reader *r, uint32_t name, uint32_t node) {
    if (node == RK_NO_ID || r->open_count == MAX_OPEN_FIELDS)
        return false;
    r->open[r->open_count++] = (rk_field){name, node};
    return true;
}

// Makes a node from the open fields from `mark` on.
static uint32_t close(reader *r, rk_node_kind kind, uint32_t mark) {
    rk_node node = {.kind = (uint8_t)kind,
                    .name = RK_NO_ID,
                    .first_field = r->model->fields.count,
                    .field_count = r->open_count - mark};
    for (uint32_t i = mark; i < r->open_count; i++)
        if (rk_model_add_field(r->model, r->open[i].name, r->open[i].node) == RK_NO_ID)
            return RK_NO_ID;
    r->open_count = mark;
    if (kind == RK_NODE_DICT)
        rk_model_sort_fields(r->model, node.first_field, node.field_count);
    const rk_field *fields = r->model->fields.items + node.first_field;
    for (uint32_t i = 1; kind == RK_NODE_DICT && i < node.field_count; i++)
        if (rk_span_equal(rk_model_string(r->model, fields[i - 1].name),
                          rk_model_string(r->model, fields[i].name)))
            return RK_NO_ID;
    return rk_model_add_node(r->model, node);
}

static bool read_member(reader *r, unsigned depth, place in) {
    rk_span key;
    bool escaped;
    if (!take_string(r, &key, &escaped) || escaped || !take(r, ':'))
        return false;
    if (in == PLACE_CONFIG && rk_span_is(key, "debug_locations")) {
        if (r->found.debug_locations.data || !take_string(r, &r->found.debug_locations, &escaped))
            return false;
        return !escaped;
    }
    place inner =
        in == PLACE_ROOT && rk_span_is(key, "custom_call_config") ? PLACE_CONFIG : PLACE_ELSEWHERE;
    uint32_t node = read_value(r, depth + 1, inner);
    if (!push(r, rk_model_add_string(r->model, key), node))
        return false;
    if (in == PLACE_CONFIG && rk_span_is(key, "body") &&
        r->model->nodes.items[node].kind == RK_NODE_STRING)
        r->found.body = node;
    return true;
}

static uint32_t read_object(reader *r, unsigned depth, place in) {
    uint32_t mark = r->open_count;
    if (take(r, '}'))
        return close(r, RK_NODE_DICT, mark);
    do {
        if (!read_member(r, depth, in))
            return RK_NO_ID;
    } while (take(r, ','));
    return take(r, '}') ? close(r, RK_NODE_DICT, mark) : RK_NO_ID;
}

static uint32_t read_array(reader *r, unsigned depth) {
    uint32_t mark = r->open_count;
    if (take(r, ']'))
        return close(r, RK_NODE_LIST, mark);
    do {
        if (!push(r, RK_NO_ID, read_value(r, depth + 1, PLACE_ELSEWHERE)))
            return RK_NO_ID;
    } while (take(r, ','));
    return take(r, ']') ? close(r, RK_NODE_LIST, mark) : RK_NO_ID;
}

static bool is_of_word(uint8_t byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || byte == 'E' ||
           byte == '+' || byte == '-' || byte == '.';
}

// Numbers, true, false and null keep their spelling.
static uint32_t read_word(reader *r) {
    const uint8_t *start = r->at;
    while (r->at < r->end && is_of_word(*r->at))
        r->at++;
    rk_node node = {.kind = RK_NODE_ENUM,
                    .name = r->number_word,
                    .bytes = rk_span_of(start, (size_t)(r->at - start))};
    return node.bytes.len ? rk_model_add_node(r->model, node) : RK_NO_ID;
}

static uint32_t read_value(reader *r, unsigned depth, place in) {
    if (depth > MAX_DEPTH)
        return RK_NO_ID;
    if (take(r, '{'))
        return read_object(r, depth, in);
    if (take(r, '['))
        return read_array(r, depth);
    if (r->at < r->end && *r->at == '"') {
        rk_node node = {.kind = RK_NODE_STRING, .name = RK_NO_ID};
        bool escaped;
        return take_string(r, &node.bytes, &escaped) ? rk_model_add_node(r->model, node) : RK_NO_ID;
    }
    return read_word(r);
}

rk_payload_json rk_payload_read_json(rk_model *model, rk_span text) {
    static const rk_payload_json none = {.node = RK_NO_ID, .body = RK_NO_ID};
    if (!text.len)
        return none;
    reader r = {.model = model, .at = text.data, .end = text.data + text.len, .found = none};
    uint32_t strings = model->strings.count, nodes = model->nodes.count;
    uint32_t fields = model->fields.count;
    r.number_word = rk_model_add_string(model, rk_span_text("json"));
    uint32_t node = r.number_word == RK_NO_ID ? RK_NO_ID : read_value(&r, 0, PLACE_ROOT);
    skip_blanks(&r);
    if (node != RK_NO_ID && r.at == r.end) {
        r.found.node = node;
        return r.found;
    }
    model->strings.count = strings;
    model->nodes.count = nodes;
    model->fields.count = fields;
    return none;
}
