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
err_has 'device is "gpu", expected cpu, cuda, cuda:N or auto'
expect 0 version
kernels=$(sed -n 's/^gpu kernels //p' out)
if [ "$kernels" = 'none: built without clang' ]; then
    expect 0 version --json
    out_has '"gpu_kernels":null'
    refuse 4 run tiny hi --device cuda
    err_has 'built without clang'
    expect 0 run tiny 'Turn on the kitchen lights' --seed 3 --device auto
    same wanted out
    err_has 'built without clang, so it has no kernels for a GPU; the CPU computes'
    echo 'this build has no kernels for GPUs' && exit 77
fi
[ "$kernels" = 'PTX for sm_61' ] || die "the kernels are '$kernels'"
expect 0 version --json
out_has '"gpu_kernels":"PTX for sm_61"'

# without a driver: one line, and a file of its name in the working directory is none
cp "$CARAT_BUILD/emu/libcuda.so.1" .
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
    refuse 1 run tiny hi --device cuda
    err_has 'there is no NVIDIA driver: libcuda.so.1 was not found'
    refuse 1 bench tiny -p 4 -n 1 -r 1 --device cuda:0
    expect 0 run tiny 'Turn on the kitchen lights' --seed 3 --device auto
    same wanted out
    [ "$(cat err)" = 'note: there is no NVIDIA driver: libcuda.so.1 was not found; the CPU computes' ] ||
        die 'not one line says why the CPU computes'
    expect 0 doctor --measure off
    out_has '^GPU  *none: there is no NVIDIA driver: libcuda.so.1 was not found$'
    expect 0 doctor --measure off --json
    out_has '"gpu":{"devices":\[\],"why_none":"there is no NVIDIA driver'
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

# auto: an answer is the same, whoever gives it, and no device makes it fail
expect 0 run tiny 'Turn on the kitchen lights' --seed 3
cp out wanted
expect 0 run tiny 'Turn on the kitchen lights' --seed 3 --device auto --stats --explain-plan
same wanted out
err_has '^backend: cpu and cuda$'
err_has '^backend_why: what passes cost says where each is computed$'
err_has '^on_cpu.from_0: passes of up to [0-9]* rows, of prompts [0-9]*; the GPU computes longer ones$'
err_has '^  [cg]pu  *[1-9][0-9]* '

# what passes cost on each is measured, kept, and decides; for another driver it is measured again
mkdir mine
cp "$tiny"/* mine
expect 0 run mine hi -n 1
expect 0 run mine 'Turn on the kitchen lights' --seed 3 --device auto
same wanted out
costs=$XDG_CACHE_HOME/carat/costs.json
grep -q ', on auto: emulated 0, capability 9.0, driver 12040"' "$costs" || die 'what was measured is not kept'
cp "$costs" kept
kept_as() { # ON_CPU ON_GPU: nanoseconds of passes of 1 and 16 rows
    sed 's/"passes":.*/"passes":[[0,0,0,9,1,'"$1"'],[1,0,4,9,16,'"$1"'],[2,0,0,9,1,'"$2"'],[3,0,4,9,16,'"$2"']]}]/' kept >"$costs"
    expect 0 run mine 'Turn on the kitchen lights' --seed 3 --device auto --stats
    same wanted out
}
kept_as 1e3 1e12
err_has '^  cpu  *[1-9][0-9]* '
err_has '^    faster there  *[1-9][0-9]*$'
err_has '^  gpu  *0$'
kept_as 1e12 1e3
err_has '^  cpu  *0$'
err_has '^  gpu  *[1-9][0-9]* '
err_has '^    faster there  *[1-9][0-9]*$'
expect 0 doctor mine --measure off
out_has '^costs  *bf16 cache, [0-9]* threads, on auto: emulated 0, capability 9.0, driver 12040 '
out_has '^  generation on GPU  *1: '
EMU_DRIVER=12050 expect 0 run mine 'Turn on the kitchen lights' --seed 3 --device auto
same wanted out
[ "$(grep -o 'on auto' "$costs" | wc -l)" = 2 ] || die 'another driver has no costs of its own'
for strange in '' '[' '[{}]'; do
    printf '%s' "$strange" >"$costs"
    expect 0 run mine 'Turn on the kitchen lights' --seed 3 --device auto
    same wanted out
    grep -q ', on auto: ' "$costs" || die 'what is broken is not measured again'
