// UTF-8 (RFC 3629).
#pragma once

#include "base/span.h"

// Returns the length of the valid UTF-8 sequence at the front of `text`, 1 to 4 bytes; 0 if there
// is none. `text` is not empty.
size_t rk_utf8_len(rk_span text);
