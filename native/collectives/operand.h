/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file operand.h
 * Operations of reductions on any basic type, with operands whose result does not depend on the order of
 * evaluation, and the expected result as whole numbers. Nothing here calls MPI.
 *
 * "affine" is a user-defined operation that is associative and not commutative, on any type: each number is
 * an affine map x -> a * x + b modulo a power of two, with an odd a in its upper half and b in its lower
 * half, and the operation is composition. "user_sum", also on any type, adds numbers modulo a power of two.
 */
#ifndef OFFBEAT_OPERAND_H
#define OFFBEAT_OPERAND_H

#include "basic_type.h"

typedef enum offbeat_operator {
    OFFBEAT_OPERATOR_SUM,
    OFFBEAT_OPERATOR_PROD,
    OFFBEAT_OPERATOR_MAX,
    OFFBEAT_OPERATOR_MIN,
    OFFBEAT_OPERATOR_LAND,
    OFFBEAT_OPERATOR_LOR,
    OFFBEAT_OPERATOR_LXOR,
    OFFBEAT_OPERATOR_BAND,
    OFFBEAT_OPERATOR_BOR,
    OFFBEAT_OPERATOR_BXOR,
    OFFBEAT_OPERATOR_MINLOC,
    OFFBEAT_OPERATOR_MAXLOC,
    OFFBEAT_OPERATOR_AFFINE,
    OFFBEAT_OPERATOR_USER_SUM,
    OFFBEAT_OPERATORS
} offbeat_operator;

/** The numbers of an element of a basic type; the second one is used by complex numbers and pairs only. */
typedef struct offbeat_numbers {
    int64_t number[2];
} offbeat_numbers;

/** @return the operation of that name, or OFFBEAT_OPERATORS */
offbeat_operator offbeat_operator_find(const char *name);

/** Whether the operation is a user-defined function, which accepts any datatype but bool. */
int offbeat_operator_is_user_defined(offbeat_operator op);

/** Whether MPI defines the operation on a type (MPI 4.0, section 6.9.2), or the function accepts it. */
int offbeat_operator_accepts(offbeat_operator op, const offbeat_basic_type *basic);

/** The operand of a rank of p at an index. */
offbeat_numbers offbeat_operand(offbeat_operator op, const offbeat_basic_type *basic, int p, int rank,
                                size_t index);

/** left op right, as exact numbers. */
offbeat_numbers offbeat_combine(offbeat_operator op, const offbeat_basic_type *basic, offbeat_numbers left,
                                offbeat_numbers right);

/** Numbers of an element that is moved and not reduced. */
offbeat_numbers offbeat_label_of(const offbeat_basic_type *basic, int rank, int block, size_t index);

void offbeat_numbers_store(const offbeat_basic_type *basic, offbeat_numbers numbers, unsigned char *element);

offbeat_numbers offbeat_numbers_load(const offbeat_basic_type *basic, const unsigned char *element);

#endif
