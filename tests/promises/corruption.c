// One entry, damaged in many ways. No damaged entry reaches the plugin; each is quarantined, and
// the next compilation replaces it. Size: number of sampled bit flips in the payload.
#include "promise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/sign.h"
#include "cache/cache.h"

enum { KEY = 1, OTHER_KEY = 2, VARIANTS = 1, BYTES = 4000, HEAD_BYTES = 256 };

static rk_store *store;
static char path[4096], other_path[4096];
static uint8_t *sound; // the bytes of the valid entry
static size_t sound_len;

// The plugin, which counts its loads.
static unsigned loads;
static int handle;

static rk_err *load(void *context, const rk_entry *entry, void **out_handle) {
    (void)context;
    (void)entry;
    loads++;
    *out_handle = &handle;
    return NULL;
}

static rk_answer look_up(unsigned key) {
    rk_key name = promise_key(key);
    const rk_loader loader = {NULL, load, NULL};
    rk_answer answer;
    rk_cache_lookup(store, &name, &loader, &answer);
    return answer;
}

static void store_entry(unsigned key) {
    rk_entry entry = promise_entry(key, 0, BYTES);
    promise_ok(rk_store_put(store, &entry, NULL), "put");
}

typedef struct tally {
    unsigned cases, reached_plugin, left_in_place, not_repaired;
} tally;

// The file of the entry is damaged. Damage to the version field looks like an entry of another
// version: that is a miss, and the entry stays until it is replaced.
static void check_spoiled(tally *sum) {
    loads = 0;
    rk_answer answer = look_up(KEY);
    sum->cases++;
    sum->reached_plugin += loads != 0 || answer.miss == RK_MISS_NONE;
    bool aside = answer.quarantined && access(path, F_OK) != 0;
    sum->left_in_place += !aside && answer.miss != RK_MISS_UNKNOWN_VERSION;
    rk_answer_cleanup(&answer);
    store_entry(KEY);
    answer = look_up(KEY);
    sum->not_repaired += answer.miss != RK_MISS_NONE || loads != 1;
    rk_answer_cleanup(&answer);
}

static void flip(size_t bit, tally *sum) {
    sound[bit / 8] ^= (uint8_t)(1u << bit % 8);
    promise_write_file(path, sound, sound_len);
    sound[bit / 8] ^= (uint8_t)(1u << bit % 8);
    check_spoiled(sum);
}

static void report(const char *row, const char *asked, const tally *sum) {
    unsigned caught = sum->cases - sum->reached_plugin;
    promise_report(
        row, asked,
        sum->cases > 0 && sum->reached_plugin + sum->left_in_place + sum->not_repaired == 0,
        "%u of %u (%.4g %%), %u not set aside, %u not repaired", caught, sum->cases,
        100.0 * caught / (sum->cases ? sum->cases : 1), sum->left_in_place, sum->not_repaired);
}

static void forget_quarantine(const char *directory) {
    char quarantine[4200];
    (void)snprintf(quarantine, sizeof quarantine, "%s/quarantine", directory);
    promise_remove_directory(quarantine);
}

static void every_bit_of_the_head(void) {
    tally sum = {0};
    for (size_t bit = 0; bit < (size_t)HEAD_BYTES * 8; bit++)
        flip(bit, &sum);
    report("corruption, every bit of the head", "100 % of 2048 before the plugin", &sum);
}

