// A power cut, simulated: every change below a directory is recorded as it is made, and then the
// states that a cut may leave behind are built, one for each place in the record and each choice of
// what had not been synced.
//
// What survives: a write whose file was synced afterwards; a name that was made, moved or removed,
// once its directory was synced. Anything else may be there, be missing, or, for a write, be there
// in half, whatever came before or after it. No file system loses more than that, most lose less.
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

// Starts to record what happens below `directory`, which must be empty, through a system call table
// of its own. Owned: rk_powerloss_free. One at a time; one thread.
rk_powerloss *rk_powerloss_begin(const char *directory);
void rk_powerloss_end(rk_powerloss *record); // restores the table
void rk_powerloss_free(rk_powerloss *record);

// Notes that a step is done, all of which must outlast a cut from here on.
void rk_powerloss_mark(rk_powerloss *record);

// How many changes and syncs were recorded, and how many marks stand before the cut-th of them.
unsigned rk_powerloss_count(const rk_powerloss *record);
unsigned rk_powerloss_marks(const rk_powerloss *record, unsigned cut);

// Builds what a cut before the cut-th change may leave, in an empty `directory`. `choice` 0:
// nothing unsynced survives; 1: all of it; others: a reproducible part of it.
void rk_powerloss_build(const rk_powerloss *record, unsigned cut, unsigned choice,
                        const char *directory);
