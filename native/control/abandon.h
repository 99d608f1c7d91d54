/* SPDX-License-Identifier: BSD-3-Clause */
/** @file abandon.h  Ending the whole launch where no process could go on alone. */
#ifndef OFFBEAT_ABANDON_H
#define OFFBEAT_ABANDON_H

#include <stdnoreturn.h>

/** Says why on standard error, as "offbeat-driver: fatal error on rank R: WHY", and ends all processes. */
noreturn void offbeat_abandon(const char *why);

#endif
