// The components of a key, as `rekindle show` prints them.
#pragma once

#include <jansson.h>
#include <stdio.h>

// Prints a list as identity/components.h writes it: by kind, and options by the part of the message
// that they are in, so that the names' common beginnings stand there once.
void rk_component_view_print(const json_t *list, FILE *out);
