/* Sorts numbers by merging: sort THOUSANDS-OF-NUMBERS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void sort(unsigned *data, unsigned *other, long n) {
    if (n < 2) return;
    const long half = n / 2;
    sort(data, other, half);
    sort(data + half, other, n - half);
    memcpy(other, data, half * sizeof *data);
    for (long i = 0, j = half, k = 0; i < half; k++)
        data[k] = j < n && data[j] < other[i] ? data[j++] : other[i++];
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    const long n = atol(argv[1]) * 1000;
    unsigned *data = malloc(n * sizeof *data), *other = malloc(n * sizeof *other), x = 1;
    if (!data || !other) return 1;
    for (long i = 0; i < n; i++) data[i] = x = x * 1664525 + 1013904223;
    sort(data, other, n);
    for (long i = 1; i < n; i++)
        if (data[i - 1] > data[i]) return 3;
    printf("%u\n", data[n / 2]);
    return 0;
}
