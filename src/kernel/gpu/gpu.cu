/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.cu: all kernels as one source: of PTX, when the library is built, and of host C, for the emulation. PTX
 * for devices from 8.0 on has those alone that older ones cannot have; OpenCL has none of these. */
#include "dialect.h"
#include "gpu.h"

#include "gpu_math.h"
#include "gpu_kv.h"
#include "gpu_weight.h"
#include "../philox.h"

#if !defined(__CUDA__) || __CUDA_ARCH__ < 800
#include "norm.cu"

#include "altup.cu"
#include "attend.cu"
#include "draw.cu"

#include "best.cu"
#include "embed.cu"
#include "kv_write.cu"
#include "logits.cu"
#include "prepare.cu"
#include "project.cu"
#include "route.cu"
#include "vector.cu"
#endif

#if !defined(__OPENCL_VERSION__) && (!defined(__CUDA__) || __CUDA_ARCH__ >= 800)
#include "matrix.cu"

#include "eight.cu"
#include "tensor.cu"
#endif
