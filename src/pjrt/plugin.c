#include "pjrt/plugin.h"

rk_plugin rk_plugin_slots[RK_PLUGIN_SLOTS];
static atomic_int slots_used;

rk_plugin *rk_plugin_at(int slot) {
    return slot < atomic_load_explicit(&slots_used, memory_order_acquire) ? &rk_plugin_slots[slot]
                                                                          : NULL;
}

int rk_plugin_count(void) {
    return atomic_load_explicit(&slots_used, memory_order_acquire);
}

void rk_plugin_publish(int slot) {
    atomic_store_explicit(&slots_used, slot + 1, memory_order_release);
}
