/* A program that loads and stores a known number of times: a thousand each. */
#include <stdio.h>

static double data[1000];

int main(void) {
    double sum = 0;
    for (int i = 0; i < 1000; i++) data[i] = i;
    for (int i = 0; i < 1000; i++) sum += data[i];
    printf("%g\n", sum);
    return 0;
}
