// Starts of a job without a job: the tests write files where torch.compile would.
#pragma once

#include "support/expect.h"
#include "torch/session.h"

// The folder of one test: a store, and a folder for temporary files.
typedef struct scene {
    char *root;      // owned
    char store[512]; // path
    rk_store *opened;
    const char *job, *own;
    unsigned machine;     // starts of one machine share a directory
    unsigned environment; // machines with different numbers differ
    bool refreshes, cannot_keep;
} scene;

void scene_begin(scene *s); // `s` must be zeroed
void scene_end(scene *s);

// The same for cmocka: `*state` is the scene.
int scene_set_up(void **state);
int scene_tear_down(void **state);

// A first start that makes three files.
void scene_first(scene *s);

// The next start is on another machine with the same environment: its directory is empty.
void scene_move(scene *s);

// Begins a start. Fails the test on an error; `trouble` stays out of it.
void scene_start(scene *s, rk_torch_session *out);
rk_err *scene_try(scene *s, rk_torch_session *out, rk_err **out_trouble);

// Ends a start that was not killed, and fails the test on an error.
void scene_stop(rk_torch_session *session);

// Writes a file into the directory, as a job does.
void scene_put(const rk_torch_session *session, const char *name, const char *content);
// Sets the time of a file to `seconds` ago.
void scene_age(const rk_torch_session *session, const char *name, unsigned seconds);

// The content of a file of the directory; NULL: there is none. Owned: free.
char *scene_get(const rk_torch_session *session, const char *name);
void scene_expect(const rk_torch_session *session, const char *name, const char *content);

// Number of packs in the store.
unsigned scene_packs(const scene *s);
