#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_chat_drafts.sh: carat chat with a drafter: the conversation of plain decoding, through what is taken
# back, asked again, changed and saved; what it says of drafts. No time is judged.
. "$CARAT_SOURCE/test/cli/common.bash"

tiny4=$CARAT_SOURCE/test/fixtures/tiny4

# talk CODE ARGUMENTS...: a conversation with tiny4; standard input is in the file in.
talk() {
    local wanted=$1 code=0
    shift
    "$CARAT" chat "$tiny4" "$@" <in >out 2>err || code=$?
    [ "$code" = "$wanted" ] || die "carat chat tiny4 $*: exit code $code, expected $wanted"
}
say() { printf '%s\n' "$@" >in; }

say 'Turn on the kitchen lights' 'Is it on?' '/undo' 'Is it off?' '/regen' '/edit What is 2 + 3?' '/undo' '/undo' 'Turn on the heating'
for how in '--temp 0' '--seed 5' '--seed 6 --temp 1.5 --repeat-penalty 1.2'; do
    # shellcheck disable=SC2086  # words of a command line
    talk 0 $how -n 48
    mv out plain
    [ "$(wc -l <plain)" -ge 6 ] || die 'not an answer for each message'
    for with in '' '--spec-type draft-mtp' '--lookup on' '--lookup off --draft-max 2' '--spec-type draft-mtp --chunk 3 -t 1'; do
        # shellcheck disable=SC2086
        talk 0 $how -n 48 -md "$tiny4-assistant" $with
        cmp -s plain out || die "$how: another conversation with -md $with"
    done
done

# what came of it
say 'Turn on the kitchen lights' 'Is it on?'
talk 0 --temp 0 -md "$tiny4-assistant" --spec-type draft-mtp -v
[ "$(grep -c 'drafts of the drafter [1-9][0-9]* of [1-9][0-9]* right' err)" = 2 ] || die 'not a word of drafts behind each answer'
talk 0 --temp 0 -md "$tiny4-assistant" --spec-type draft-mtp --stats
err_has 'of the drafter  *[1-9][0-9]* drafted, [1-9][0-9]* accepted'

# a conversation in a file is the same, and goes on with a drafter and without
say 'Turn on the kitchen lights' '/save plain' 'Is it on?'
talk 0 --temp 0
mv out both
say 'Turn on the kitchen lights' '/save drafted' 'Is it on?'
talk 0 --temp 0 -md "$tiny4-assistant" --spec-type draft-mtp
same out both
same plain drafted
for file in plain drafted; do
    for with in '' "-md $tiny4-assistant --spec-type draft-mtp" "-md $tiny4-assistant --lookup on"; do
        say "/load $file" 'Is it on?' '/undo' '/regen'
        # shellcheck disable=SC2086  # words of a command line
        talk 0 --temp 0 $with
        same <(sed -n 1p out) <(tail -n 1 both)
        same <(tail -n 1 out) <(head -n 1 both)
    done
done

# another vocabulary, and no drafter at all
say hi
talk 4 -md "$CARAT_SOURCE/test/data/vectors/models/gemma3-bf16"
err_has 'the drafter has a vocabulary of '
talk 2 --spec-type draft-mtp
err_has 'needs a drafter: --model-draft MODEL'
