// Simulated power cuts. A record lists every change below a directory. rk_powerloss_build then
// builds the states that a cut may leave: one per position in the record and per choice of the
// unsynced changes that survive.
//
// A write survives if its file was synced afterwards. A created, moved or removed name survives if
// its directory was synced afterwards. Any other change may be present or missing, and a write may
// be half present, independently of earlier and later changes. No file system loses more; most lose
// less.
//
//     rk_powerloss *record = rk_powerloss_begin(directory);
//     …                       // work, through rk_sys()
//     rk_powerloss_mark(record);
//     rk_powerloss_end(record);
//     for (unsigned cut = 0; cut <= rk_powerloss_count(record); cut++)
//         for (unsigned choice = 0; choice < 20; choice++) {
//             rk_powerloss_build(record, cut, choice, other_directory);
//             …               // what must hold; rk_powerloss_marks(record, cut) steps were done
//         }
#pragma once

typedef struct rk_powerloss rk_powerloss;

// Starts to record changes below `directory`, which must be empty. Replaces the system call table.
// Only one record at a time, in one thread. Owned: rk_powerloss_free.
rk_powerloss *rk_powerloss_begin(const char *directory);
void rk_powerloss_end(rk_powerloss *record); // restores the table
void rk_powerloss_free(rk_powerloss *record);

// Records that a step is done. Its changes must survive every later cut.
void rk_powerloss_mark(rk_powerloss *record);

// Number of recorded changes and syncs, and number of marks before the cut-th of them.
unsigned rk_powerloss_count(const rk_powerloss *record);
unsigned rk_powerloss_marks(const rk_powerloss *record, unsigned cut);

// Builds in the empty `directory` a state that a cut before the cut-th change may leave. `choice`
// 0: no unsynced change survives; 1: all survive; others: a reproducible selection.
void rk_powerloss_build(const rk_powerloss *record, unsigned cut, unsigned choice,
                        const char *directory);
