// Small macros for all modules: attributes, cleanup, sizes.
#pragma once

#include <stddef.h>

#define RK_NODISCARD                __attribute__((warn_unused_result))
#define RK_PRINTF(fmt_index, first) __attribute__((format(printf, fmt_index, first)))
#define RK_HIDDEN                   __attribute__((visibility("hidden")))
#define RK_EXPORT                   __attribute__((visibility("default")))
#define RK_LIKELY(x)                __builtin_expect(!!(x), 1)
#define RK_UNLIKELY(x)              __builtin_expect(!!(x), 0)
#define RK_ARRAY_LEN(a)             (sizeof(a) / sizeof((a)[0]))

// Transfers ownership of a pointer: yields the value of `p` and sets `p` to NULL, so that a cleanup
// attribute on `p` does nothing.
#define RK_TAKE(p)                                                                                 \
    (__extension__({                                                                               \
        __typeof__(p) rk_taken_ = (p);                                                             \
        (p) = NULL;                                                                                \
        rk_taken_;                                                                                 \
    }))

// Calls type##_cleanup(&variable) when the variable goes out of scope:
//     RK_AUTO(rk_buf) line = {0};
#define RK_AUTO(type) __attribute__((cleanup(type##_cleanup))) type
