// Programs of the fake plugin: one line of text, "name=foo outputs=2 add=1.5 elements=4 sleep_ms=0
// fail=why".
#include "fake.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *copy_bytes(const void *data, size_t size) {
    char *copy = malloc(size + 1);
    if (!copy)
        abort();
    if (size)
        memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}

static uint64_t fnv(uint64_t hash, const void *data, size_t size) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

// Parsing.

static PJRT_Error *apply_word(fake_program *program, const char *word) {
    const char *equals = strchr(word, '=');
    size_t len = equals ? (size_t)(equals - word) : strlen(word);
    const char *value = equals ? equals + 1 : "";
    if (len == 4 && memcmp(word, "name", len) == 0)
        (void)snprintf(program->name, sizeof program->name, "%s", value);
    else if (len == 7 && memcmp(word, "outputs", len) == 0)
        program->outputs = strtoul(value, NULL, 10);
    else if (len == 8 && memcmp(word, "elements", len) == 0)
        program->elements = strtoll(value, NULL, 10);
    else if (len == 3 && memcmp(word, "add", len) == 0)
        program->add = strtof(value, NULL);
    else if (len == 8 && memcmp(word, "sleep_ms", len) == 0)
        program->sleep_ms = strtoll(value, NULL, 10);
    else if (len == 4 && memcmp(word, "fail", len) == 0)
        return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "fake compiler: program says fail=%s",
                          value);
    else
        return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "fake compiler: unknown word \"%s\"",
                          word);
    return NULL;
}

static PJRT_Error *apply_words(fake_program *program) {
    char *text = copy_bytes(program->code, program->code_size);
    char *rest = text;
    PJRT_Error *error = NULL;
    while (!error && *rest) {
        size_t len = strcspn(rest, " \t\n");
        bool last = rest[len] == '\0';
        rest[len] = '\0';
        if (len)
            error = apply_word(program, rest);
        rest += last ? len : len + 1;
    }
    free(text);
    return error;
}

static void fill_metadata(fake_program *program) {
    for (size_t i = 0; i < program->outputs; i++) {
        program->dims[i] = program->elements;
        program->dim_sizes[i] = 1;
        program->types[i] = PJRT_Buffer_Type_F32;
        program->memory_kinds[i] = "device";
        program->memory_kind_sizes[i] = strlen("device");
    }
    program->cost = (PJRT_NamedValue){
        .struct_size = (size_t)PJRT_NamedValue_STRUCT_SIZE,
        .name = "flops",
        .name_size = 5,
        .type = PJRT_NamedValue_kFloat,
        .float_value = (float)program->outputs * (float)program->elements,
        .value_size = 1,
    };
    uint64_t hash = fnv(0xcbf29ce484222325u, program->code, program->code_size);
    hash = fnv(hash, program->options, program->options_size);
    hash = fnv(hash, fake_platform_version(), strlen(fake_platform_version()));
    hash = fnv(hash, program->codegen, strlen(program->codegen));
    program->fingerprint = hash;
    (void)snprintf(program->fingerprint_text, sizeof program->fingerprint_text, "fake-%016" PRIx64,
                   hash);
}

PJRT_Error *fake_program_parse(const char *code, size_t code_size, const char *options,
                               size_t options_size, fake_program **out_program) {
    fake_program *program = calloc(1, sizeof *program);
    if (!program)
        abort();
    atomic_store(&program->references, 1);
    program->outputs = 1;
    program->elements = 4;
    program->code = copy_bytes(code, code_size);
    program->code_size = code_size;
    program->options = copy_bytes(options, options_size);
    program->options_size = options_size;
    PJRT_Error *error = NULL;
    static const char module[] = "module @"; // MLIR text of a sum of inputs
    bool is_module = code_size > strlen(module) && memcmp(code, module, strlen(module)) == 0;
    if (is_module)
        (void)snprintf(program->name, sizeof program->name, "module");
    else if (code_size < 5 || memcmp(code, "name=", 5) != 0)
        error = fake_error(PJRT_Error_Code_INVALID_ARGUMENT,
                           "fake compiler: a program begins with name=");
    if (!error && !is_module)
        error = apply_words(program);
    if (!error && (program->outputs > FAKE_MAX_OUTPUTS || program->elements < 0 ||
                   program->elements > 1 << 20))
        error = fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "fake compiler: outputs too large");
    if (error) {
        fake_program_release(program);
        return error;
    }
    fill_metadata(program);
    *out_program = program;
    return NULL;
}

