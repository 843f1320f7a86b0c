#include "probe/probe.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static bool has(const char *text, const char *part) {
    return text && strcasestr(text, part) != NULL;
}

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *remedy_for_library(const char *plugin, const char *error) {
    if (has(error, "No such file") && has(error, plugin))
        return "check the path; `pip show -f PACKAGE` lists where a package put its plugin";
    if (has(error, "cannot open shared object file"))
        return "install the library that the error names, or put its folder into LD_LIBRARY_PATH";
    if (has(error, "GLIBC") || has(error, "GLIBCXX"))
        return "the plugin is built for a newer system; use an older release of it, or a newer "
               "system";
    if (has(error, "wrong ELF class") || has(error, "invalid ELF header"))
        return "the file is for another machine, or is not a loadable library";
    if (has(error, "file too short"))
        return "the file is cut or empty; install the package of the plugin again";
    if (has(error, "Is a directory"))
        return "this is a folder; give the path of the plugin's library in it, a file that ends "
               "in .so";
    if (has(error, "GetPjrtApi"))
        return "give the path of the plugin itself, for example libtpu.so, xla_cuda_plugin.so or "
               "xla_cpu_pjrt.so; `pip show -f PACKAGE` lists the files of a package";
    return NULL;
}

// The name of the plugin indicates the hardware that it needs; its table does not.
static const char *remedy_for_client(const char *plugin) {
    const char *name = file_name(plugin);
    if (has(name, "tpu"))
        return "the plugin needs a TPU; this machine has none, or another process holds it. "
               "Without a TPU the plugin can only compile AOT for a topology. If it does not "
               "answer, it may be looking for Google Cloud's metadata server: set "
               "TPU_SKIP_MDS_QUERY=1";
    if (has(name, "cuda") || has(plugin, "cuda"))
        return "it needs an NVIDIA GPU and its driver (`nvidia-smi` must list it), and the CUDA "
               "libraries of the version it is built for";
    if (has(name, "rocm") || has(plugin, "rocm"))
        return "it needs an AMD GPU and its driver (`rocminfo` must list it)";
    return NULL;
}

const char *rk_probe_remedy(const char *plugin, const char *step, const char *error) {
    if (strcmp(step, RK_PROBE_LIBRARY) == 0)
        return remedy_for_library(plugin, error);
    if (strcmp(step, RK_PROBE_INITIALIZE) == 0 || strcmp(step, RK_PROBE_CLIENT) == 0)
        return remedy_for_client(plugin);
    if (strcmp(step, RK_PROBE_SERIALIZE) == 0 || strcmp(step, RK_PROBE_LOAD) == 0)
        return "the plugin fails to serialize or load executables; run jobs on it with "
               "REKINDLE_MODE=off";
    return NULL;
}
