// JSON output of the verbs, made with jansson. All functions end the process if memory runs out, so
// no member is ever missing from the output.
#pragma once

#include <jansson.h>

#include "base/span.h"

json_t *rk_out_object(void);
json_t *rk_out_array(void);

// Add a member or an element. Consume the value.
void rk_out_set(json_t *object, const char *key, json_t *value);
void rk_out_append(json_t *array, json_t *value);

json_t *rk_out_text(rk_span text);         // invalid UTF-8 becomes U+FFFD
json_t *rk_out_string(const char *text);   // null for "" and NULL
json_t *rk_out_nullable(const char *text); // null only for NULL
json_t *rk_out_uint(uint64_t value);
json_t *rk_out_seconds(uint64_t nanoseconds);
json_t *rk_out_bool(bool value);

// Parses JSON text; null if it is not JSON.
json_t *rk_out_parsed(rk_span json_text);

// Any value in one line: strings without quotes, other values as JSON. Owned: rk_free.
char *rk_out_flat(const json_t *value);

// Prints the value and a newline on stdout. Consumes it.
void rk_out_print(json_t *value);
