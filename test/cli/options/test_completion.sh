#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_completion.sh: the completion scripts, run by the shells that are for them: bash always, zsh and fish
# where they are installed.
. "$CARAT_SOURCE/test/cli/common.bash"

touch model.gguf 'with space.txt'
expect 0 completion bash
cp out script.bash
bash -n script.bash
# complete WORD...: what bash would offer for the last word
complete_bash() {
    bash -c '. ./script.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _carat; printf "%s\n" "${COMPREPLY[@]}"' - "$@" >out
}

verbs=$(verbs)
complete_bash carat to
out_is $'tokenize\n'
complete_bash carat ''
for verb in $verbs; do out_has "^$verb\$"; done
complete_bash carat run tiny --temp
out_is $'--temp\n--temperature\n'
complete_bash carat run tiny --kv ''
out_is $'bf16\nf16\nf32\nq8\n'
complete_bash carat bench tiny --kv b
out_is $'bf16\n'
complete_bash carat run ''
out_has '^tiny$'
out_has '^model.gguf$'
out_has '^with space.txt$'
complete_bash carat run tiny -f with
out_is $'with space.txt\n'
complete_bash carat run tiny --tokenizer mod
out_is $'model.gguf\n'
complete_bash carat run tiny -n ''
out_is $'\n'
complete_bash carat show t
out_is $'tiny\n'
complete_bash carat help be
out_is $'bench\n'
complete_bash carat completion f
out_is $'fish\n'
complete_bash carat bench ti
out_is $'tiny\ntimeline\n'
complete_bash carat bench timeline mod
out_is $'model.gguf\n'
complete_bash carat tokenize tiny --temp
out_is $'\n'
# the first argument is counted, and where it is there, no file fits any more
none() { complete_bash "$@"; out_is $'\n'; }
complete_bash carat cache ''
out_is $'list\nprune\nclear\nremove\n'
for line in 'cache list' 'run tiny' 'run -m tiny' 'run --temp 1 tiny' 'bench timeline tiny' 'bench tiny' 'run tiny -p x' 'run tiny -p' 'run tiny -n' 'logits tiny' \
    'logits tiny --ids' 'detokenize tiny' 'version' 'doctor' 'help run' 'show tiny --memory 2G' 'completion bash'; do
    none carat $line ''
done
for line in 'run --temp 1' 'run --raw' 'run -m' 'run -p x' 'run --tokenizer' 'run --temp = 1' 'show --color on' 'run --color' 'pack -o'; do
    complete_bash carat $line mod
    out_is $'model.gguf\n'
done
# the values of every choice, also behind a =
for line in 'run tiny --kv' 'run tiny --kv =' 'bench --kv = ' 'logits tiny -ctk' 'run -ctv'; do
    complete_bash carat $line bf
    out_is $'bf16\n'
done
complete_bash carat run tiny --kv =
out_has '^q8$'
complete_bash carat run tiny --isa ''
out_is $'ref\navx2\navxvnni\navx512\nvnni\namx\nneon\ndotprod\ni8mm\n'
complete_bash carat run tiny --color ''
out_is $'on\noff\nauto\nalways\nnever\n'
complete_bash carat doctor --measure of
out_is $'off\n'
complete_bash carat bench tiny -o j
out_is $'json\njsonl\n'
# every option that help shows is offered
for verb in $verbs; do
    expect 0 help $verb --help-all
    grep -oE '^  (-[^ ,]+(, )?)+' out | tr -d ' ' | tr ',' '\n' | grep . | sort >wanted
    complete_bash carat $verb x -
    sort out >found
    same wanted found
done

expect 0 completion zsh
cp out _carat
head -n 1 _carat | grep -q '^#compdef carat$' || die 'zsh would not find it'
expect 0 completion fish
cp out carat.fish
refuse 2 completion
refuse 2 completion tcsh
err_has 'bash, zsh, fish'

if command -v zsh >/dev/null; then
    zsh -n _carat
    # zsh completes only for somebody who types: a pretended terminal does, until the wanted text appears.
    cat >ask.zsh <<'EOF'
zmodload zsh/zpty
tries=${3:-200}
zpty z 'PS1= TERM=dumb zsh -f -i'
zpty -w z 'PS1=; fpath=($PWD $fpath); autoload -U compinit; compinit -u -d ./dump; bindkey "^I" complete-word; echo re""ady'
zpty -r -m z line '*ready*'
zpty -n -w z "carat $1"$'\t'
seen=
for i in {1..$tries}; do
    zpty -r -t z line && seen+=$line
    [[ $seen == *$2* ]] && exit 0
    sleep 0.05
done
print -r -- "$1: no $2 in $seen"
exit 1
EOF
    ask() { timeout 30 zsh -f ask.zsh "$@" >out 2>&1 || die "zsh: $(cat -v out)"; }
    ask toke 'carat tokenize'
    ask 'run tiny --chat-template funct' functiongemma
    ask 'run tiny --tempe' '--temperature'
    ask 'help ben' 'help bench'
    ask 'show mod' 'show model.gguf'
    ask 'bench timel' 'bench timeline'
    ask 'bench timeline mod' 'timeline model.gguf'
    ask 'show ti' 'show tiny'
    ask 'cache pru' 'cache prune'
    ask 'run tiny --isa avx5' avx512
    ask 'run --tokenizer mod' 'tokenizer model.gguf'
    ask 'doctor --measure of' 'measure off'
    never() { ! timeout 30 zsh -f ask.zsh "$@" >out 2>&1 || die "zsh: $*: $(cat -v out)"; }
    never 'run tiny mod' model.gguf 20
    never 'cache mod' model.gguf 20
fi
if command -v fish >/dev/null; then
    export HOME=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work
    ask() { fish --no-config -c "source ./carat.fish; complete -C '$1'" | cut -f 1 >out; }
    ask 'carat toke'
    out_is $'tokenize\n'
    ask 'carat run tiny --kv b'
    out_is $'bf16\n'
    ask 'carat run tiny --temp'
    out_has '^--temperature$'
    ask 'carat run mod'
    out_is $'model.gguf\n'
    ask 'carat help ben'
    out_has '^bench$'
    ask 'carat run ti'
    out_is $'tiny\n'
    ask 'carat cache '
    out_is $'clear\nlist\nprune\nremove\n'
    ask 'carat run tiny --isa avx5'
    out_is $'avx512\n'
    ask 'carat doctor --measure o'
    out_is $'off\non\n'
    ask 'carat run --temp 1 --raw mod'
    out_is $'model.gguf\n'
    ask 'carat run tiny --tokenizer mod'
    out_is $'model.gguf\n'
    for line in 'cache ' 'cache list ' 'run tiny ' 'run tiny -p ' 'run -m tiny ' 'version ' 'help '; do
        ask "carat $line"
        ! grep -q model.gguf out || die "fish offers files after carat $line"
    done
    ask 'carat tokenize tiny --temp'
    ! grep -q temp out || die 'an option of another verb'
fi
