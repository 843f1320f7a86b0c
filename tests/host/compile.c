// Words for programs and executables.
#include "host/host.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/fs.h"

// CompileOptionsProto with one replica and one partition: executable_build_options (3) {
// num_replicas (4), num_partitions (5) }.
static const char default_options[] = {0x1a, 4, 0x20, 1, 0x28, 1};

// Programs to compile.

typedef struct source {
    rk_buf code;
    rk_buf options;
    const char *format;
} source;

static void source_cleanup(source *from) {
    rk_buf_cleanup(&from->code);
    rk_buf_cleanup(&from->options);
}

static void read_file(const char *path, rk_buf *out_data) {
    rk_autoerr error = rk_fs_read(path, (size_t)64 << 20, out_data);
    if (error)
        host_usage("%s", rk_err_message(error));
}

static bool ends_with(const char *text, const char *end) {
    size_t text_len = strlen(text), end_len = strlen(end);
    return text_len >= end_len && strcmp(text + text_len - end_len, end) == 0;
}

// Appends inline text and replaces {t}, {t%8} and {r} by the thread, the thread modulo 8, and the
// round.
static void add_inline_text(const host *h, const char *text, rk_buf *out_code) {
    while (*text) {
        if (strncmp(text, "{t}", 3) == 0) {
            rk_buf_add_format(out_code, "%d", h->thread);
            text += 3;
        } else if (strncmp(text, "{t%8}", 5) == 0) {
            rk_buf_add_format(out_code, "%d", h->thread % 8);
            text += 5;
        } else if (strncmp(text, "{r}", 3) == 0) {
            rk_buf_add_format(out_code, "%d", h->round);
            text += 3;
        } else {
            rk_buf_add_byte(out_code, (uint8_t)*text++);
        }
    }
}

// Reads "@FILE[:OPTIONS-FILE]", or takes the text of a program for the fake plugin.
static void read_source(const host *h, const char *value, source *out_source) {
    *out_source = (source){.format = "mlir"};
    if (*value != '@') {
        add_inline_text(h, value, &out_source->code);
        rk_buf_add(&out_source->options, default_options, sizeof default_options);
        return;
    }
    rk_autofree char *path = rk_strdup(value + 1);
    char *colon = path ? strchr(path, ':') : NULL;
    if (colon) {
        *colon = '\0';
        read_file(colon + 1, &out_source->options);
    } else {
        rk_buf_add(&out_source->options, default_options, sizeof default_options);
    }
    read_file(path, &out_source->code);
    if (ends_with(path, ".hlo"))
        out_source->format = "hlo";
}

static PJRT_Program program_of(source *from) {
    return HOST_ARGS(PJRT_Program, .code = (char *)from->code.data, .code_size = from->code.len,
                     .format = from->format, .format_size = strlen(from->format));
}

// Extensions.

void host_extension(host *h, const char *value) {
    h->extensions[0] = value;
}

void host_program_extension(host *h, const char *value) {
    h->extensions[1] = value;
}

void host_client_extension(host *h, const char *value) {
    h->extensions[2] = value;
}

typedef struct extensions {
    PJRT_Extension_Base nodes[8];
} extensions;

// Parses a list like "1,99" into a chain of extensions; NULL if the list is empty.
static PJRT_Extension_Base *make_chain(const char *types, extensions *out) {
    size_t count = 0;
    for (char *end; types && *types; types = *end == ',' ? end + 1 : end) {
        if (count == RK_ARRAY_LEN(out->nodes))
            host_usage("too many extensions");
        out->nodes[count] =
            (PJRT_Extension_Base){.struct_size = sizeof out->nodes[0],
                                  .type = (PJRT_Extension_Type)strtol(types, &end, 10)};
        if (count > 0)
            out->nodes[count - 1].next = &out->nodes[count];
        if (end == types)
            host_usage("no type of an extension: %s", types);
        count++;
    }
    return count ? &out->nodes[0] : NULL;
}

// Compiling.

static PJRT_Error *get_executable(const host *h, PJRT_LoadedExecutable *loaded,
                                  PJRT_Executable **out_executable) {
    PJRT_LoadedExecutable_GetExecutable_Args args =
        HOST_ARGS(PJRT_LoadedExecutable_GetExecutable_Args, .loaded_executable = loaded);
    PJRT_Error *error = h->api->PJRT_LoadedExecutable_GetExecutable(&args);
    *out_executable = args.executable;
    return error;
}

static void destroy_executable(const host *h, PJRT_Executable *executable) {
    PJRT_Executable_Destroy_Args args =
        HOST_ARGS(PJRT_Executable_Destroy_Args, .executable = executable);
    PJRT_Error *error = h->api->PJRT_Executable_Destroy(&args);
    if (error)
        host_usage("PJRT_Executable_Destroy failed");
}

