#include "program/traits.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "program/mlir/magic.h"

enum {
    MAX_CHECKS = 1 << 16, // address lookups per program, about 10 ms
    MAX_NAME_BYTES = 128,
};

// Lower numbers are too often sizes or counts: only programs linked to a fixed address have
// addresses there. Higher numbers are not in user space, even with five-level paging.
static const uint64_t LOWEST_ADDRESS = UINT64_C(1) << 32;
static const uint64_t HIGHEST_ADDRESS = UINT64_C(1) << 56;

static void note(rk_traits *traits, rk_trait trait, rk_span name) {
    if (trait > traits->worst) {
        traits->worst = trait;
        traits->name = name;
    }
}

// Targets of all jaxlib versions: xla_python_cpu_callback, xla_python_gpu_callback,
// xla_ffi_python_cpu_callback, xla_ffi_partitioned_python_gpu_callback,
// xla_buffer_python_cpu_callback… (jax/_src/callback.py, jax/_src/buffer_callback.py).
static bool is_python_callback(rk_span name) {
    return rk_span_starts(name, "xla_") && rk_span_ends(name, "_callback") &&
           memmem(name.data, name.len, "_python_", 8) != NULL;
}

void rk_traits_see_name(rk_traits *traits, rk_span name) {
    if (name.len < 4 || name.len > MAX_NAME_BYTES)
        return;
    if (is_python_callback(name))
        note(traits, RK_TRAIT_CALLBACK, name);
    else if (rk_span_is(name, "CustomSPMDPartitioning")) // jax/_src/custom_partitioning.py
        note(traits, RK_TRAIT_PARTITIONER, name);
    else if (rk_span_is(name,
                        "InspectSharding")) // jax/_src/debugging.py: the compiler calls Python
        note(traits, RK_TRAIT_INSPECTION, name);
    else if (rk_span_is(name, "_xla_host_transfer_handler_name") || // TPU callbacks: send and recv
             rk_span_is(name, "_xla_host_transfer_rendezvous"))
        note(traits, RK_TRAIT_HOST_TRANSFER, name);
}

static bool is_mapped(uint64_t address) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned char resident;
    void *start =
        (void *)(uintptr_t)(address & ~(page - 1)); // NOLINT: a number that may be an address
    // Only ENOMEM means "not mapped". If mincore is not permitted, assume that the address is
    // mapped.
    return mincore(start, 1, &resident) == 0 || errno != ENOMEM;
}

void rk_traits_see_number(rk_traits *traits, uint64_t number) {
    if (number < LOWEST_ADDRESS || number >= HIGHEST_ADDRESS || traits->worst >= RK_TRAIT_POINTER ||
        traits->checks >= MAX_CHECKS)
        return;
    traits->checks++;
    if (is_mapped(number)) {
        note(traits, RK_TRAIT_POINTER, (rk_span){0});
        traits->address = number;
    }
}

static int digit_value(uint8_t c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_number(rk_span digits, unsigned base, uint64_t *out_number) {
    uint64_t number = 0;
    if (!digits.len)
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        int value = digit_value(digits.data[i]);
        if (value < 0 || (unsigned)value >= base || __builtin_mul_overflow(number, base, &number) ||
            __builtin_add_overflow(number, (unsigned)value, &number))
            return false;
    }
    *out_number = number;
    return true;
}

// Checks a word (letters and digits) as an address: decimal (std::to_string, Python's id), "0x…"
// (%p), or bare hexadecimal of up to 12 digits.
static void see_word(rk_traits *traits, rk_span word) {
    uint64_t number;
    if (word.len < 9 || word.len > 20)
        return;
    if (parse_number(word, 10, &number))
        rk_traits_see_number(traits, number);
    bool prefixed = word.data[0] == '0' && (word.data[1] | 0x20) == 'x';
    rk_span digits = prefixed ? rk_span_of(word.data + 2, word.len - 2) : word;
    if ((prefixed || word.len <= 12) && parse_number(digits, 16, &number))
        rk_traits_see_number(traits, number);
}

static bool is_alnum(uint8_t c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static void see_words(rk_traits *traits, rk_span text) {
    size_t start = 0;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && is_alnum(text.data[i]))
            continue;
        see_word(traits, rk_span_of(text.data + start, i - start));
        start = i + 1;
    }
}

