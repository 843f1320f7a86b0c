#include "diagnose/diff/source.h"

#include <inttypes.h>

// Locations are trees with shared parts. A walk visits at most STEPS_MAX nodes, with at most
// OPEN_MAX nodes pending, and uses what it found until then.
enum { STEPS_MAX = 4096, OPEN_MAX = 64 };

static bool contains(rk_span text, const char *part) {
    return text.len && memmem(text.data, text.len, part, strlen(part)) != NULL;
}

// Returns what follows the first folder of this name, from its slash on; empty if there is no such
// folder. (Faster than memmem, which prepares a table for each search.)
static rk_span after_folder(rk_span path, const char *name) {
    const size_t len = strlen(name);
    if (!path.len) // without a path, no pointer arithmetic
        return (rk_span){0};
    const uint8_t *end = path.data + path.len, *at = memchr(path.data, '/', path.len);
    for (; at; at = memchr(at + 1, '/', (size_t)(end - at) - 1))
        if ((size_t)(end - at) > len + 1 && at[1] == (uint8_t)name[0] && at[len + 1] == '/' &&
            memcmp(at + 1, name, len) == 0)
            return rk_span_of(at + len + 1, (size_t)(end - at) - len - 1);
    return (rk_span){0};
}

static bool begins(const uint8_t *at, size_t left, const char *part, size_t len) {
    return left > len && memcmp(at, part, len) == 0;
}

// PyTorch Geometric writes a module for each kind of layer into the folder for temporary files.
#define GENERATED "torch_geometric."

// Packages may lie in another folder, as `pip install --target` or an editable installation makes
// it. These are folders inside of packages that no job has; the last one is the beginning of a
// file's name.
static bool is_inside_of_package(const uint8_t *at, size_t left) {
    static const char *const inner[] = {
        "jax/_src/",    "flax/linen/",     "flax/nnx/",           "flax/core/",
        "keras/src/",   "optax/_src/",     "haiku/_src/",         "rlax/_src/",
        "chex/_src/",   "distrax/_src/",   "equinox/nn/",         "numpyro/infer/",
        "diffrax/_",    "lineax/_",        "optimistix/_",        "torch/nn/",
        "torch/optim/", "torch_xla/core/", "torchvision/models/", "torchvision/transforms/",
        GENERATED,
    };
    for (size_t k = 0; k < RK_ARRAY_LEN(inner); k++)
        if (at[0] == (uint8_t)inner[k][0] && at[1] == (uint8_t)inner[k][1] &&
            begins(at, left, inner[k], strlen(inner[k])))
            return true;
    return false;
}

// One pass over the folders, because each operation of a program has several paths.
rk_span rk_file_installed_part(rk_span path) {
    static const char site[] = "site-packages/", dist[] = "dist-packages/";
    static const bool is_first['z' + 1] = {
        // of the packages above
        ['c'] = true, ['d'] = true, ['e'] = true, ['f'] = true, ['h'] = true, ['j'] = true,
        ['k'] = true, ['l'] = true, ['n'] = true, ['o'] = true, ['r'] = true, ['t'] = true};
    rk_span in_dist = {0}, known = {0};
    if (!path.len)
        return (rk_span){0};
    const uint8_t *end = path.data + path.len, *at = memchr(path.data, '/', path.len);
    while (at && end - at > 2) {
        size_t left = (size_t)(end - ++at);
        if (begins(at, left, site, sizeof site - 1))
            return rk_span_of(at + sizeof site - 1, left - sizeof site + 1);
        if (!in_dist.len && begins(at, left, dist, sizeof dist - 1))
            in_dist = rk_span_of(at + sizeof dist - 1, left - sizeof dist + 1);
        else if (!known.len && at[0] <= 'z' && is_first[at[0]] && is_inside_of_package(at, left))
            known = rk_span_of(at, left);
        at = memchr(at, '/', left);
    }
    return in_dist.len ? in_dist : known;
}

// Returns whether a file is of Python itself ("/usr/lib/python3.11/runpy.py").
static bool is_of_python(rk_span path) {
    static const char start[] = "/python3.";
    for (rk_span rest = path; (rest = after_folder(rest, "lib")).len;)
        if (rest.len >= sizeof start - 1 && memcmp(rest.data, start, sizeof start - 1) == 0)
            return true;
    return false;
}

// Packages whose source lines do not help their users.
static bool is_framework(rk_span part) {
    static const char *const packages[] = {
        "jax",       "jaxlib",  "flax",    "optax",     "equinox",    "haiku",
        "orbax",     "chex",    "numpyro", "jaxtyping", "torch",      "torch_xla",
        "functorch", "torchax", "numpy",   "keras",     "tensorflow", "lineax",
        "diffrax",   "paxml",   "praxis",  "penzai",    "ninjax",
    };
    for (size_t i = 0; i < RK_ARRAY_LEN(packages); i++) {
        size_t len = strlen(packages[i]);
        if (part.len > len && memcmp(part.data, packages[i], len) == 0 && part.data[len] == '/')
            return true;
    }
    return false;
}

rk_file_owner rk_file_owner_of(rk_span path) {
    rk_span part = rk_file_installed_part(path);
    if (part.len)
        return is_framework(part) ? RK_FILE_FRAMEWORK : RK_FILE_PACKAGE;
    if (!path.len || path.data[0] == '<') // "<frozen runpy>", "<string>"
        return contains(path, "<string>") || contains(path, "<stdin>") || contains(path, "<ipython")
                   ? RK_FILE_USER
                   : RK_FILE_FRAMEWORK;
    return is_of_python(path) ? RK_FILE_FRAMEWORK : RK_FILE_USER;
}

