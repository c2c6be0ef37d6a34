/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.cu: all kernels as one source: of PTX, when the library is built, and of host C, for the emulation. */
#include "dialect.h"
#include "gpu.h"

#include "gpu_math.h"
#include "gpu_kv.h"
#include "gpu_weight.h"

#include "norm.cu"

#include "altup.cu"
#include "attend.cu"
#include "best.cu"
#include "embed.cu"
#include "kv_write.cu"
#include "logits.cu"
#include "prepare.cu"
#include "project.cu"
#include "vector.cu"