done
rm "$costs"
unable() { # WORDS: what the environment makes of the device, in one line
    expect 0 run tiny 'Turn on the kitchen lights' --seed 3 --device auto
    same wanted out
    [ "$(wc -l <err)" = 1 ] || die "$1: not one line"
    err_has "^note: .*$1.*; the CPU computes$"
}
EMU_DEVICES=5.2 unable 'compute capability 5.2, expected at least 6.1'
EMU_DEVICES='' unable 'the NVIDIA driver shows no GPU'
EMU_DRIVER=11020 unable 'the NVIDIA driver is too old'
EMU_MEMORY=1000000 unable 'has 1.00 MB of 1.00 MB free'
EMU_FAIL=cuInit:1 unable 'the NVIDIA driver does not start'
EMU_FAIL=cuModuleLoadData:1 unable 'does not take the kernels'
EMU_LOST=cuMemcpyHtoDAsync_v2:99 unable 'failed: a copy to it'
expect 0 run tiny hi -n 3 --device auto --exact
[ ! -s err ] || die 'something is said where nothing was wrong'
EMU_DRIVER=11020 expect 0 run tiny hi -n 3 --device auto --stats --explain-plan
err_has '^backend: cpu$'
err_has '^backend_why: the NVIDIA driver is too old'
err_has '^    without a GPU  *[1-9][0-9]*$'
err_has '^  gpu  *0$'
refuse 2 run tiny hi --device auto:1
refuse 2 run tiny hi --device auto -t 999

# every allocation refused: the CPU with auto, and exit code 5 without it
for n in 1 2 3 4 5 6; do # of the model, and of what checks the device
    EMU_FAIL=cuMemAlloc_v2:$n unable 'the GPU emulated 0 has'
    EMU_FAIL=cuMemAlloc_v2:$n refuse 5 run tiny hi --device cuda
done

# a device with other numbers is seen before it gets the model
for planted in unfused barriers; do
    export EMU_PLANTED=$planted
    refuse 1 run tiny hi --device cuda
    err_has 'the GPU emulated 0 gives other numbers than the CPU with weights of BF16$'
    unable 'gives other numbers than the CPU'
    refuse 1 run tiny-q8.gguf hi --device cuda
    err_has 'gives other numbers than the CPU with weights of [A-Z]'
    unset EMU_PLANTED
done

# layers on it
layers=$("$CARAT" show tiny --json | tr , '\n' | sed -n 's/.*"n_layer": *\([0-9]*\).*/\1/p' | head -1)
for n in all -1 "$layers"; do
    expect 0 run tiny 'Turn on the kitchen lights' --seed 3 --device cuda -ngl "$n"
    same wanted out
    [ ! -s err ] || die "-ngl $n says something"
done
expect 0 run tiny 'Turn on the kitchen lights' --seed 3 --device cuda -ngl 99 --explain-plan
same wanted out
err_has "^note: -ngl is 99: all $layers layers of the model are on the GPU$"
err_has '^backend: cuda$'
expect 0 run tiny hi -n 3 --device cuda --arith fast8 --explain-plan
err_has '^kernel.q: Q8_0 in panels, input int8: project_eight of cuda$'
EMU_DEVICES=7.5 expect 0 run tiny hi -n 3 --device cuda --arith fast8 --explain-plan
err_has '^kernel.q: Q8_0 in panels, input int8: project_q8 of cuda$'
expect 0 run tiny hi -n 3 --device cuda -ngl 0 --explain-plan
err_has '^backend: cpu$'
boundary() { # N DEVICE: the last N layers are on the GPU
    expect 0 run tiny 'Turn on the kitchen lights' --seed 3 --device "$2" -ngl "$1" --explain-plan --stats
    same wanted out
    local first=$((layers - $1))
    err_has "^note: the GPU has the last $1 of $layers layers and the head, the CPU the others$"
    err_has '^backend: cpu and cuda$'
    err_has "^layers.cpu: the embedding and layers 0 to $((first - 1))$"
    err_has "^layers.gpu: layers $first to $((layers - 1)) and the head$"
    err_has "^kernel.gate: .* in $first of $layers layers, "
    err_has "^kernel.gate.2: .* in $1 of $layers layers, .* of cuda$"
    err_has '^backend_why: the engine was made with its last layers on the GPU$'
}
boundary 1 cuda
boundary $((layers - 1)) auto
EMU_DRIVER=11020 expect 0 run tiny 'Turn on the kitchen lights' --seed 3 --device auto -ngl 1
same wanted out
err_has '^note: the NVIDIA driver is too old.*; the CPU computes$'
EMU_DRIVER=11020 refuse 1 run tiny hi --device cuda -ngl 1
EMU_LOST=cuLaunchKernel:200 expect 0 run tiny 'Turn on the kitchen lights' --seed 3 --device cuda -ngl 2
same wanted out
err_has 'the GPU emulated 0 failed: .*; the CPU goes on$'
EMU_MEMORY=1000000 refuse 5 run tiny hi --device cuda -ngl 1
err_has '; not even one of the [0-9]* layers fits$'
EMU_MEMORY=9000000 refuse 5 run tiny hi --device cuda -ngl 5 -c 2048
err_has '; [1-4] of the [0-9]* layers would fit$'
# with fewer layers on it a small device is enough
EMU_MEMORY=9000000 refuse 5 run tiny hi --device cuda -c 2048
EMU_MEMORY=9000000 expect 0 run tiny hi -n 3 --device cuda -ngl 1 -c 2048

