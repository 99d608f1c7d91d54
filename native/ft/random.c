/* SPDX-License-Identifier: BSD-3-Clause */
#include "ft/random.h"

/* Products wrap around at 2^64, which 2^46 divides: the lower 46 bits of the wrapped product are right. */
#define MODULUS (UINT64_C(1) << 46)
#define MULTIPLIER UINT64_C(1220703125) /* 5^13 */

uint64_t ft_random_jump(uint64_t state, uint64_t steps) {
    uint64_t power = MULTIPLIER;
    for (; steps > 0; steps /= 2) {
        if (steps % 2 == 1)
            state = state * power % MODULUS;
        power = power * power % MODULUS;
    }
    return state;
}

double ft_random_next(uint64_t *state) {
    *state = *state * MULTIPLIER % MODULUS;
    return (double)*state / (double)MODULUS;
}
