#include "pjrt/clients.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "pjrt/facts.h"
#include "pjrt/toolchain.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static rk_client *clients; // under the mutex; a node lives as long as its client

// The description of a client or a topology.
typedef struct description {
    rk_facts facts;
    rk_components components;
    char *path, *build_id; // of the plugin; owned
} description;

static void description_cleanup(description *d) {
    rk_facts_cleanup(&d->facts);
    rk_components_cleanup(&d->components);
    rk_free(d->path);
    rk_free(d->build_id);
}

static rk_err *describe_client(rk_client *client, const description *d) {
    const rk_facts *facts = &d->facts;
    client->has_all_devices =
        facts->device_count > 0 && facts->device_count == facts->addressable_device_count;
    client->is_cpu = rk_span_is(facts->facts.platform_name, "cpu");
    client->is_tpu = rk_span_is(facts->facts.platform_name, "tpu");
    client->device_count = facts->device_count;
    rk_components_digest(&d->components, &client->environment);
    rk_json json = rk_json_on(&client->components_json);
    rk_components_write(&d->components, &json);
    json = rk_json_on(&client->metadata_json);
    rk_json_member_text(&json, "platform", facts->facts.platform_name);
    rk_json_member_text(&json, "platform_version", facts->facts.platform_version);
    rk_json_member_string(&json, "plugin", d->path);
    rk_json_member_string(&json, "plugin_build_id", d->build_id);
    rk_json_key(&json, "pjrt_api");
    rk_buf_add_format(&client->metadata_json, "\"%d.%d\"", facts->facts.api_major,
                      facts->facts.api_minor);
    json.needs_comma = true;
    rk_json_member_uint(&json, "devices", facts->device_count);
    rk_json_member_uint(&json, "addressable_devices", facts->addressable_device_count);
    rk_json_key(&json, "toolchain");
    rk_toolchain_write(&json);
    RK_TRY(rk_buf_status(&client->components_json));
    return rk_buf_status(&client->metadata_json);
}

static void write_client(const rk_runtime *runtime, const rk_client *client, const description *d) {
    const rk_facts *facts = &d->facts;
    if (!client->keyed)
        return;
    rk_journal_add_client(runtime->journal,
                          &(rk_journal_client){
                              .client = client->number,
                              .ahead_of_time = !client->handle,
                              .plugin = d->path,
                              .build_id = d->build_id,
                              .platform_name = facts->facts.platform_name,
                              .platform_version = facts->facts.platform_version,
                              .api_major = facts->facts.api_major,
                              .api_minor = facts->facts.api_minor,
                              .device_count = facts->device_count,
                              .addressable_device_count = facts->addressable_device_count,
                              .environment = &client->environment,
                              .components_json = rk_buf_span(&client->components_json),
                          });
}

// Either `args` or `topology` is NULL.
static rk_err *identify_client(const rk_runtime *runtime, rk_client *client,
                               const PJRT_Client_Create_Args *args,
                               const PJRT_TopologyDescription *topology, description *d) {
    const PJRT_Api *api = client->plugin->real;
    RK_TRY(args ? rk_facts_gather(api, args->client, &d->facts)
                : rk_facts_gather_described(api, topology, &d->facts));
    if (args)
        RK_TRY(rk_facts_gather_options(args, &d->facts));
    rk_plugin_facts *facts = &d->facts.facts;
    if (runtime->publisher && rk_store_accepts(runtime->store))
        facts->memo_store = rk_store_directory(runtime->store);
    RK_TRY(rk_plugin_identify(facts->code_address, &d->path, &d->build_id));
    RK_TRY(rk_environment_collect(facts, runtime->settings->key_ignore, &d->components));
    RK_TRY(describe_client(client, d));
    client->keyed = true;
    return NULL;
}

static void free_client(rk_client *client) {
    rk_buf_cleanup(&client->components_json);
    rk_buf_cleanup(&client->metadata_json);
    rk_free(client);
}

