#include "jax/install.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"

enum { NAMES_MAX = 1 << 16, PLUGINS_MAX = 64 };

void rk_jax_install_cleanup(rk_jax_install *install) {
    for (size_t i = 0; i < install->plugin_count; i++) {
        rk_free(install->plugins[i].name);
        rk_free(install->plugins[i].version);
    }
    rk_free(install->plugins);
    rk_free(install->folder);
    rk_free(install->jax);
    rk_free(install->jaxlib);
    *install = (rk_jax_install){0};
}

// "" if the package is not there.
static rk_err *read_version(const char *folder, const char *file, char **out_version) {
    // The release, else what a checkout says; older versions of jaxlib have the last one only.
    static const char *const names[] = {"_release_version", "_version", "__version__"};
    RK_AUTO(rk_buf) text = RK_BUF_INIT(RK_PYTHON_FILE_MAX_BYTES + 4096);
    RK_TRY(rk_python_read_text(folder, file, &text));
    for (size_t i = 0; i < RK_ARRAY_LEN(names); i++) {
        rk_free(*out_version);
        RK_TRY(rk_python_take_value(rk_buf_text(&text), names[i], out_version));
        if ((*out_version)[0])
            break;
    }
    return NULL;
}

// The name of a package, as folders "….dist-info" have it.
static bool is_plugin(rk_span name) {
    static const char *const others[] = {"libtpu", "libtpu_nightly", "jax_metal",
                                         "intel_extension_for_openxla", "xla_cpu_pjrt"};
    if (rk_span_starts(name, "jax_") &&
        (rk_span_ends(name, "_plugin") || rk_span_ends(name, "_pjrt")))
        return true;
    for (size_t i = 0; i < RK_ARRAY_LEN(others); i++)
        if (rk_span_is(name, others[i]))
            return true;
    return false;
}

// Adds the plugin of a folder like "jax_cuda12_plugin-0.10.2.dist-info".
static rk_err *visit_package(void *context, const char *name) {
    static const char suffix[] = ".dist-info";
    rk_jax_install *install = context;
    size_t len = strlen(name), name_len = strcspn(name, "-");
    if (!rk_text_ends(name, suffix) || name_len + sizeof suffix >= len ||
        !is_plugin(rk_span_of(name, name_len)) || install->plugin_count == PLUGINS_MAX)
        return NULL;
    rk_jax_plugin *plugins =
        rk_realloc(install->plugins, (install->plugin_count + 1) * sizeof *plugins);
    if (!plugins)
        return rk_err_no_memory();
    install->plugins = plugins;
    rk_jax_plugin *one = &plugins[install->plugin_count++];
    *one = (rk_jax_plugin){
        .name = rk_strndup(name, name_len),
        .version = rk_strndup(name + name_len + 1, len - name_len - 1 - (sizeof suffix - 1)),
    };
    return one->name && one->version ? NULL : rk_err_no_memory();
}

static rk_err *list_plugins(rk_jax_install *install) {
    rk_err *err = rk_fs_list(install->folder, NAMES_MAX, visit_package, install);
    if (rk_err_code(err) == RK_RESOURCE_EXHAUSTED)
        return err;
    rk_err_drop(err, "the plugins are not known then");
    return NULL;
}

static rk_err *find_compression(const char *folder, const char *python, const char **out_name) {
    enum { FIRST_MINOR = 14 }; // with compression.zstd
    struct stat info;
    rk_autofree char *package = rk_path_join(folder, "zstandard/__init__.py");
    if (!package)
        return rk_err_no_memory();
    bool has_zstd = strncmp(python, "3.", 2) == 0 && strtoul(python + 2, NULL, 10) >= FIRST_MINOR;
    *out_name = has_zstd ? "zstd" : stat(package, &info) == 0 ? "zstandard" : "zlib";
    return NULL;
}

// JAX lists the options that do not count. If the list cannot be read, the folder counts.
static rk_err *find_ignored(const char *folder, bool *out_ignores) {
    RK_AUTO(rk_buf) text = RK_BUF_INIT(RK_PYTHON_FILE_MAX_BYTES + 4096);
    RK_TRY(rk_python_read_text(folder, "jax/_src/cache_key.py", &text));
    *out_ignores = strstr(rk_buf_text(&text), "xla_gpu_per_fusion_autotune_cache_dir") != NULL;
    return NULL;
}

static rk_err *look(void *context, const char *folder, const char *version, bool *out_found) {
    rk_jax_install *out = context;
    RK_AUTO(rk_jax_install) found = {0};
    RK_TRY(read_version(folder, "jax/version.py", &found.jax));
    if (!found.jax[0])
        return NULL;
    RK_TRY(read_version(folder, "jaxlib/version.py", &found.jaxlib));
    found.folder = rk_strdup(folder);
    if (!found.folder)
        return rk_err_no_memory();
    RK_TRY(list_plugins(&found));
    RK_TRY(find_compression(folder, version, &found.compression));
    RK_TRY(find_ignored(folder, &found.ignores_folder_of_xla));
    *out = found;
    found = (rk_jax_install){0};
    *out_found = true;
    return NULL;
}

rk_err *rk_jax_install_find(const rk_python_where *where, rk_jax_install *out_install,
                            bool *out_found) {
    return rk_python_packages_search(where, look, out_install, out_found);
}
