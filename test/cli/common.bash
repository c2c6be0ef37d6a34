# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034 # those that source it use its variables
# common.bash: what the tests of the command share; each sources it. CARAT is the command, CARAT_SOURCE the
# root of the sources. Nothing but a shell and the ordinary tools is needed: JSON is read back by the command
# itself.
set -eu
export LC_ALL=C # bytes, not characters
: "${CARAT:?is the path of the command}" "${CARAT_SOURCE:?is the root of the sources}"
# A test that changes into its own directory must not lose a relative path.
CARAT=$(cd "$(dirname "$CARAT")" && pwd)/$(basename "$CARAT")
tiny=$CARAT_SOURCE/models/tiny
# The cache packs nothing on a disk of which less than a fifth is free: then memory is the better place.
place=${TMPDIR:-/tmp}
[ "$(df --output=pcent "$place" | tr -dc 0-9)" -lt 78 ] || [ ! -w /dev/shm ] || place=/dev/shm
work=$(mktemp -d "$place/carat-test-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_CACHE_HOME=$work/cache XDG_STATE_HOME=$work/state # never the caller's
# `run` may append standard input to its prompt; colours and settings of the caller are not part of a test.
exec </dev/null
unset NO_COLOR CLICOLOR_FORCE COLUMNS ${!CARAT_ARG_@} ${!LLAMA_ARG_@}

die() {
    echo "FAILED: $*" >&2
    if [ -s err ]; then sed 's/^/  stderr: /' err >&2; fi
    exit 1
}

# expect CODE ARGUMENTS...: runs the command; its output is then in the files out and err.
expect() {
    local wanted=$1 code=0
    shift
    "$CARAT" "$@" >out 2>err || code=$?
    [ "$code" = "$wanted" ] || die "carat $*: exit code $code, expected $wanted"
}

# Usage mistakes and other failures say why in exactly one line, `error: CODE: ...`.
refuse() {
    expect "$@"
    [ "$(wc -l <err)" = 1 ] || die "$*: not one line on stderr"
    grep -q '^error: E_[A-Z_]*: ' err || die "$*: the message does not begin with error: CODE:"
}

# verbs: those that `carat help` lists, so that no test forgets a new one.
verbs() {
    "$CARAT" help | sed -n 's/^   \([a-z]*\) .*/\1/p' >verbs
    [ "$(wc -l <verbs)" -ge 14 ] || die "carat help lists the verbs $(cat verbs)"
    cat verbs
}

out_is() {
    printf '%s' "$1" >wanted
    cmp -s wanted out || die "output is '$(cat out)', expected '$1'"
}

out_has() { grep -q -e "$1" out || die "'$1' is not in the output: $(head -c 300 out)"; }
err_has() { grep -q -e "$1" err || die "'$1' is not in the messages"; }
same() { cmp "$1" "$2" >&2 || die "$1 and $2 differ"; }
differ() { ! cmp -s "$1" "$2" || die "$1 and $2 are equal"; }
