/* Adds vectors that no cache holds: triad MILLIONS-OF-ELEMENTS ROUNDS. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const long n = atol(argv[1]) * 1000000, rounds = atol(argv[2]);
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), *c = malloc(n * sizeof *c);
    if (!a || !b || !c) return 1;
    for (long i = 0; i < n; i++) {
        a[i] = 0;
        b[i] = (double)i;
        c[i] = 2.0 * (double)i;
    }
    for (long round = 0; round < rounds; round++)
        for (long i = 0; i < n; i++) a[i] = b[i] + 3.0 * c[i] + (double)round;
    printf("%g\n", a[n - 1]);
    return 0;
}
