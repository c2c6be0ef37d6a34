/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_ptx.S: the kernels as PTX, which clang makes of kernel/gpu/gpu.cu while the library is built: two
 * texts that end with a 0, the second of those that not every device has. Without clang they are empty, and
 * the backend says so. */
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
    .global ct_cuda_ptx_matrix
    .hidden ct_cuda_ptx_matrix
    .type ct_cuda_ptx_matrix, %object
ct_cuda_ptx_matrix:
#ifdef CT_PTX
    .incbin CT_PTX_MATRIX
#endif
    .byte 0
    .size ct_cuda_ptx_matrix, . - ct_cuda_ptx_matrix
    .global ct_cuda_target
    .hidden ct_cuda_target
ct_cuda_target:
#ifdef CT_PTX
    .ascii CT_PTX_TARGET
#endif
    .byte 0
    .section .note.GNU-stack, "", %progbits
