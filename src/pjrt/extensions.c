#include "pjrt/extensions.h"

#include "base/alloc.h"

enum { CHAIN_MAX = 64, NODE_MAX_BYTES = 4096 };

// The part of PJRT_Xla_Transform_Extension that rekindle needs: the base, then the registering
// function.
typedef struct transform_extension {
    PJRT_Extension_Base base;
    rk_pjrt_any_fn *register_transform;
} transform_extension;

static rk_pjrt_any_fn *real_register[RK_PLUGIN_SLOTS];

static PJRT_Error *register_in(int slot, void *args) {
    // Nothing is stored from now on, even after the transform is unregistered: it may have changed
    // earlier compilations.
    atomic_store(&rk_plugin_slots[slot].xla_transformed, true);
    return real_register[slot](args);
}

#define REGISTER(n)                                                                                \
    static PJRT_Error *register_##n(void *args) {                                                  \
        return register_in(n, args);                                                               \
    }
RK_FOR_EACH_SLOT(REGISTER)
#define REGISTER_NAME(n) register_##n,
static rk_pjrt_any_fn *const registers[RK_PLUGIN_SLOTS] = {RK_FOR_EACH_SLOT(REGISTER_NAME)};

static size_t position_of_transform(const PJRT_Extension_Base *node) {
    for (size_t i = 0; node && i < CHAIN_MAX; node = node->next, i++) {
        if (node->struct_size < sizeof *node || node->struct_size > NODE_MAX_BYTES)
            return CHAIN_MAX;
        if ((int)node->type == RK_PJRT_EXTENSION_XLA_TRANSFORM)
            return node->struct_size >= sizeof(transform_extension) ? i : CHAIN_MAX;
    }
    return CHAIN_MAX;
}

static PJRT_Extension_Base *copy_of(const PJRT_Extension_Base *node) {
    PJRT_Extension_Base *copy = rk_malloc(node->struct_size);
    if (copy)
        memcpy(copy, node, node->struct_size);
    return copy;
}

void rk_extensions_watch(rk_plugin *plugin) {
    const PJRT_Extension_Base *node = plugin->real->extension_start;
    size_t last = position_of_transform(node);
    if (last == CHAIN_MAX)
        return;
    // The copies live as long as the process, like the plugin's own nodes.
    PJRT_Extension_Base *first = NULL, **link = &first;
    for (size_t i = 0; i <= last; i++, node = node->next) {
        PJRT_Extension_Base *copy = copy_of(node);
        if (!copy)
            return; // leaves the chain unwatched, but intact
        *link = copy;
        link = &copy->next;
        if (i == last) {
            transform_extension *transform = (transform_extension *)(void *)copy;
            real_register[plugin->slot] = transform->register_transform;
            transform->register_transform = registers[plugin->slot];
        }
    }
    plugin->wrapped->extension_start = first;
}

const PJRT_Extension_Base *rk_extensions_unknown(const PJRT_Extension_Base *start) {
    const PJRT_Extension_Base *node = start;
    for (size_t i = 0; node && i < CHAIN_MAX; node = node->next, i++)
        if (node->struct_size < sizeof *node || node->type != PJRT_Extension_Type_Profiler)
            return node;
    return node;
}
