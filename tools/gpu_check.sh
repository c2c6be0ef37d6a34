#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu_check.sh: whether a GPU gives the CPU's bits, and how fast it is, in at most ten minutes. Tests have an
# emulated device only; this is for a machine with a real one.
#
# First the logits of models/tiny and of all test vectors, in passes of 1 to 32 ids without graphs, are
# compared with the CPU's, which tests hold to the committed hashes; what the device refuses is counted. Then
# answers of models/tiny are, of which 1 to 32 are drawn together, in passes that are graphs. Where the device
# has units for matrices, logits of a prompt that they sum (--arith tensor) are to be near. `carat bench`
# measures the models that are named, alone and with 2 to 32 answers in a pass. The result is a table with a
# dated line before it, as those of bench/results/ are.
#
# Usage: tools/gpu_check.sh [-d DEVICE] [-o FILE] [-s SECONDS] [MODEL...]
# CARAT is the command (default build/release/carat), DEVICE cuda. SECONDS bounds all of it (default 600):
# what does not fit is left out and named. Exit status 7: bits differ, 1: there is no device.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
carat=${CARAT:-$root/build/release/carat} device=cuda out=/dev/stdout seconds=600
while getopts d:o:s: option; do
    case $option in
    d) device=$OPTARG ;;
    o) out=$OPTARG ;;
    s) seconds=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
left() { echo $((seconds - SECONDS)); }

# ---- bits ----

ids=2$(seq -f ',%.0f' -s '' 7 5 250) # 50 of them, which every vocabulary here has
same=0 refused=0 differing=()
vectors=("$root/models/tiny")
for v in "$root"/test/data/vectors/{models,gguf}/*; do
    case $v in *.md | *.txt) ;; *) vectors+=("$v") ;; esac
done
if ! "$carat" logits "${vectors[0]}" --ids 2 -o "$work/one" --device "$device" 2>"$work/why"; then
    cat "$work/why" >&2
    exit 1
fi
for v in "${vectors[@]}"; do
    [ "$(left)" -gt 0 ] || { echo "no time for ${v##*/} and what follows" >&2 && break; }
    "$carat" logits "$v" --ids "$ids" --all -o "$work/cpu" 2>/dev/null || continue # an embedder, a drafter
    for chunk in 1 2 4 8 16 32; do
        code=0
        "$carat" logits "$v" --ids "$ids" --all -o "$work/gpu" --chunk $chunk --device "$device" 2>"$work/why" || code=$?
        if [ $code = 4 ]; then
            refused=$((refused + 1))
            break
        fi
        if [ $code != 0 ] || grep -q 'the CPU goes on$' "$work/why"; then # it was lost
            differing+=("${v##*/} at $chunk: $(tail -1 "$work/why")")
        elif cmp -s "$work/cpu" "$work/gpu"; then
            same=$((same + 1))
        else
            differing+=("${v##*/} at $chunk")
        fi
    done
done
for i in $(seq 32); do
    echo "{\"prompt\":\"Turn on the lights of room $i\"}"
done >"$work/prompts"
answers() { "$carat" run "${vectors[0]}" --jsonl "$work/prompts" -n 24 --temp 1 --seed 3 "$@" 2>"$work/why"; }
answers >"$work/cpu"
for together in 1 2 4 8 16 32; do
    [ "$(left)" -gt 0 ] || { echo "no time for $together answers" >&2 && break; }
    if answers --parallel $together --device "$device" >"$work/gpu" && ! [ -s "$work/why" ] && cmp -s "$work/cpu" "$work/gpu"; then
        same=$((same + 1))
    else
        differing+=("$together answers together: $(tail -1 "$work/why")")
    fi
done
far='not tried'
if "$carat" logits "${vectors[0]}" --ids "$ids" --all -o "$work/tensor" --device "$device" --arith tensor 2>"$work/why"; then
    "$carat" logits "${vectors[0]}" --ids "$ids" --all -o "$work/fast" 2>/dev/null
    far=$(python3 - "$work/tensor" "$work/fast" <<'PYTHON'
import array
import sys

one, other = (array.array("f", open(path, "rb").read()[128:]) for path in sys.argv[1:])
print(f"{max(abs(x - y) for x, y in zip(one, other)) / max(map(abs, other)):.1e}")
PYTHON
    )
    python3 -c "exit(not $far < 0.005)" || differing+=("tensor: $far of the largest logit")
fi
[ $same -gt 0 ] || { echo "the device took none of the vectors" >&2 && exit 1; }
printf 'other bits: %s\n' "${differing[@]}" | sed '/: $/d' >&2

# ---- figures ----

for model in "$@"; do
    for answers in 1 2 4 8 16 32; do
        [ "$(left)" -gt 0 ] || { echo "no time for $model with $answers answers" >&2 && continue; }
        prompt=512,2048
        [ $answers = 1 ] || prompt=0
        timeout "$(left)" "$carat" bench "$model" -p $prompt -n 128 -npl $answers -r 3 --device "$device" --json >"$work/one" &&
            cat "$work/one" >>"$work/figures" || echo "no figures of $model with $answers answers" >&2
    done
done
touch "$work/figures"
"$carat" doctor --measure off --json >"$work/doctor"

python3 - "$work" "$device" "$(date -u +%Y-%m-%d)" $same $refused ${#differing[@]} "$far" >"$out" <<'PYTHON'
import json
import re
import sys

work, device, date, same, refused, differing, far = sys.argv[1:]
doctor = json.load(open(work + "/doctor"))
number = int(re.sub(r"\D", "", device) or -1)
gpu = next(d for d in doctor["gpu"]["devices"] if d["usable"] and number in (-1, d["number"]))
emulated = gpu["name"].startswith("emulated")
print(f"# {date}, {gpu['name']}, compute capability {gpu['compute_major']}.{gpu['compute_minor']}, "
      f"{gpu['total_mb']:.0f} MB; carat {doctor['version']}, {doctor['gpu']['kernels']}; logits as on the CPU in "
      f"{same} of {int(same) + int(differing)} passes, {refused} vectors refused, of tensor within {far} of the "
      f"largest"
      + ("; emulated: times mean nothing" if emulated else ""))
print("model,test,answers,tok_s,noise_percent,gb_s,copied_gb_s,of_copied_percent")
text, at, decoder = open(work + "/figures").read(), 0, json.JSONDecoder()
while text[at:].strip():
    results, n = decoder.raw_decode(text[at:].lstrip())
    at = len(text) - len(text[at:].lstrip()) + n
    for r in results:
        c = r["carat"]
        test = f"pp{r['n_prompt']}" if r["n_prompt"] else f"tg{r['n_gen']}"
        share = f"{100 * c['of_read']:.1f}" if c["of_read"] else ""
        print(f"{r['model_type']},{test},{c['n_parallel']},{c['median_ts']:.2f},{100 * c['noise']:.1f},"
              f"{c['gb_s']:.1f},{c['limit_gb_s']:.1f},{share}")
PYTHON
[ ${#differing[@]} = 0 ] || exit 7
