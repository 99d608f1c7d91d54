/* SPDX-License-Identifier: BSD-3-Clause */
#include "ft/pcg64.h"

/* Words of numpy's pool of entropy, whatever the seed's own length. */
enum { POOL = 4 };

#define WIDE(high, low) ((ft_wide)(high) << 64 | (low))

/* One step of numpy's hash: the value is scrambled with a constant that changes at every use. */
static uint32_t hashed(uint32_t value, uint32_t *constant, uint32_t factor) {
    value ^= *constant;
    *constant *= factor;
    value *= *constant;
    return value ^ value >> 16;
}

static uint32_t mixed(uint32_t x, uint32_t y) {
    uint32_t value = UINT32_C(0xCA01F9DD) * x - UINT32_C(0x4973F715) * y;
    return value ^ value >> 16;
}

/* Spreads the seed over the pool, so that each word of it depends on each bit of the seed. */
static void fill_pool(uint64_t seed, uint32_t pool[POOL]) {
    const uint32_t factor = UINT32_C(0x931E8875);
    const uint32_t words[POOL] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t constant = UINT32_C(0x43B0D7E5);
    for (int i = 0; i < POOL; i++)
        pool[i] = hashed(words[i], &constant, factor);
    for (int from = 0; from < POOL; from++)
        for (int to = 0; to < POOL; to++)
            if (from != to)
                pool[to] = mixed(pool[to], hashed(pool[from], &constant, factor));
}

static void step(ft_pcg64 *generator) {
    const ft_wide multiplier = WIDE(UINT64_C(0x2360ED051FC65DA4), UINT64_C(0x4385DF649FCCF645));
    generator->state = generator->state * multiplier + generator->increment;
}

ft_pcg64 ft_pcg64_seeded(uint64_t seed) {
    uint32_t pool[POOL], constant = UINT32_C(0x8B51F9DD);
    uint64_t drawn[4];
    fill_pool(seed, pool);
    for (int i = 0; i < 4; i++) {
        uint32_t low = hashed(pool[2 * i % POOL], &constant, UINT32_C(0x58F38DED));
        uint32_t high = hashed(pool[(2 * i + 1) % POOL], &constant, UINT32_C(0x58F38DED));
        drawn[i] = (uint64_t)high << 32 | low;
    }
    ft_pcg64 generator = {.state = 0, .increment = WIDE(drawn[2], drawn[3]) << 1 | 1};
    step(&generator);
    generator.state += WIDE(drawn[0], drawn[1]);
    step(&generator);
    return generator;
}

double ft_pcg64_next(ft_pcg64 *generator) {
    step(generator);
    uint64_t folded = (uint64_t)(generator->state >> 64) ^ (uint64_t)generator->state;
    unsigned turn = (unsigned)(generator->state >> 122);
    uint64_t word = folded >> turn | folded << (-turn & 63U);
    return (double)(word >> 11) / 9007199254740992.0; /* 53 bits, as many as a double holds */
}
