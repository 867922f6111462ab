/* Adds up a square matrix in the order it lies in memory, or across it:
 *
 *   rows     neighbours follow each other     every line of the cache is used as a whole
 *   columns  each step goes to another row    a new line, and often a new page, for each number
 *
 * The sum is the same, and so is nearly every instruction; what differs is what memory does.
 *
 * Usage: strides [rows|columns [SIDE [PASSES]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float sum_by_rows(const float *matrix, size_t side) {
    float sum = 0, sign = 1;
    for (size_t y = 0; y < side; ++y)
        for (size_t x = 0; x < side; ++x, sign = -sign) sum += sign * matrix[y * side + x];
    return sum;
}

static float sum_by_columns(const float *matrix, size_t side) {
    float sum = 0, sign = 1;
    for (size_t x = 0; x < side; ++x)
        for (size_t y = 0; y < side; ++y, sign = -sign) sum += sign * matrix[y * side + x];
    return sum;
}

int main(int argc, char **argv) {
    const char *order = argc > 1 ? argv[1] : "rows";
    const long side = argc > 2 ? atol(argv[2]) : 1024;
    const long passes = argc > 3 ? atol(argv[3]) : 4;
    const int by_columns = strcmp(order, "columns") == 0;
    if ((!by_columns && strcmp(order, "rows") != 0) || side < 1 || side > 20000 || passes < 1) {
        fprintf(stderr, "usage: strides [rows|columns [SIDE [PASSES]]]\n");
        return 2;
    }
    const size_t n = (size_t)side;
    float *matrix = malloc(n * n * sizeof *matrix);
    if (matrix == NULL) {
        fprintf(stderr, "strides: no memory\n");
        return 1;
    }
    for (size_t i = 0; i < n * n; ++i) matrix[i] = (float)(i % 7);
    float sum = 0;
    for (long pass = 0; pass < passes; ++pass)
        sum += by_columns ? sum_by_columns(matrix, n) : sum_by_rows(matrix, n);
    printf("strides: %s, sum %g\n", order, (double)sum);
    free(matrix);
    return 0;
}
