/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace/lane.h"

_Thread_local offbeat_lane offbeat_own_lane __attribute__((tls_model("initial-exec")));