static PJRT_Error *name_it(const host *h, PJRT_Executable *executable, rk_json *json) {
    PJRT_Executable_Name_Args name = HOST_ARGS(PJRT_Executable_Name_Args, .executable = executable);
    PJRT_Error *error = h->api->PJRT_Executable_Name(&name);
    if (!error)
        rk_json_member_text(json, "name",
                            rk_span_of(name.executable_name, name.executable_name_size));
    return error;
}

static size_t keep(host *h, PJRT_LoadedExecutable *loaded) {
    if (h->executable_count >= HOST_MAX_EXECUTABLES)
        host_usage("at most %d executables", HOST_MAX_EXECUTABLES);
    h->executables[h->executable_count] = loaded;
    return h->executable_count++;
}

void host_compile(host *h, const char *value) {
    host_line line;
    host_begin(&line, h, "compile");
    RK_AUTO(source) from;
    read_source(h, value, &from);
    extensions own, of_program;
    PJRT_Program program = program_of(&from);
    program.extension_start = make_chain(h->extensions[1], &of_program);
    PJRT_Client_Compile_Args args =
        HOST_ARGS(PJRT_Client_Compile_Args, .extension_start = make_chain(h->extensions[0], &own),
                  .client = host_current_client(h), .program = &program,
                  .compile_options = (const char *)from.options.data,
                  .compile_options_size = from.options.len);
    PJRT_Error *error = h->api->PJRT_Client_Compile(&args);
    if (!error)
        rk_json_member_uint(&line.json, "executable", keep(h, args.executable));
    (void)host_end(&line, h, error);
}

// Returns the topology in use, or the client's topology if there is none.
static PJRT_Error *find_topology(const host *h, const PJRT_TopologyDescription **out_topology) {
    *out_topology = h->topology;
    if (h->topology)
        return NULL;
    PJRT_Client_TopologyDescription_Args args =
        HOST_ARGS(PJRT_Client_TopologyDescription_Args, .client = host_current_client(h));
    PJRT_Error *error = h->api->PJRT_Client_TopologyDescription(&args);
    *out_topology = args.topology;
    return error;
}

// Compiles through PJRT_Compile.
void host_compile_topology(host *h, const char *value) {
    host_line line;
    host_begin(&line, h, "compile-topology");
    RK_AUTO(source) from;
    read_source(h, value, &from);
    extensions own, of_program;
    PJRT_Program program = program_of(&from);
    program.extension_start = make_chain(h->extensions[1], &of_program);
    PJRT_Compile_Args args = HOST_ARGS(PJRT_Compile_Args, .program = &program,
                                       .extension_start = make_chain(h->extensions[0], &own),
                                       .compile_options = (const char *)from.options.data,
                                       .compile_options_size = from.options.len);
    PJRT_Error *error = find_topology(h, &args.topology);
    if (!error)
        error = h->api->PJRT_Compile(&args);
    if (!error) {
        error = name_it(h, args.executable, &line.json);
        destroy_executable(h, args.executable);
    }
    (void)host_end(&line, h, error);
}

// The queries that a framework makes on an executable.

static PJRT_Error *describe_shape(const host *h, PJRT_Executable *executable, rk_json *json) {
    PJRT_Executable_NumOutputs_Args outputs =
        HOST_ARGS(PJRT_Executable_NumOutputs_Args, .executable = executable);
    PJRT_Error *error = h->api->PJRT_Executable_NumOutputs(&outputs);
    if (error)
        return error;
    rk_json_member_uint(json, "outputs", outputs.num_outputs);
    PJRT_Executable_OutputElementTypes_Args types =
        HOST_ARGS(PJRT_Executable_OutputElementTypes_Args, .executable = executable);
    error = h->api->PJRT_Executable_OutputElementTypes(&types);
    if (error)
        return error;
    rk_json_member_uint(json, "types", types.num_output_types);
    PJRT_Executable_GetCostAnalysis_Args cost =
        HOST_ARGS(PJRT_Executable_GetCostAnalysis_Args, .executable = executable);
    error = h->api->PJRT_Executable_GetCostAnalysis(&cost);
    if (!error)
        rk_json_member_uint(json, "costs", cost.num_properties);
    return error;
}

// Queries the size first, then the program.
static PJRT_Error *read_program(const host *h, PJRT_Executable *executable, PJRT_Program *program,
                                rk_buf *code) {
    *program = HOST_NO_ARGS(PJRT_Program);
    PJRT_Executable_OptimizedProgram_Args args = HOST_ARGS(
        PJRT_Executable_OptimizedProgram_Args, .executable = executable, .program = program);
    PJRT_Error *error = h->api->PJRT_Executable_OptimizedProgram(&args);
    if (error)
        return error;
    rk_buf_reserve(code, program->code_size);
    program->code = (char *)code->data;
    return h->api->PJRT_Executable_OptimizedProgram(&args);
}