static rk_client *new_client(rk_plugin *plugin, PJRT_Client *handle) {
    rk_client *client = rk_calloc(1, sizeof *client);
    if (!client)
        return NULL;
    client->handle = handle;
    client->plugin = plugin;
    return client;
}

void rk_clients_add(rk_client *client) {
    (void)pthread_mutex_lock(&mutex);
    client->next = clients;
    clients = client;
    (void)pthread_mutex_unlock(&mutex);
}

static uint64_t next_client_number(void) {
    static atomic_uint_fast64_t count;
    return atomic_fetch_add(&count, 1) + 1;
}

rk_client *rk_clients_new(const rk_runtime *runtime, rk_plugin *plugin,
                          const PJRT_Client_Create_Args *args) {
    rk_client *client = new_client(plugin, args->client);
    if (!client)
        return NULL;
    RK_AUTO(description) d = {0};
    client->number = next_client_number();
    rk_err *err = identify_client(runtime, client, args, NULL, &d);
    write_client(runtime, client, &d);
    if (err)
        rk_warn_once(
            RK_WARNING_KEY,
            rk_err_wrap(err, "no key could be made for this client; its programs are not stored"));
    return client;
}

// Returns the target that is equal to `client`, and the number of all targets.
static const rk_client *find_target(const rk_client *client, size_t *out_count) {
    const rk_client *found = NULL;
    *out_count = 0;
    (void)pthread_mutex_lock(&mutex);
    for (const rk_client *one = clients; one; one = one->next) {
        if (one->handle)
            continue;
        ++*out_count;
        if (one->plugin == client->plugin && one->keyed == client->keyed &&
            rk_digest_equal(&one->environment, &client->environment))
            found = one;
    }
    (void)pthread_mutex_unlock(&mutex);
    return found;
}

// A topology's destruction is not visible here, so its handle identifies nothing. Each topology is
// queried again, and its description identifies the target.
const rk_client *rk_clients_target(const rk_runtime *runtime, rk_plugin *plugin,
                                   const PJRT_TopologyDescription *topology) {
    enum { TARGETS_MAX = 1024 };
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    rk_client *client = new_client(plugin, NULL);
    if (!client)
        return NULL;
    RK_AUTO(description) d = {0};
    size_t count;
    (void)pthread_mutex_lock(&one_at_a_time);
    rk_err *err = identify_client(runtime, client, NULL, topology, &d);
    const rk_client *found = find_target(client, &count);
    if (found || count == TARGETS_MAX) {
        free_client(client);
    } else {
        client->number = next_client_number();
        write_client(runtime, client, &d);
        rk_clients_add(client);
        found = client;
    }
    (void)pthread_mutex_unlock(&one_at_a_time);
    if (err)
        rk_warn_once(
            RK_WARNING_KEY,
            rk_err_wrap(err,
                        "no key could be made for this topology; its programs are not stored"));
    return found;
}

const rk_client *rk_clients_find(const rk_plugin *plugin, const PJRT_Client *handle) {
    (void)pthread_mutex_lock(&mutex);
    const rk_client *client = handle ? clients : NULL;
    while (client && (client->handle != handle || client->plugin != plugin))
        client = client->next;
    (void)pthread_mutex_unlock(&mutex);
    return client;
}

size_t rk_clients_list(const rk_plugin *plugin, rk_client_name *out_clients, size_t max) {
    size_t count = 0;
    (void)pthread_mutex_lock(&mutex);
    for (const rk_client *client = clients; client && count < max; client = client->next)
        if (client->handle && client->plugin == plugin)
            out_clients[count++] = (rk_client_name){client->handle, client->number};
    (void)pthread_mutex_unlock(&mutex);
    return count;
}

void rk_clients_remove(const rk_plugin *plugin, const PJRT_Client *handle) {
    (void)pthread_mutex_lock(&mutex);
    for (rk_client **link = &clients; *link; link = &(*link)->next) {
        rk_client *client = *link;
        if (client->handle == handle && client->plugin == plugin) {
            *link = client->next;
            free_client(client);
            break;
        }
    }
    (void)pthread_mutex_unlock(&mutex);
}
