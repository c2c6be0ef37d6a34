#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_texts.sh: the commands that README.md, `carat help` and the man pages print are run as they are
# printed, in the order of the text, and none fails. MODEL, tools.json and the other names of examples are
# files here. What builds and installs is run by test/api/test_fresh_clone.sh, what downloads by nobody.
# README.md stays one page, a row of SUPPORT.md one promise, and every test that it names is there.
. "$CARAT_SOURCE/test/cli/common.bash"
export CARAT_ARG_FORCE=1 # files of earlier commands give way
[ -z "${CARAT_CFLAGS:-}" ] || { echo 'the commands are run in the release flavour only'; exit 77; }
command -v timeout >/dev/null || { echo 'there is no timeout'; exit 77; }

words=$(wc -w <"$CARAT_SOURCE/README.md")
[ "$words" -le 700 ] || die "README.md has $words words, expected at most 700"
LC_ALL=C.UTF-8 grep -nE '.{301,}' "$CARAT_SOURCE/SUPPORT.md" >long && die "a row of SUPPORT.md has more than 300 columns: $(cut -c1-60 long)"
grep -oE '`(test|tools|examples|src)/[^`]*`' "$CARAT_SOURCE"/{README,SUPPORT}.md | cut -d '`' -f 2 | sort -u >paths
[ "$(wc -l <paths)" -gt 20 ] || die 'SUPPORT.md names no tests'
while read -r path; do
    compgen -G "$CARAT_SOURCE/$path" >/dev/null || die "SUPPORT.md or README.md names $path, which does not exist"
done <paths

# ---- the texts ----

# Lines of README.md that are indented by four columns, without their comments.
sed -n 's/^    //p' "$CARAT_SOURCE/README.md" | sed 's/  *# .*//' >readme
verbs=$(verbs)
: >./help
: >./man
for verb in '' $verbs; do
    expect 0 help $verb --help-all
    sed -n '/^examples:/,/^$/s/^  //p' out >>./help
    expect 0 help --man $verb
    sed -n '/^.SH EXAMPLES/,/^.EE/p' out | grep -v '^\.' |
        sed 's/\\-/-/g; s/\\(dq/"/g; s/\\(aq/'\''/g; s/\\(ga/`/g; s/\\(ha/^/g; s/\\(ti/~/g; s/\\&//g; s/\\e/\\/g' >>./man
done
same help man # a page shows what help shows
[ "$(wc -l <help)" -ge "$(echo "$verbs" | wc -l)" ] || die "examples: $(cat help)"

# Every line of README.md is run here or there; a new kind of line has to be given a place.
grep -vE '^(carat |build/release/carat |\./program |cc |python3 |LD_LIBRARY_PATH=[^ ]* python3 |make |cmake |export |hf |ssh-keygen )' readme >other || true
[ ! -s other ] || die "README.md has a command that no test runs: $(cat other)"

# ---- what they name ----

mkdir bin models examples
ln -s "$CARAT" bin/carat
ln -s "$tiny" models/tiny
ln -s "$tiny" MODEL
mkdir EMBEDDER # by the tokenizer of tiny, whose vocabulary is as large
ln -s "$CARAT_SOURCE"/test/data/embed/models/embed1/* "$tiny/tokenizer.json" EMBEDDER
cp "$tiny/tools.json" tools.json
echo '[{"role": "user", "content": "Turn on the kitchen lights"}]' >messages.json
echo 'The lights in the kitchen are on.' >notes.txt
echo '{"question": "Where is the bed?", "choices": ["In the bedroom.", "In the office."], "answer": "A"}' >items.jsonl
echo '{"prompt": "Where is the bed?"}' >prompts.jsonl
echo 'q4_0 --type q4_0' >recipes.txt
echo 'root ::= "yes" | "no"' >answer.gbnf
export HOME=$work PATH=$work/bin:$PATH
mkdir .ssh
! command -v ssh-keygen >/dev/null || ssh-keygen -q -t ed25519 -N '' -f .ssh/id_ed25519
# what is pulled comes from a hub on this machine
if [ -x "$CARAT_BUILD/carat-fetch" ]; then
    mkdir -p served/google
    ln -s "$tiny" served/google/gemma-3-1b-it
    "$CARAT_BUILD/test/fakehub" served port log &
    hub=$!
    trap 'kill $hub; rm -rf "$work"' EXIT
    until [ -s port ]; do sleep 0.01; done
    HF_ENDPOINT=http://127.0.0.1:$(cat port)
    export HF_ENDPOINT
    unset HF_HOME HF_HUB_CACHE HF_HUB_OFFLINE TRANSFORMERS_OFFLINE http_proxy
fi

cat readme help | grep -E 'carat |^ssh-keygen ' | grep -vE '^(cmake|make|build/)|program' | awk '!seen[$0]++' >commands
[ "$(grep -c '^carat run' commands)" -ge 3 ] || die "commands: $(cat commands)"
while IFS= read -r line; do
    case $line in
    ssh-keygen*) command -v ssh-keygen >/dev/null || continue ;;
    'carat serve '*) ! carat serve no.model 2>&1 | grep -q 'without libuv' || continue ;;
    *'| man '*) command -v man >/dev/null || continue ;;
    'carat pull '* | 'carat search '* | 'carat fetch '* | 'carat r'[mu]*' gemma3:1b '*) [ -n "${hub:-}" ] || continue ;;
    esac
    if [[ $line == 'carat serve '* ]]; then # until it listens, and is told to end
        line="$line --port 0 & until grep -q curl out || ! kill -0 \$!; do sleep 0.05; done; kill \$!; wait \$!"
    fi
    code=0
    timeout 120 bash -o pipefail -c "$line" </dev/null >out 2>err || code=$?
    # two runs on a busy machine may well differ in speed
    case $code:$line in
    0:* | 7:*--compare*) ;;
    *) die "$line: exit code $code" ;;
    esac
    [ $code != 0 ] || ! grep -q '^error' err || die "$line: an error, and exit code 0"
    [ -s out ] || [[ $line == *'>'* || $line == source* || $line == *' -o '* || $line == *--out* || $line == *--plot* ||
        $line == *'cache list'* || $line == 'carat convert '* || $line == 'carat quantize '* ||
        $line == 'carat chat MODEL' || $line == ssh-keygen* ]] ||
        die "$line: prints nothing"
done <commands
# what is printed as tiny's answer is right
carat run tiny "Turn on the kitchen lights" >out 2>err </dev/null
out_has '^The kitchen lights are now on'