# what there is
EMU_DEVICES=5.2,9.0 expect 0 doctor --measure off
out_has '^GPU  *cuda:0 emulated 0, compute capability 5.2, memory 1.07 GB, free 1.07 GB; not usable: .*at least 6.1$'
out_has '^  *cuda:1 emulated 1, compute capability 9.0, memory 1.07 GB, free 1.07 GB$'
out_has '^  kernels  *PTX for sm_61$'
EMU_DEVICES=5.2,9.0 expect 0 doctor --measure off --json
out_has '"number":1,"name":"emulated 1","compute_major":9,"compute_minor":0,"free_mb":1073.[0-9]*,"total_mb":1073.[0-9]*,"usable":true,"why":""'
EMU_DEVICES=5.2,9.0 expect 0 run tiny hi -n 3 --device cuda --explain-plan
err_has '^level.why: kernels in CUDA for emulated 1$'
EMU_DEVICES=5.2,9.0 refuse 1 run tiny hi --device cuda:0
EMU_DEVICES=5.2,9.0 CUDA_VISIBLE_DEVICES=1 expect 0 run tiny hi -n 3 --device cuda:0
EMU_DEVICES=5.2,9.0 CUDA_VISIBLE_DEVICES='' refuse 1 run tiny hi --device cuda
err_has 'the NVIDIA driver shows no GPU'
EMU_MEMORY=100000000 expect 0 bench tiny -p 4 -n 1 -r 1 --device cuda --json
out_has '"device": *{"name": *"emulated 0", *"compute_major": *9, *"compute_minor": *0, *"free_mb": *100.0, *"total_mb": *100.0'
out_has '"backends": *"CUDA"'
out_has '"limit_gb_s": *[1-9]'
grep -q '"command": *"[^"]*--isa' out && die 'the command names a level that no option has'
EMU_MEMORY=100000000 expect 0 bench tiny -p 4 -n 1 -r 1 --device auto
out_has "read and written in copies of emulated 0's memory"

refuse 2 run tiny hi --device cuda:7
err_has 'device is cuda:7, and the driver shows 1 GPU'
EMU_DEVICES=5.2 refuse 1 run tiny hi --device cuda
err_has 'compute capability 5.2, expected at least 6.1'
EMU_DRIVER=11020 refuse 1 run tiny hi --device cuda
err_has 'the NVIDIA driver is too old: it is for CUDA 11.2, expected 11.3'
EMU_MEMORY=1000000 refuse 5 run tiny hi --device cuda
err_has 'the GPU emulated 0 has 1.00 MB of 1.00 MB free'
err_has '; not even one of the [0-9]* layers fits$'
EMU_MEMORY=9000000 refuse 5 run tiny hi --device cuda
err_has '; [1-9][0-9]* of the [0-9]* layers would fit$'
# a device that is lost while it computes: the CPU goes on, and the answer is the same
expect 0 run tiny-q8.gguf 'What is 2 + 2?' --seed 3
cp out wanted
EMU_LOST=cuLaunchKernel:200 expect 0 run tiny-q8.gguf 'What is 2 + 2?' --seed 3 --device cuda
same wanted out
err_has 'the GPU emulated 0 failed: a kernel of CUDA_ERROR_ILLEGAL_ADDRESS; the CPU goes on'

# vectors of texts
for data in "$CARAT_SOURCE"/test/data/embed/models/*/; do
    expect 0 embed "$data" --ids 2,5,9
    cp out wanted
    for device in cuda auto; do
        expect 0 embed "$data" --ids 2,5,9 --device $device
        same wanted out
    done
    EMU_DEVICES='' expect 1 embed "$data" --ids 2,5,9 --device cuda
done
