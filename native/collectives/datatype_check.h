/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file datatype_check.h
 * Whether MPI_Pack and MPI_Unpack, which involve no other process, move the elements of a datatype correctly.
 *
 * A library whose datatypes are wrong gets collectives wrong that are right themselves.
 */
#ifndef OFFBEAT_DATATYPE_CHECK_H
#define OFFBEAT_DATATYPE_CHECK_H

#include <stddef.h>

/** Packs and unpacks elements of a new datatype. Local.
 * @param text     description of the datatype (type_text.h)
 * @param length   of the text, in characters
 * @param elements number of basic elements
 * @return whether the library misplaces elements or writes other bytes; 0 if that cannot be tried */
int offbeat_datatype_is_misplaced(const char *text, size_t length, size_t elements);

#endif
