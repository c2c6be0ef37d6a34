/* SPDX-License-Identifier: Apache-2.0 */
/* dialect.h: the language of the kernels in this folder. One source is CUDA (by clang, without a header of
 * NVIDIA's), OpenCL C, and host C, where a thread of a block is a fibre (test/emu/fibre.h, included before).
 * Sums, products, quotients and roots of floats are written ADD, MUL, FMA, DIV and SQRT, each rounded once,
 * so that no compiler may fuse or relax one. Threads that call SHFL_* or BARRIER do so with the whole block.
 *
 * Blocks have 256 threads; a warp computes groups, or is the 32 partial sums of a reduction, and who folds
 * does it in the order of NUMERICS.md. */
#ifndef CT_GPU_DIALECT_H
#define CT_GPU_DIALECT_H
#define BLOCK 256 /* threads of a block, of every kernel */

#if defined(__OPENCL_VERSION__) /* ---- OpenCL C; pointers to arguments need shared virtual memory ---- */
#pragma OPENCL FP_CONTRACT OFF
/* clang-format off */
typedef char int8_t; typedef uchar uint8_t; typedef ushort uint16_t; typedef int int32_t;
typedef uint uint32_t; typedef ulong uint64_t;
/* clang-format on */
#define half   turn /* a type here, a name elsewhere */
#define GLOBAL global
#define SHARED local
#define LOCAL  local /* of a pointer to what is SHARED */
#define DEVICE static inline
#define KERNEL(name, args)                                                                                   \
    __attribute__((reqd_work_group_size(BLOCK, 1, 1))) kernel void name(global const struct args *given)
#define THREADS(args)                                                                                        \
    local uint warp_room[BLOCK];                                                                             \
    const struct args a = *given;                                                                            \
    const int tid = get_local_id(0), bid = get_group_id(0), row = get_group_id(1), lane = tid & 31;          \
    (void)bid, (void)row, (void)lane, (void)warp_room
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
static uint warp_read(local uint *room, uint v, int tid, int from)
{
    room[tid] = v;
    BARRIER();
    uint r = room[from];
    BARRIER();
    return r;
}
#define SHFL_DOWN(v, d) as_float(warp_read(warp_room, as_uint(v), tid, lane + (d) < 32 ? tid + (d) : tid))
#define SHFL_XOR(v, d)  warp_read(warp_room, v, tid, tid ^ (d))
#define FMA(x, y, z)    fma(x, y, z)
#define MUL(x, y)       ((x) * (y))
#define ADD(x, y)       ((x) + (y))
#define DIV(x, y)       ((x) / (y))
#define SQRT(x)         sqrt(x)
#define AS_F32(u)       as_float(u)
#define AS_U32(f)       as_uint(f)

#else /* ---- C and C++ ---- */
#include <stdbool.h>
#include <stdint.h>
#define GLOBAL
#define LOCAL
#if defined(__CUDA__)
#define DEVICE static inline __attribute__((device, always_inline))
#define SHARED static __attribute__((shared))
#define KERNEL(name, args)                                                                                   \
    extern "C" __attribute__((global, launch_bounds(BLOCK, 2))) void name(const struct args a)
#define THREADS(args)                                                                                        \
    const int tid = __nvvm_read_ptx_sreg_tid_x(), lane = tid & 31;                                           \
    const int bid = __nvvm_read_ptx_sreg_ctaid_x(), row = __nvvm_read_ptx_sreg_ctaid_y();                    \
    (void)bid, (void)row, (void)lane
#define BARRIER()       __nvvm_bar_sync(0)
#define SHFL_DOWN(v, d) __nvvm_shfl_sync_down_f32(~0u, v, d, 31)
#define SHFL_XOR(v, d)  (uint32_t) __nvvm_shfl_sync_bfly_i32(~0u, (int)(v), d, 31)
#define FMA(x, y, z)    __nvvm_fma_rn_f(x, y, z)
#define MUL(x, y)       __nvvm_mul_rn_f(x, y)
#define ADD(x, y)       __nvvm_add_rn_f(x, y)
#define DIV(x, y)       __nvvm_div_rn_f(x, y)
#define SQRT(x)         __nvvm_sqrt_rn_f(x)
#define DP4A(x, y, z)   gpu_dp4a(x, y, z)
DEVICE int32_t gpu_dp4a(uint32_t x, uint32_t y, int32_t z)
{
    int32_t sum;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(y), "r"(z));
    return sum;
}
#else
#define DEVICE static inline
#define SHARED static
#define KERNEL(name, args)                                                                                   \
    FIBRE_CLONES static void name(const struct args a);                                                      \
    FIBRE_ENTRY(name, args)                                                                                  \
    FIBRE_CLONES static void name(const struct args a)
#define THREADS(args)                                                                                        \
    const int tid = fibre.tid, bid = fibre.x, row = fibre.y, lane = tid & 31;                                \
    (void)bid, (void)row, (void)lane
#define BARRIER()       fibre_wait(&fibre.block)
#define SHFL_DOWN(v, d) AS_F32(fibre_read(AS_U32(v), lane + (d) < 32 ? tid + (d) : tid))
#define SHFL_XOR(v, d)  fibre_read(v, tid ^ (d))
#define FMA(x, y, z)    __builtin_fmaf(x, y, z)
#define MUL(x, y)       ((x) * (y))
#define ADD(x, y)       ((x) + (y))
#define DIV(x, y)       ((x) / (y))
#define SQRT(x)         __builtin_sqrtf(x)
#endif
DEVICE float AS_F32(uint32_t u)
{
    float f;
    __builtin_memcpy(&f, &u, sizeof f);
    return f;
}
DEVICE uint32_t AS_U32(float f)
{
    uint32_t u;
    __builtin_memcpy(&u, &f, sizeof u);
    return u;
}
#endif
#ifndef DP4A
DEVICE int32_t DP4A(uint32_t x, uint32_t y, int32_t sum) /* four bytes by four bytes, exact */
{
    for (int i = 0; i < 32; i += 8)
        sum += (int32_t)(int8_t)(x >> i & 255) * (int32_t)(int8_t)(y >> i & 255);
    return sum;
}
#endif
#endif