rk_span rk_source_package(rk_span path) {
    rk_span part = rk_file_installed_part(path);
    const uint8_t *end = part.len ? memchr(part.data, '/', part.len) : NULL;
    if (!end && begins(part.data, part.len, GENERATED, sizeof GENERATED - 1))
        end = part.data + sizeof GENERATED - 2;
    return end ? rk_span_of(part.data, (size_t)(end - part.data)) : (rk_span){0};
}

bool rk_source_is_from(const rk_model *model, const char *package) {
    if (strncmp(package, "dm_", 3) == 0) // "dm_haiku" installs "haiku"
        package += 3;
    for (uint32_t i = 0; i < model->nodes.count; i++) {
        const rk_node *node = &model->nodes.items[i];
        if (node->kind == RK_NODE_LOC_FILE && rk_span_is(rk_source_package(node->bytes), package))
            return true;
    }
    return false;
}

// A walk over the frames of a location, the innermost first.
typedef struct walk {
    const rk_model *model;
    uint32_t open[OPEN_MAX]; // nodes to visit, the next one last
    uint32_t count, steps;
} walk;

static void push(walk *w, uint32_t node) {
    if (w->count < OPEN_MAX && node != RK_NO_ID)
        w->open[w->count++] = node;
}

static rk_source frame_of(const rk_node *file, rk_span function) {
    return (rk_source){
        .file = file->bytes, .function = function, .line = (uint32_t)(file->value >> 32)};
}

static bool is_location(const rk_node *node) {
    return node->kind >= RK_NODE_LOC_UNKNOWN && node->kind <= RK_NODE_LOC_FUSED;
}

// Finds the next frame. Its function is the name location directly around the file location. False
// at the end.
static bool next_frame(walk *w, rk_source *out_place) {
    const rk_model *m = w->model;
    while (w->count && w->steps++ < STEPS_MAX) {
        const rk_node *node = &m->nodes.items[w->open[--w->count]];
        const rk_field *fields = node->field_count ? &m->fields.items[node->first_field] : NULL;
        if (node->kind == RK_NODE_LOC_FILE) {
            *out_place = frame_of(node, (rk_span){0});
            return true;
        }
        if (node->kind == RK_NODE_LOC_NAME && fields) {
            const rk_node *inner = &m->nodes.items[fields->node];
            if (inner->kind == RK_NODE_LOC_FILE) {
                *out_place = frame_of(inner, node->bytes);
                return true;
            }
        }
        // Pushed in reverse order: a callee comes before its caller, and the first of fused
        // locations before the others.
        for (uint32_t i = is_location(node) ? node->field_count : 0; i-- > 0;)
            push(w, fields[i].node);
    }
    return false;
}

bool rk_source_of(const rk_model *model, uint32_t location, rk_source *out_place) {
    walk w = {.model = model};
    rk_source frame, found = {0};
    rk_file_owner best = RK_FILE_FRAMEWORK;
    push(&w, location);
    while (best != RK_FILE_USER && next_frame(&w, &frame)) {
        rk_file_owner owner = rk_file_owner_of(frame.file);
        if (owner > best) {
            best = owner;
            found = frame;
        }
    }
    found.model = model;
    found.location = location;
    *out_place = found;
    return best != RK_FILE_FRAMEWORK;
}

uint32_t rk_source_frames(const rk_model *model, uint32_t location, rk_file_owner least,
                          rk_source *out_frames, uint32_t max) {
    walk w = {.model = model};
    rk_source frame;
    uint32_t count = 0;
    push(&w, location);
    while (count < max && next_frame(&w, &frame))
        if (frame.file.len && rk_file_owner_of(frame.file) >= least)
            out_frames[count++] = frame;
    return count;
}

void rk_path_read(const rk_model *model, uint32_t op, rk_file_owner least, rk_path *out_path) {
    out_path->count = rk_source_frames(model, model->ops.items[op].location, least,
                                       out_path->frames, RK_PATH_MAX);
}

void rk_path_keep_shared(rk_path *path, const rk_path *other) {
    uint32_t same = 0;
    while (same < other->count && same < path->count &&
           rk_source_same_line(&other->frames[other->count - 1 - same],
                               &path->frames[path->count - 1 - same]))
        same++;
    memmove(path->frames, path->frames + path->count - same, same * sizeof *path->frames);
    path->count = same;
}

rk_span rk_source_scope(const rk_model *model, uint32_t location) {
    for (uint32_t steps = 0; location != RK_NO_ID && steps < STEPS_MAX; steps++) {
        const rk_node *node = &model->nodes.items[location];
        if (node->kind == RK_NODE_LOC_NAME)
            return node->bytes;
        if (node->kind == RK_NODE_LOC_FILE || !is_location(node) || !node->field_count)
            break;
        location = model->fields.items[node->first_field].node;
    }
    return (rk_span){0};
}

void rk_source_write(const rk_source *place, rk_buf *out) {
    if (!place->file.len)
        return;
    rk_buf_add_span(out, place->file);
    rk_buf_add_format(out, ":%" PRIu32, place->line);
}
