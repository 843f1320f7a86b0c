// What verbs print for programs: JSON made with jansson. All of these end the process when memory
// is short, so that no member can go missing unseen.
#pragma once

#include <jansson.h>

#include "base/span.h"

json_t *rk_out_object(void);
json_t *rk_out_array(void);

// Members and elements; the value is consumed.
void rk_out_set(json_t *object, const char *key, json_t *value);
void rk_out_append(json_t *array, json_t *value);

json_t *rk_out_text(rk_span text);         // bytes that are not UTF-8 become U+FFFD
json_t *rk_out_string(const char *text);   // "" and NULL become null
json_t *rk_out_nullable(const char *text); // NULL alone becomes null
json_t *rk_out_uint(uint64_t value);
json_t *rk_out_seconds(uint64_t nanoseconds);
json_t *rk_out_bool(bool value);

// Text as JSON; null where it is no JSON.
json_t *rk_out_parsed(rk_span json_text);

// Any value in one line: a string as it is, others as JSON. Owned: rk_free.
char *rk_out_flat(const json_t *value);

// Prints it on stdout, with a newline. Consumes it.
void rk_out_print(json_t *value);
