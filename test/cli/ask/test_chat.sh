#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_chat.sh: a whole conversation in a real terminal, tmux: what is on the screen after each line, how many
# tokens a turn evaluates, windows that become narrower, a process that is stopped and goes on. Single keys
# are test_chat_keys.c's, pipes test_chat_pipe.sh's.
. "$CARAT_SOURCE/test/cli/common.bash"
command -v tmux >/dev/null || { echo 'there is no tmux'; exit 77; }

export HOME=$work PATH=$work/bin:$PATH
unset TMUX TMUX_PANE
mkdir bin
ln -s "$CARAT" bin/carat
tm() { LC_ALL=C.UTF-8 tmux -u -S "$work/socket" "$@"; }
# what still runs may write once more while its folder is removed
trap 'tm kill-server 2>/dev/null || true; rm -rf "$work" 2>/dev/null || rm -rf "$work"' EXIT
tm -f /dev/null new-session -d -x 80 -y 40 "env PS1='$ ' LC_ALL=C.UTF-8 bash --norc --noprofile" ||
    { echo 'tmux does not start here'; exit 77; }

# The screen, without the empty lines at its end.
screen() { tm capture-pane -p | sed -e 's/ *$//' -e :a -e '/^\n*$/{$d;N;ba' -e '}'; }
# shows WHAT: waits until the last lines of the screen are these.
shows() {
    local wanted=$1 n i
    n=$(wc -l <<<"$wanted")
    for ((i = 0; i < 1200; i++)); do
        screen >shown
        [ "$(tail -n "$n" shown)" != "$wanted" ] || return 0
        sleep 0.05
    done
    printf '%s\n' "$wanted" >wanted
    die "$(printf 'the screen is\n%s\nexpected at its end\n%s' "$(cat shown)" "$(cat wanted)")"
}
# waits COMMAND...: until it is true of the screen, which is in the file shown, with a prompt as its last
# line.
waits() {
    local i
    for ((i = 0; i < 1200; i++)); do
        screen >shown
        ! { [ "$(tail -n 1 shown)" = '>>>' ] && "$@"; } || return 0
        sleep 0.05
    done
    die "$*: the screen is $(cat shown)"
}
answers() { [ "$(grep -c '^prompt .* token' shown)" = "$1" ]; }
# resizes COLUMNS ROWS: tmux tells its programs some time later.
resizes() {
    local i tty
    tty=$(tm display-message -p '#{pane_tty}')
    tm resize-window -x "$1" -y "$2"
    for ((i = 0; i < 1200; i++)); do
        [ "$(stty -F "$tty" size)" != "$2 $1" ] || return 0
        sleep 0.05
    done
    die "the window does not become $1 columns wide"
}
types() { tm send-keys -l -- "$1"; }
enters() { types "$1" && tm send-keys Enter; }

shows '$'
enters 'carat chat tiny -sys "Be brief."'
shows '$ carat chat tiny -sys "Be brief."
tiny: /help lists the commands, Ctrl-D leaves
>>>'
expect 0 render tiny --messages - --ids <<<'[{"role":"user","content":"x"}]' # the command is in order
echo '[{"role":"system","content":"Be brief."},{"role":"user","content":"Turn on the kitchen lights"}]' >messages.json
expect 0 run tiny --messages messages.json
first=$(cat out)
enters 'Turn on the kitchen lights'
shows ">>> Turn on the kitchen lights
$first

>>>"

# characters of two columns, in a line that goes on
expect 0 run tiny -sys 'Be brief.' 'x'
types '/set system 漢字かな漢字かな漢字かな漢字かな漢字かな漢字かな漢字かな漢字かな Grüße'
shows '>>> /set system 漢字かな漢字かな漢字かな漢字かな漢字かな漢字かな漢字かな漢字かな
 Grüße'
tm send-keys BSpace BSpace BSpace BSpace BSpace BSpace BSpace
shows '>>> /set system 漢字かな漢字かな漢字かな漢字かな漢字かな漢字かな漢字かな漢字か'
tm send-keys C-c
shows '>>>'

# stopped, and on with the shell's fg, in the middle of a line
types 'Is it'
shows '>>> Is it'
tm send-keys C-z
shows '[1]+  Stopped                 carat chat tiny -sys "Be brief."
$'
enters fg
shows '$ fg
carat chat tiny -sys "Be brief."
>>> Is it'
enters ' on?'
waits grep -q '^>>> Is it on?$' shown

# a narrow window: the line is broken anew, help too
types 'This line is longer than forty columns, as you see'
shows '>>> This line is longer than forty columns, as you see'
resizes 40 30
shows '>>> This line is longer than forty colum
ns, as you see'
types '!'
shows '>>> This line is longer than forty colum
ns, as you see!'
resizes 20 30
shows '>>> This line is lon
ger than forty colum
ns, as you see!'
resizes 80 40
shows '>>> This line is longer than forty columns, as you see!'
tm send-keys C-u # a second Ctrl-C within a second would leave
shows '>>>'
resizes 30 40
enters /help
shows '"""                 begins and
    ends a message of several
    lines
Ctrl-C              ends an
    answer
>>>'
resizes 80 40
tm send-keys C-d
shows '>>> ^D
$'

# run without a prompt is a conversation, too; the second turn evaluates what is new
tm send-keys C-l
enters 'carat run tiny -v'
shows 'tiny: /help lists the commands, Ctrl-D leaves
>>>'
enters 'Turn on the kitchen lights'
waits answers 1
enters 'Is it on?'
waits answers 2
enters /regen
waits answers 3
printf 'Turn on the kitchen lights\nIs it on?\n/regen\n' | "$CARAT" chat tiny -v >/dev/null 2>err
evaluated() { sed -nE 's/^prompt ([0-9]+( of [0-9]+)?) token.*/\1/p' "$1"; }
same <(evaluated err) <(evaluated shown)
grep -q '^1 of' <(evaluated shown) || die "/regen: $(evaluated shown)"
enters '/bye'
shows '>>> /bye
$'
