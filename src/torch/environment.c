#include "torch/environment.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include "identity/host_cpu.h"
#include "identity/host_gpus.h"
#include "torch/compiler.h"

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
    RK_TRY(rk_host_gpus_add("/proc", "/sys", &devices));
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
