// Writes the sample bundle of these tests, for bundle_format.py.
//
//     write_sample FILE
#include "fixture.h"

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    fixture_write(argv[1], "signer");
    return 0;
}
