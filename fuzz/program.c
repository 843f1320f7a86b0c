#include "fuzz.h"

#include "base/alloc.h"
#include "program/canon/fingerprint.h"
#include "program/read.h"
#include "program/text.h"

enum { TEXT_MAX_BYTES = 1 << 16 };

// The results of reading the program, with or without its locations.
typedef struct outcome {
    bool is_read;
    bool is_whole; // nothing in it is opaque, and memory sufficed for a fingerprint
    rk_digest fingerprint;
    rk_buf text;
} outcome;

static void print(const rk_model *model, bool locations, outcome *out) {
    rk_text_options options = {.locations = locations, .elements_max = 16};
    out->text = RK_BUF_INIT(TEXT_MAX_BYTES);
    if (!fuzz_ok(rk_program_print(model, &options, &out->text)))
        rk_buf_cleanup(&out->text);
}

static void read_program(rk_span code, const char *format, unsigned flags, outcome *out) {
    rk_model *model = NULL;
    char *reason = NULL;
    fuzz_memory_begin(FUZZ_PARSER_LIMIT_BYTES(code.len), FUZZ_FAIL_ABOVE);
    bool ok = fuzz_ok(rk_model_read(code, rk_span_text(format), flags, &model, &reason));
    FUZZ_REQUIRE(ok ? !model != !reason : !model && !reason);
    if (model) {
        fuzz_check_model(model, flags);
        out->is_read = true;
        out->is_whole = !model->opaque_count && fuzz_ok(rk_fingerprint(model, &out->fingerprint));
        rk_model_free(model);
    }
    rk_free(reason);
    fuzz_memory_end();
}

// The fingerprint made while reading must equal the fingerprint of the model.
static void compare_with_model(rk_span code, const char *format, const outcome *model) {
    rk_program_facts facts;
    fuzz_memory_begin(FUZZ_PARSER_LIMIT_BYTES(code.len), FUZZ_FAIL_ABOVE);
    if (fuzz_ok(rk_program_facts_read(code, rk_span_text(format), &facts)) && model->is_whole) {
        FUZZ_REQUIRE(!facts.reason);
        FUZZ_REQUIRE(rk_digest_equal(&facts.fingerprint, &model->fingerprint));
    }
    rk_program_facts_cleanup(&facts);
    fuzz_memory_end();
}

// Prints the program. Text has no limit in relation to the input, only its maximum.
static void print_program(rk_span code, const char *format, unsigned flags, outcome *out) {
    rk_model *model = NULL;
    char *reason = NULL;
    if (!out->is_read ||
        !fuzz_ok(rk_model_read(code, rk_span_text(format), flags, &model, &reason)))
        return;
    FUZZ_REQUIRE(model);
    print(model, false, out);
    if (flags & RK_READ_LOCATIONS) {
        outcome with_locations = {0};
        print(model, true, &with_locations);
        rk_buf_cleanup(&with_locations.text);
    }
    rk_model_free(model);
}

void fuzz_program(rk_span code, const char *format) {
    outcome bare = {0}, located = {0};
    read_program(code, format, 0, &bare);
    read_program(code, format, RK_READ_LOCATIONS, &located);
    compare_with_model(code, format, &bare);
    print_program(code, format, 0, &bare);
    print_program(code, format, RK_READ_LOCATIONS, &located);
    if (bare.is_whole && located.is_whole)
        FUZZ_REQUIRE(rk_digest_equal(&bare.fingerprint, &located.fingerprint));
    if (bare.is_whole && located.is_whole && bare.text.len && located.text.len)
        FUZZ_REQUIRE(rk_span_equal(rk_buf_span(&bare.text), rk_buf_span(&located.text)));
    rk_buf_cleanup(&bare.text);
    rk_buf_cleanup(&located.text);
}