// Uses a signed entry, which becomes the valid entry of the later checks. A flipped bit must not
// make the entry unsigned.
static void every_bit_of_the_end(void) {
    const uint8_t seed[RK_SIGN_SEED_BYTES] = {1};
    rk_sign_secret secret;
    rk_sign_public public_key;
    RK_AUTO(rk_buf) data = {0};
    rk_buf_add(&data, sound, sound_len);
    rk_sign_from_seed(seed, &secret, &public_key);
    promise_ok(rk_entry_sign(&secret, &public_key, &data), "sign");
    free(sound);
    sound = malloc(data.len);
    promise_need(sound != NULL, "malloc");
    memcpy(sound, data.data, data.len);
    sound_len = data.len;
    promise_write_file(path, sound, sound_len);
    rk_answer answer = look_up(KEY);
    promise_need(answer.miss == RK_MISS_NONE, "a signed entry is a hit");
    rk_answer_cleanup(&answer);
    tally sum = {0};
    size_t end_bytes = (size_t)RK_DIGEST_BYTES + RK_ENTRY_SIGNATURE_BYTES;
    for (size_t bit = (sound_len - end_bytes) * 8; bit < sound_len * 8; bit++)
        flip(bit, &sum);
    report("corruption, every bit of digest and signature", "100 % of 1280 before the plugin",
           &sum);
}

static void sampled_bits_behind_it(const char *directory) {
    tally sum = {0};
    uint64_t random = 42;
    unsigned samples = promise_size(10000, 10000);
    for (unsigned i = 0; i < samples; i++) {
        size_t bits = (sound_len - HEAD_BYTES) * 8;
        flip((size_t)HEAD_BYTES * 8 + (size_t)(promise_random(&random) >> 11) % bits, &sum);
        if (i % 1000 == 0)
            forget_quarantine(directory);
    }
    report("corruption, sampled bits behind it", "100 % of 10000 before the plugin", &sum);
}

static void every_length(void) {
    tally sum = {0};
    for (size_t len = 0; len < sound_len; len++) {
        promise_write_file(path, sound, len);
        check_spoiled(&sum);
    }
    report("corruption, every truncated length", "100 % before the plugin", &sum);
    sum = (tally){0};
    for (size_t more = 1; more <= 64; more++) {
        uint8_t *longer = calloc(1, sound_len + more);
        promise_need(longer != NULL, "calloc");
        memcpy(longer, sound, sound_len);
        promise_write_file(path, longer, sound_len + more);
        free(longer);
        check_spoiled(&sum);
    }
    report("corruption, bytes added behind the end", "100 % before the plugin", &sum);
}

static void swapped(void) {
    tally sum = {0};
    size_t len = 0;
    uint8_t *other = promise_read_file(other_path, &len);
    promise_write_file(path, other, len); // valid, but of another key
    check_spoiled(&sum);
    uint8_t *crossed = malloc(len); // the head of one entry, the body of the other
    promise_need(crossed != NULL, "malloc");
    memcpy(crossed, sound, HEAD_BYTES);
    memcpy(crossed + HEAD_BYTES, other + HEAD_BYTES, len - HEAD_BYTES);
    promise_write_file(path, crossed, len);
    check_spoiled(&sum);
    free(crossed);
    free(other);
    promise_need(unlink(path) == 0 && symlink(other_path, path) == 0, "symlink");
    check_spoiled(&sum);
    promise_need(unlink(path) == 0 && mkdir(path, 0700) == 0, "mkdir");
    check_spoiled(&sum);
    report("corruption, entries swapped, linked, crossed", "100 % before the plugin", &sum);
}

int main(int argc, char **argv) {
    promise_begin(argc, argv);
    char directory[4096];
    (void)snprintf(directory, sizeof directory, "%s", promise_directory("corruption", false));
    promise_ok(rk_store_open(directory, false, &store), "open");
    rk_key name = promise_key(KEY), other_name = promise_key(OTHER_KEY);
    promise_path(directory, &name, path);
    promise_path(directory, &other_name, other_path);
    store_entry(KEY);
    store_entry(OTHER_KEY);
    sound = promise_read_file(path, &sound_len);
    every_bit_of_the_head();
    forget_quarantine(directory);
    every_bit_of_the_end();
    forget_quarantine(directory);
    sampled_bits_behind_it(directory);
    forget_quarantine(directory);
    every_length();
    forget_quarantine(directory);
    swapped();
    free(sound);
    rk_store_free(store);
    return promise_end();
}
