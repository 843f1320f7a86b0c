#include "pjrt/subset.h"

#include <stdlib.h>

// The placement on devices that the options describe.
typedef struct placement {
    size_t devices;  // in the device assignment; 0: there is none
    long long first; // id of its first device
    long long ordinal;
} placement;

// Adds a field like "4,5,6,7", the device ids of one computation's replicas.
static void add_ids(placement *place, const rk_component *field) {
    if (field->value_len == 0)
        return;
    if (place->devices == 0)
        place->first = strtoll(field->value, NULL, 10);
    place->devices++;
    for (size_t i = 0; i < field->value_len; i++)
        place->devices += field->value[i] == ',';
}

static placement read_placement(const rk_components *options) {
    static const char devices[] = "executable_build_options.device_assignment.computation_devices[";
    placement place = {0};
    for (size_t i = 0; i < options->count; i++) {
        const rk_component *field = &options->items[i];
        if (strncmp(field->name, devices, sizeof devices - 1) == 0 &&
            rk_text_ends(field->name, "].replica_device_ids"))
            add_ids(&place, field);
        else if (strcmp(field->name, "executable_build_options.device_ordinal") == 0)
            place.ordinal = strtoll(field->value, NULL, 10);
    }
    return place;
}

bool rk_subset_is_unproved(const rk_client *client, const rk_components *options) {
    if (!client->is_tpu)
        return false;
    placement place = read_placement(options);
    if (place.devices == 0) // an ordinal of -1 means none
        return place.ordinal > 0;
    return place.first != 0 && place.devices < client->device_count;
}
