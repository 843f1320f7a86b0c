#include "pjrt/toolchain.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fs.h"

enum { FOLDERS_MAX = 8, ENTRIES_MAX = 1 << 14, PATH_MAX_BYTES = 4096 };

// Packages whose versions decide which programs are made. A framework is recorded only if the
// process has loaded one of its libraries (from the named folder). Another package is a library
// whose code becomes part of programs.
static const struct {
    const char *name, *folder;
} packages[] = {
    {"jax", "jaxlib/"},      {"jaxlib", "jaxlib/"},  {"libtpu", "libtpu/"}, {"torch", "torch/"},
    {"torch_xla", "torch/"}, {"flax", NULL},         {"optax", NULL},       {"equinox", NULL},
    {"keras", NULL},         {"diffrax", NULL},      {"dm_haiku", NULL},    {"optimistix", NULL},
    {"lineax", NULL},        {"numpyro", NULL},      {"brax", NULL},        {"distrax", NULL},
    {"blackjax", NULL},      {"transformers", NULL},
};

typedef struct folders {
    char paths[FOLDERS_MAX][PATH_MAX_BYTES]; // ".../site-packages"
    size_t count;
    bool loaded[RK_ARRAY_LEN(packages)]; // a library of the package is loaded
} folders;

static bool is_known(const folders *list, const char *path, size_t len) {
    for (size_t i = 0; i < list->count; i++)
        if (strlen(list->paths[i]) == len && memcmp(list->paths[i], path, len) == 0)
            return true;
    return false;
}

// `part`: path of a library, from the folder of its package on.
static void note_loaded(folders *list, const char *part) {
    for (size_t i = 0; i < RK_ARRAY_LEN(packages); i++)
        if (packages[i].folder &&
            strncmp(part, packages[i].folder, strlen(packages[i].folder)) == 0)
            list->loaded[i] = true;
}

// Records the folder in which a library's package is installed. Each package's libraries are in a
// folder of their own below it.
static int note_library(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    folders *list = context;
    static const char *const places[] = {"/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < RK_ARRAY_LEN(places); i++) {
        const char *found = info->dlpi_name ? strstr(info->dlpi_name, places[i]) : NULL;
        if (!found)
            continue;
        size_t len = (size_t)(found - info->dlpi_name) + strlen(places[i]) - 1;
        note_loaded(list, info->dlpi_name + len + 1);
        if (list->count < FOLDERS_MAX && len < PATH_MAX_BYTES &&
            !is_known(list, info->dlpi_name, len)) {
            memcpy(list->paths[list->count], info->dlpi_name, len);
            list->paths[list->count++][len] = '\0';
        }
    }
    return 0;
}

typedef struct writer {
    rk_json *json;
    const folders *folders;
    bool written[RK_ARRAY_LEN(packages)];
} writer;

// Parses a folder name like "jaxlib-0.10.2.dist-info".
static rk_err *note_package(void *context, const char *name) {
    writer *w = context;
    static const char suffix[] = ".dist-info";
    size_t len = strlen(name);
    if (len <= sizeof suffix || strcmp(name + len - (sizeof suffix - 1), suffix) != 0)
        return NULL;
    const char *dash = strchr(name, '-');
    size_t end = len - (sizeof suffix - 1);
    for (size_t i = 0; dash && i < RK_ARRAY_LEN(packages); i++) {
        size_t wanted = strlen(packages[i].name);
        if (w->written[i] || (size_t)(dash - name) != wanted ||
            memcmp(name, packages[i].name, wanted) != 0 || end <= wanted + 1 ||
            (packages[i].folder && !w->folders->loaded[i]))
            continue;
        w->written[i] = true;
        rk_json_member_text(w->json, packages[i].name, rk_span_of(dash + 1, end - wanted - 1));
    }
    return NULL;
}

// Parses a path like "/lib/python3.11/site-packages".
static void write_python(rk_json *json, const folders *list) {
    static const char part[] = "/python";
    for (size_t i = 0; i < list->count; i++) {
        const char *found = strstr(list->paths[i], "/lib/python");
        const char *version = found ? found + 4 + sizeof part - 1 : NULL;
        size_t len = version ? strspn(version, "0123456789.") : 0;
        if (!len)
            continue;
        rk_json_member_text(json, "python", rk_span_of(version, len));
        return;
    }
}

static void note_folder(writer *w, const char *path) {
    rk_err_drop(rk_fs_list(path, ENTRIES_MAX, note_package, w),
                "versions that cannot be found out are not known");
}

// Python searches the folders of PYTHONPATH before those of installed packages.
static void note_python_path(writer *w) {
    const char *rest = getenv("PYTHONPATH");
    for (size_t i = 0; rest && *rest && i < FOLDERS_MAX; i++) {
        char path[PATH_MAX_BYTES];
        size_t len = strcspn(rest, ":");
        if (len && len < sizeof path) {
            memcpy(path, rest, len);
            path[len] = '\0';
            note_folder(w, path);
        }
        rest += len + (rest[len] == ':');
    }
}

void rk_toolchain_write(rk_json *json) {
    folders list = {.count = 0};
    writer w = {.json = json, .folders = &list};
    (void)dl_iterate_phdr(note_library, &list);
    rk_json_begin_object(json);
    write_python(json, &list);
    note_python_path(&w);
    for (size_t i = 0; i < list.count; i++)
        note_folder(&w, list.paths[i]);
    rk_json_end_object(json);
}