static PJRT_Error *describe_program(const host *h, PJRT_Executable *executable, rk_json *json) {
    RK_AUTO(rk_buf) code = RK_BUF_INIT(0);
    PJRT_Program program;
    PJRT_Error *error = read_program(h, executable, &program, &code);
    if (!error)
        rk_json_member_uint(json, "optimized_bytes", program.code_size);
    return error;
}

// Repeats the query on one handle.
void host_optimized(host *h, const char *value) {
    host_line line;
    host_begin(&line, h, "optimized");
    char *times = strchr(value, ':');
    rk_autofree char *number = rk_strndup(value, times ? (size_t)(times - value) : strlen(value));
    PJRT_Executable *executable = NULL;
    PJRT_Error *error =
        get_executable(h, h->executables[host_pick_executable(h, number)], &executable);
    rk_json_key(&line.json, "programs");
    rk_json_begin_array(&line.json);
    for (long left = times ? strtol(times + 1, NULL, 10) : 1; !error && left > 0; left--) {
        RK_AUTO(rk_buf) code = RK_BUF_INIT(0);
        PJRT_Program program;
        error = read_program(h, executable, &program, &code);
        if (error)
            break;
        rk_json_begin_array(&line.json);
        rk_json_text(&line.json, rk_span_of(program.format, program.format_size));
        rk_json_text(&line.json, rk_span_of(program.code, program.code_size));
        rk_json_end_array(&line.json);
    }
    rk_json_end_array(&line.json);
    if (executable)
        destroy_executable(h, executable);
    (void)host_end(&line, h, error);
}

void host_inspect(host *h, const char *value) {
    host_line line;
    host_begin(&line, h, "inspect");
    PJRT_LoadedExecutable *loaded = h->executables[host_pick_executable(h, value)];
    PJRT_Executable *executable = NULL;
    PJRT_Error *error = get_executable(h, loaded, &executable);
    if (!error) {
        PJRT_Executable_Fingerprint_Args fingerprint =
            HOST_ARGS(PJRT_Executable_Fingerprint_Args, .executable = executable);
        error = name_it(h, executable, &line.json);
        if (!error)
            error = h->api->PJRT_Executable_Fingerprint(&fingerprint);
        if (!error) {
            rk_json_member_text(&line.json, "fingerprint",
                                rk_span_of(fingerprint.executable_fingerprint,
                                           fingerprint.executable_fingerprint_size));
            error = describe_shape(h, executable, &line.json);
        }
        if (!error)
            error = describe_program(h, executable, &line.json);
        destroy_executable(h, executable);
    }
    (void)host_end(&line, h, error);
}

// Serializing and loading, as in a framework with its own cache.

void host_serialize(host *h, const char *value) {
    host_line line;
    host_begin(&line, h, "serialize");
    PJRT_Executable *executable = NULL;
    PJRT_Error *error =
        get_executable(h, h->executables[host_pick_executable(h, value)], &executable);
    if (!error) {
        PJRT_Executable_Serialize_Args args =
            HOST_ARGS(PJRT_Executable_Serialize_Args, .executable = executable);
        error = h->api->PJRT_Executable_Serialize(&args);
        if (!error) {
            rk_buf_clear(&h->serialized);
            rk_buf_add(&h->serialized, args.serialized_bytes, args.serialized_bytes_size);
            rk_json_member_uint(&line.json, "bytes", args.serialized_bytes_size);
            if (args.serialized_executable_deleter)
                args.serialized_executable_deleter(args.serialized_executable);
        }
        destroy_executable(h, executable);
    }
    (void)host_end(&line, h, error);
}

void host_load(host *h, const char *value) {
    (void)value;
    host_line line;
    host_begin(&line, h, "load");
    PJRT_Executable_DeserializeAndLoad_Args args =
        HOST_ARGS(PJRT_Executable_DeserializeAndLoad_Args, .client = host_current_client(h),
                  .serialized_executable = (const char *)h->serialized.data,
                  .serialized_executable_size = h->serialized.len);
    PJRT_Error *error = HOST_CALL(h, PJRT_Executable_DeserializeAndLoad, &args);
    if (!error)
        rk_json_member_uint(&line.json, "executable", keep(h, args.loaded_executable));
    (void)host_end(&line, h, error);
}

size_t host_pick_executable(const host *h, const char *value) {
    size_t index = *value ? strtoul(value, NULL, 10) : h->executable_count - 1;
    if (index >= h->executable_count || !h->executables[index])
        host_usage("there is no executable \"%s\"", value);
    return index;
}

void host_destroy_exec(host *h, const char *value) {
    host_line line;
    host_begin(&line, h, "destroy-exec");
    size_t index = host_pick_executable(h, value);
    PJRT_LoadedExecutable_Destroy_Args args =
        HOST_ARGS(PJRT_LoadedExecutable_Destroy_Args, .executable = h->executables[index]);
    h->executables[index] = NULL;
    (void)host_end(&line, h, h->api->PJRT_LoadedExecutable_Destroy(&args));
}
