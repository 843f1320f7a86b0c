#include "jax/environment.h"

#include <sys/utsname.h>

#include "identity/host_cpu.h"
#include "identity/host_gpus.h"

static rk_err *add_text(rk_components *list, rk_component_kind kind, const char *name,
                        const char *value) {
    return *value ? rk_components_add(list, kind, name, rk_span_text(value)) : NULL;
}

static rk_err *add_versions(rk_components *list, const rk_jax_install *install) {
    const struct {
        const char *name, *value;
    } versions[] = {{"jax", install->jax},
                    {"jaxlib", install->jaxlib},
                    {"jax.compression", install->compression}};
    for (size_t i = 0; i < RK_ARRAY_LEN(versions); i++)
        RK_TRY(add_text(list, RK_COMPONENT_VERSION, versions[i].name, versions[i].value));
    for (size_t i = 0; i < install->plugin_count; i++)
        RK_TRY(add_text(list, RK_COMPONENT_VERSION, install->plugins[i].name,
                        install->plugins[i].version));
    return NULL;
}

static rk_err *add_host(rk_components *list) {
    RK_AUTO(rk_components) cpu = {0};
    RK_AUTO(rk_buf) gpus = {0};
    struct utsname system;
    RK_TRY(rk_host_cpu_add(&cpu));
    for (size_t i = 0; i < cpu.count; i++)
        if (strcmp(cpu.items[i].name, "host.cpu_features") == 0)
            RK_TRY(rk_components_add(list, cpu.items[i].kind, cpu.items[i].name,
                                     rk_span_of(cpu.items[i].value, cpu.items[i].value_len)));
    RK_TRY(rk_host_gpus_add("/proc", "/sys", &gpus));
    RK_TRY(add_text(list, RK_COMPONENT_TOPOLOGY, "gpu", rk_buf_text(&gpus)));
    return uname(&system) == 0
               ? add_text(list, RK_COMPONENT_TOPOLOGY, "host.machine", system.machine)
               : NULL;
}

bool rk_jax_keys_have_path(const char *xla_caches) {
    return !xla_caches || strcmp(xla_caches, "all") == 0 ||
           strstr(xla_caches, "xla_gpu_per_fusion_autotune_cache_dir") ||
           strstr(xla_caches, "xla_gpu_kernel_cache_file");
}

void rk_jax_path_add(const char *path, rk_buf *out) {
    size_t slashes = strspn(path, "/");
    bool is_empty = true;
    rk_buf_add_text(out, slashes == 2 ? "//" : slashes ? "/" : "");
    while (*path) {
        size_t len = strcspn(path, "/");
        if (len > 1 || (len == 1 && path[0] != '.')) {
            rk_buf_add_text(out, is_empty ? "" : "/");
            rk_buf_add(out, path, len);
            is_empty = false;
        }
        path += len + (path[len] == '/');
    }
    if (is_empty && !slashes)
        rk_buf_add_text(out, ".");
}

rk_err *rk_jax_environment_read(const rk_jax_install *install, const char *path,
                                rk_components *out_components) {
    RK_AUTO(rk_buf) directory = {0};
    if (path)
        rk_jax_path_add(path, &directory);
    RK_TRY(rk_buf_status(&directory));
    RK_TRY(
        add_text(out_components, RK_COMPONENT_VARIABLE, RK_JAX_DIRECTORY, rk_buf_text(&directory)));
    RK_TRY(add_versions(out_components, install));
    RK_TRY(add_host(out_components));
    rk_components_sort(out_components);
    return NULL;
}
