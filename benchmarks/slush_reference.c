/* The algorithm of the table kernel in plain scalar C, as a yardstick: two-colour Slush on the complete
 * graph, one look-up and one random word a query. Usage: slush_reference CHANCES VOTES n inputs rounds runs
 * Prints the seconds of the best run and the queries of the last. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

static void *read_file(const char *path, size_t size) {
    FILE *file = fopen(path, "rb");
    void *data = malloc(size);
    if (!file || !data || fread(data, 1, size, file) != size) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    return data;
}

int main(int argc, char **argv) {
    if (argc != 7) return 1;
    const int n = atoi(argv[3]), inputs = atoi(argv[4]), rounds = atoi(argv[5]), runs = atoi(argv[6]);
    const uint64_t *chance = read_file(argv[1], (size_t)n * sizeof(uint64_t));
    const int8_t *votes = read_file(argv[2], (size_t)n * inputs);
    int8_t *decisions = malloc((size_t)n * inputs), *node = malloc(n);
    double best = 1e300;
    long asked = 0;
    for (int run = 0; run < runs; run++) {
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        asked = 0;
        for (int item = 0; item < inputs; item++) {
            int counts[2] = {0, 0};
            memcpy(node, votes + (size_t)item * n, n);
            for (int i = 0; i < n; i++) counts[node[i]]++;
            uint64_t word = mix((uint64_t)item + 0x9E3779B97F4A7C15ULL * (run + 1));
            const uint64_t step = mix(word + 0x9E3779B97F4A7C15ULL) | 1;
            int over = counts[0] == n || counts[1] == n;
            for (int used = 0; used < rounds && !over; used++) {
                for (int turn = 0; turn < n; turn++) {
                    word += step;
                    const __uint128_t product = (__uint128_t)mix(word) * (uint64_t)n;
                    const int i = (int)(product >> 64), mine = node[i], other = 1 - mine;
                    asked++;
                    if ((uint64_t)product < chance[counts[other]]) {
                        node[i] = (int8_t)other;
                        counts[mine]--;
                        if (++counts[other] == n) {
                            over = 1;
                            break;
                        }
                    }
                }
            }
            memcpy(decisions + (size_t)item * n, node, n);
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        const double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
        if (seconds < best) best = seconds;
    }
    printf("%.9f %ld %d\n", best, asked, decisions[0]);
    return 0;
}