void fake_program_set_codegen(fake_program *program, const char *text, size_t size) {
    (void)snprintf(program->codegen, sizeof program->codegen, "%.*s", (int)size, text);
    fill_metadata(program);
}

fake_program *fake_program_share(fake_program *program) {
    atomic_fetch_add(&program->references, 1);
    return program;
}

void fake_program_release(fake_program *program) {
    if (atomic_fetch_sub(&program->references, 1) != 1)
        return;
    free(program->code);
    free(program->options);
    free(program);
}

// Serialization.

typedef struct encoded_head {
    char magic[8];
    uint64_t code_size;
    uint64_t options_size;
    uint64_t version_size;
    uint64_t codegen_size;
    uint64_t padding_size;
    uint64_t digest; // of all bytes after the head
} encoded_head;

static const char encoded_magic[8] = {'F', 'A', 'K', 'E', 'E', 'X', 'E', '1'};

static void *append(void *where, const void *data, size_t size) {
    memcpy(where, data, size);
    return (char *)where + size;
}

// Appends incompressible padding, which is the same each time.
static void *append_padding(void *where, size_t size) {
    unsigned char *bytes = where;
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < size; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes[i] = (unsigned char)(state >> 32);
    }
    return bytes + size;
}

char *fake_program_encode(const fake_program *program, size_t *out_size) {
    const char *version = fake_platform_version();
    encoded_head head = {
        .code_size = program->code_size,
        .options_size = program->options_size,
        .version_size = strlen(version),
        .codegen_size = strlen(program->codegen),
        .padding_size = (uint64_t)fake_setting_int("FAKE_PJRT_PAYLOAD_BYTES", 0),
    };
    memcpy(head.magic, encoded_magic, sizeof head.magic);
    size_t body = head.code_size + head.options_size + head.version_size + head.codegen_size +
                  (size_t)head.padding_size;
    char *data = malloc(sizeof head + body);
    if (!data)
        abort();
    void *where = append(data + sizeof head, program->code, program->code_size);
    where = append(where, program->options, program->options_size);
    where = append(where, version, head.version_size);
    where = append(where, program->codegen, head.codegen_size);
    (void)append_padding(where, (size_t)head.padding_size);
    head.digest = fnv(0xcbf29ce484222325u, data + sizeof head, body);
    memcpy(data, &head, sizeof head);
    *out_size = sizeof head + body;
    return data;
}

PJRT_Error *fake_program_decode(const char *data, size_t size, const char *override,
                                size_t override_size, fake_program **out_program) {
    encoded_head head;
    if (size < sizeof head)
        return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "fake: %zu bytes are no executable",
                          size);
    memcpy(&head, data, sizeof head);
    size_t body = size - sizeof head;
    if (memcmp(head.magic, encoded_magic, sizeof head.magic) != 0 || head.code_size > body ||
        head.options_size > body || head.version_size > body || head.codegen_size > body ||
        head.padding_size > body ||
        head.code_size + head.options_size + head.version_size + head.codegen_size +
                head.padding_size !=
            body)
        return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "fake: these bytes are no executable");
    const char *code = data + sizeof head;
    if (fnv(0xcbf29ce484222325u, code, body) != head.digest)
        fake_misuse("damaged bytes were handed to DeserializeAndLoad");
    const char *options = code + head.code_size;
    const char *version = options + head.options_size;
    if (head.version_size != strlen(fake_platform_version()) ||
        memcmp(version, fake_platform_version(), head.version_size) != 0)
        return fake_error(PJRT_Error_Code_FAILED_PRECONDITION,
                          "fake: the executable was made by another version");
    PJRT_Error *error =
        fake_program_parse(code, head.code_size, override ? override : options,
                           override ? override_size : head.options_size, out_program);
    if (!error)
        fake_program_set_codegen(*out_program, version + head.version_size, head.codegen_size);
    if (!error && fake_fails("load_differs"))
        fake_program_set_codegen(*out_program, "loaded", strlen("loaded"));
    return error;
}
