/* SPDX-License-Identifier: BSD-3-Clause */
/** @file bits.c  The bits of a floating-point reduction: contributions whose sum depends on the order of its
 * additions, and a digest of the result. */
#include "call.h"

#include <stdint.h>

/* Exponents of contributions are below this number: sums of numbers of different magnitude lose different
 * bits in each order. */
enum { EXPONENTS = 24 };

/* A number with 53 random bits, a random sign and a random magnitude. */
static double contribution(uint64_t rank, uint64_t index) {
    uint64_t bits =
        offbeat_spread(rank * UINT64_C(0x9e3779b97f4a7c15) + (index + 1) * UINT64_C(0xd1342543de82ef95));
    double fraction = 1 + (double)(bits >> 12) * 0x1p-52;
    double magnitude = (double)(UINT64_C(1) << (bits >> 1 & 1023) % EXPONENTS);
    return bits & 1 ? -fraction * magnitude : fraction * magnitude;
}

const char *offbeat_call_randomise(offbeat_call *call) {
    if (!offbeat_collective_is_reduction(call->collective) || call->datatype != OFFBEAT_DOUBLE)
        return "only the bits of reductions of double depend on the algorithm and can be compared";
    double *numbers = call->send;
    for (size_t block = 0, index = 0; block < call->send_blocks; block++)
        for (int i = 0; i < call->count; i++, index++)
            numbers[index] = contribution((uint64_t)call->rank, index);
    return NULL;
}

int64_t offbeat_call_digest(const offbeat_call *call) {
    const unsigned char *result = call->receive;
    size_t bytes = offbeat_expected_blocks(call) * (size_t)call->count * sizeof(double);
    uint64_t digest = UINT64_C(14695981039346656037); /* FNV-1a with 64 bits (RFC 9923) */
    for (size_t i = 0; i < bytes; i++)
        digest = (digest ^ result[i]) * UINT64_C(1099511628211);
    return (int64_t)(digest & INT64_MAX);
}
