// Warm-up, and what comes after it.
#pragma once

// The program says that warm-up is over. Thread-safe.
void rk_strict_mark_warm(void);
