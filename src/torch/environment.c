#include "torch/environment.h"

#include <gnu/libc-version.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "identity/host_cpu.h"
#include "torch/compiler.h"

enum { GPUS_MAX = 64, INFO_MAX_BYTES = 16 << 10 };

// Names of GPUs.
typedef struct gpus {
    const char *folder;    // that is visited
    const char *file;      // in each folder below it
    const char *line;      // the beginning of the line with the name
    char *names[GPUS_MAX]; // owned
    size_t count;
} gpus;

static void gpus_cleanup(gpus *self) {
    for (size_t i = 0; i < self->count; i++)
        rk_free(self->names[i]);
}

static rk_err *visit_gpu(void *context, const char *name) {
    gpus *self = context;
    RK_AUTO(rk_buf) path = {0};
    RK_AUTO(rk_buf) text = RK_BUF_INIT(INFO_MAX_BYTES + 4096);
    rk_buf_add_format(&path, "%s/%s/%s", self->folder, name, self->file);
    RK_TRY(rk_buf_status(&path));
    rk_err *err = rk_fs_read(rk_buf_text(&path), INFO_MAX_BYTES, &text);
    if (rk_err_code(err) == RK_RESOURCE_EXHAUSTED)
        return err;
    rk_err_drop(err, "a device that tells nothing has no name");
    const char *line = strstr(rk_buf_text(&text), self->line);
    if (!line || self->count == GPUS_MAX)
        return NULL;
    line += strlen(self->line);
    line += strspn(line, " \t:");
    size_t len = strcspn(line, "\n");
    if (len == 0 || (len == 1 && *line == '0'))
        return NULL; // a CPU, in the list of AMD's driver
    char *found = rk_strndup(line, len);
    if (!found)
        return rk_err_no_memory();
    self->names[self->count++] = found;
    return NULL;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static rk_err *list_gpus(gpus *self, const char *root, const char *folder) {
    rk_autofree char *path = rk_path_join(root, folder);
    if (!path)
        return rk_err_no_memory();
    self->folder = path;
    rk_err *err = rk_fs_list(path, GPUS_MAX, visit_gpu, self);
    self->folder = NULL;
    if (rk_err_code(err) == RK_RESOURCE_EXHAUSTED)
        return err;
    rk_err_drop(err, "there is no such driver");
    return NULL;
}

rk_err *rk_torch_gpus_add(const char *proc, const char *sys, rk_buf *out) {
    RK_AUTO(gpus) found = {.file = "information", .line = "Model"};
    RK_TRY(list_gpus(&found, proc, "driver/nvidia/gpus"));
    found.file = "properties";
    found.line = "gfx_target_version";
    RK_TRY(list_gpus(&found, sys, "class/kfd/kfd/topology/nodes"));
    qsort(found.names, found.count, sizeof found.names[0], by_text);
    for (size_t i = 0; i < found.count; i++)
        if (i == 0 || strcmp(found.names[i], found.names[i - 1]) != 0)
            rk_buf_add_format(out, "%s%s", out->len ? ", " : "", found.names[i]);
    return rk_buf_status(out);
}

static rk_err *add_text(rk_components *list, rk_component_kind kind, const char *name,
                        const char *value) {
    return *value ? rk_components_add(list, kind, name, rk_span_text(value)) : NULL;
}

static rk_err *copy(const rk_components *from, const char *name, rk_components *list) {
    for (size_t i = 0; i < from->count; i++)
        if (strcmp(from->items[i].name, name) == 0)
            RK_TRY(rk_components_add(list, from->items[i].kind, name,
                                     rk_span_of(from->items[i].value, from->items[i].value_len)));
    return NULL;
}

static bool is_set(const char *value) {
    return value && value[0];
}

// A kernel for the CPU has the number of threads in its code, and torch's own keys do not have it:
// kernels of a machine with two CPUs would run on two threads everywhere.
static rk_err *add_threads(const rk_components *cpu, const rk_torch_variables *variables,
                           rk_components *list) {
    if (!is_set(variables->omp))
        RK_TRY(copy(cpu, "host.cpus", list));
    else
        RK_TRY(add_text(list, RK_COMPONENT_VARIABLE, "OMP_NUM_THREADS", variables->omp));
    return is_set(variables->mkl)
               ? add_text(list, RK_COMPONENT_VARIABLE, "MKL_NUM_THREADS", variables->mkl)
               : NULL;
}

// Of the CPU's properties, its features alone: kernels are compiled with -march=native, and others
// do not change what the compiler may generate.
static rk_err *add_cpu(const rk_torch_variables *variables, bool has_gpu, rk_components *list) {
    RK_AUTO(rk_components) cpu = {0};
    struct utsname system;
    RK_TRY(rk_host_cpu_add(&cpu));
    RK_TRY(copy(&cpu, "host.cpu_features", list));
    if (!has_gpu)
        RK_TRY(add_threads(&cpu, variables, list));
    return uname(&system) == 0
               ? add_text(list, RK_COMPONENT_TOPOLOGY, "host.machine", system.machine)
               : NULL;
}

// A library that was linked with a newer C library cannot be loaded with an older one.
static rk_err *add_tools(rk_components *list, const rk_torch_variables *variables,
                         bool *out_has_gpu) {
    RK_AUTO(rk_buf) compiler = {0};
    RK_AUTO(rk_buf) devices = {0};
    const char *cxx = variables->cxx && variables->cxx[0] ? variables->cxx : "g++";
    RK_TRY(rk_torch_compiler_add(cxx, variables->path, &compiler));
    RK_TRY(add_text(list, RK_COMPONENT_VERSION, "compiler.cxx", rk_buf_text(&compiler)));
    RK_TRY(add_text(list, RK_COMPONENT_VERSION, "libc", gnu_get_libc_version()));
    RK_TRY(rk_torch_gpus_add("/proc", "/sys", &devices));
    *out_has_gpu = devices.len > 0;
    return add_text(list, RK_COMPONENT_TOPOLOGY, "gpu", rk_buf_text(&devices));
}

rk_err *rk_torch_environment_read(const rk_torch_install *install,
                                  const rk_torch_variables *variables,
                                  rk_components *out_components) {
    const struct {
        const char *name, *value;
    } versions[] = {{"torch", install->version},   {"torch.git", install->git},
                    {"torch.cuda", install->cuda}, {"torch.hip", install->hip},
                    {"triton", install->triton},   {"python", install->python}};
    for (size_t i = 0; i < RK_ARRAY_LEN(versions); i++)
        RK_TRY(add_text(out_components, RK_COMPONENT_VERSION, versions[i].name, versions[i].value));
    bool has_gpu = false;
    RK_TRY(add_tools(out_components, variables, &has_gpu));
    RK_TRY(add_cpu(variables, has_gpu, out_components));
    rk_components_sort(out_components);
    return NULL;
}
