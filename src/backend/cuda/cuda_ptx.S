/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_ptx.S: the kernels as PTX, which clang makes of kernel/gpu/gpu.cu while the library is built. Without
 * clang the text is empty, and the backend says so. */
    .section .rodata
    .global ct_cuda_ptx
    .hidden ct_cuda_ptx
    .type ct_cuda_ptx, %object
ct_cuda_ptx:
#ifdef CT_PTX
    .incbin CT_PTX
#endif
    .byte 0
    .size ct_cuda_ptx, . - ct_cuda_ptx
    .section .note.GNU-stack, "", %progbits
