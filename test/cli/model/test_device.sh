#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_device.sh: --device: what the command says where there is no GPU, and that an emulated one (test/emu)
# answers as the CPU does.
. "$CARAT_SOURCE/test/cli/common.bash"
unset LD_LIBRARY_PATH

expect 0 run tiny 'Turn on the kitchen lights' --seed 3
cp out wanted
expect 0 run tiny 'Turn on the kitchen lights' --seed 3 --device cpu
same wanted out
expect 0 run tiny 'Turn on the kitchen lights' --seed 3 --device none
same wanted out
refuse 2 run tiny hi --device gpu
err_has 'device is "gpu", expected cpu, cuda or cuda:N'

# without a driver: one line, and a file of its name in the working directory is none
cp "$CARAT_BUILD/emu/libcuda.so.1" .
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
    refuse 1 run tiny hi --device cuda
    err_has 'there is no NVIDIA driver: libcuda.so.1 was not found'
    refuse 1 bench tiny -p 4 -n 1 -r 1 --device cuda:0
fi

export LD_LIBRARY_PATH=$CARAT_BUILD/emu
expect 0 run tiny 'Turn on the kitchen lights' --seed 3 --device cuda
same wanted out
expect 0 logits tiny --prompt hi -o cuda.npy --device cuda:0
expect 0 logits tiny --prompt hi -o cpu.npy
same cpu.npy cuda.npy
expect 0 quantize tiny tiny-q8.gguf Q8_0
expect 0 run tiny-q8.gguf 'What is 2 + 2?' --seed 3
cp out wanted
expect 0 run tiny-q8.gguf 'What is 2 + 2?' --seed 3 --device cuda
same wanted out

refuse 2 run tiny hi --device cuda:7
err_has 'device is cuda:7, and the driver shows 1 GPU'
EMU_DEVICES=5.2 refuse 1 run tiny hi --device cuda
err_has 'compute capability 5.2, expected at least 6.1'
EMU_DRIVER=11020 refuse 1 run tiny hi --device cuda
err_has 'the NVIDIA driver is too old: it is for CUDA 11.2, expected 11.3'
EMU_MEMORY=1000000 refuse 5 run tiny hi --device cuda
err_has 'the GPU emulated 0 has 1.00 MB of 1.00 MB free'
# a device that is lost while it computes: the CPU goes on, and the answer is the same
expect 0 run tiny-q8.gguf 'What is 2 + 2?' --seed 3
cp out wanted
EMU_LOST=cuLaunchKernel:700 expect 0 run tiny-q8.gguf 'What is 2 + 2?' --seed 3 --device cuda
same wanted out
err_has 'the GPU emulated 0 failed: a kernel of CUDA_ERROR_ILLEGAL_ADDRESS; the CPU goes on'