// Checks packed structures: every eight bytes as a little-endian number. The last byte must be
// zero, as in every user-space address.
static void see_packed(rk_traits *traits, rk_span bytes) {
    for (size_t i = 0; i + 8 <= bytes.len; i++)
        if (bytes.data[i + 7] == 0)
            rk_traits_see_number(traits, rk_load_u64le(bytes.data + i));
}

void rk_traits_see_config(rk_traits *traits, rk_span config) {
    // Skips kernels in bytecode (Pallas on GPUs): bytecode packs numbers in varying widths, so
    // eight bytes in a row are not a number.
    if (!config.len || rk_mlir_is_bytecode(config))
        return;
    see_words(traits, config);
    if (memchr(config.data, 0, config.len))
        see_packed(traits, config);
}

static void see_names(rk_traits *traits, rk_span text) {
    size_t start = 0;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && (is_alnum(text.data[i]) || text.data[i] == '_'))
            continue;
        rk_traits_see_name(traits, rk_span_of(text.data + start, i - start));
        start = i + 1;
    }
}

void rk_traits_see_text(rk_traits *traits, rk_span text) {
    if (!text.len)
        return;
    see_names(traits, text);
    if (memmem(text.data, text.len, "custom_call", 11))
        see_words(traits, text);
}

// Takes a character of a string in MLIR text. Escapes: a backslash and two hexadecimal digits, or
// another character.
static uint8_t take_character(rk_span text, size_t *at) {
    uint8_t c = text.data[(*at)++];
    if (c != '\\' || *at >= text.len)
        return c;
    int high = digit_value(text.data[*at]);
    int low = *at + 1 < text.len ? digit_value(text.data[*at + 1]) : -1;
    *at += high >= 0 && low >= 0 ? 2 : 1;
    return high >= 0 && low >= 0 ? (uint8_t)(high << 4 | low) : text.data[*at - 1];
}

// Checks a string with escapes: decodes one part after the other. Parts overlap, so that no name or
// number is cut. The trait's name is the string as it is in the program.
static void see_escaped(rk_traits *traits, rk_span text) {
    enum { PART_BYTES = 4096, OVERLAP_BYTES = 2 * MAX_NAME_BYTES };
    uint8_t part[PART_BYTES];
    size_t len = 0, at = 0;
    while (at < text.len) {
        while (at < text.len && len < PART_BYTES)
            part[len++] = take_character(text, &at);
        rk_trait before = traits->worst;
        see_names(traits, rk_span_of(part, len));
        if (traits->worst != before)
            traits->name = text;
        rk_traits_see_config(traits, rk_span_of(part, len));
        if (len < PART_BYTES)
            break;
        memmove(part, part + PART_BYTES - OVERLAP_BYTES, OVERLAP_BYTES);
        len = OVERLAP_BYTES;
    }
}

void rk_traits_see_mlir_text(rk_traits *traits, rk_span text) {
    const uint8_t *at = text.data, *end = text.len ? text.data + text.len : text.data;
    rk_traits_see_text(traits, text);
    // A string starts or ends at each quote that is not escaped, so a part between two quotes may
    // also be the text between two strings.
    while (at < end) {
        const uint8_t *quote = memchr(at, '"', (size_t)(end - at));
        quote = quote ? quote : end;
        if (memchr(at, '\\', (size_t)(quote - at)))
            see_escaped(traits, rk_span_of(at, (size_t)(quote - at)));
        at = quote + 1;
    }
}

rk_err *rk_traits_describe(const rk_traits *traits, char **out_reason) {
    static const char *const WORDS[] = {
        [RK_TRAIT_HOST_TRANSFER] = "send or receive of a host callback",
        [RK_TRAIT_INSPECTION] = "callback of the partitioner",
        [RK_TRAIT_PARTITIONER] = "custom partitioner",
        [RK_TRAIT_CALLBACK] = "host callback",
    };
    RK_AUTO(rk_buf) text = {0};
    *out_reason = NULL;
    if (traits->worst == RK_TRAIT_NONE)
        return NULL;
    if (traits->worst == RK_TRAIT_POINTER) {
        rk_buf_add_format(&text, "custom call with an address of this process (0x%llx)",
                          (unsigned long long)traits->address);
    } else {
        rk_buf_add_format(&text, "%s (", WORDS[traits->worst]);
        rk_buf_add_span(&text, traits->name);
        rk_buf_add_byte(&text, ')');
    }
    RK_TRY(rk_buf_status(&text));
    size_t len;
    *out_reason = (char *)rk_buf_detach(&text, &len);
    return NULL;
}
