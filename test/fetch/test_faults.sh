#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_faults.sh: each way in which a server can misbehave gives the right bytes, or no file, one line and the
# right exit code, with one connection and with four. Some 200 connections are reset, and a list of 100000
# files is read: 15 seconds of processor time.
. "${CARAT_SOURCE:?}/test/cli/common.bash"
. "$CARAT_SOURCE/test/fetch/fetch.bash"
command -v openssl >/dev/null || { echo 'there is no openssl'; exit 77; }
make_big 20000003

# ---- what is overcome ----
for jobs in 1 4; do
    while read -r fault; do
        fresh
        serve $fault
        get 0 "\"jobs\": $jobs"
        whole || die "$fault: the file differs"
        [ ! -e "$(part)" ] || die "$fault: a part is left"
    done <<'END'
none
range-ignored
range-wrong
range-absent
429 3
429-date 3
429-plain 3
500 3
foreign
expires 1
expires 2
body-changes 2
reset 0
reset 3000001
resets 1500000
END
    # a part that is not what was asked for: the whole is asked for, once
    for fault in range-wrong range-absent; do
        fresh
        mkdir -p "$folder/blobs"
        head -c 7000001 "$big" >"$(part)"
        serve $fault
        get 0 "\"jobs\": $jobs"
        whole || die "$fault: the file differs"
        [ "$(asked)" -le 2 ] && [ "$(sent)" -le $((big_bytes + 4194304)) ] || die "$fault: $(cat "$work/log")"
    done
    # what lay there goes on, whatever the server does with parts
    for fault in none range-ignored 416 'expires 1'; do
        fresh
        mkdir -p "$folder/blobs"
        head -c 7000001 "$big" >"$(part)"
        serve $fault
        get 0 "\"jobs\": $jobs"
        whole || die "$fault: the file that went on differs"
    done
done
serve foreign
fresh
get 0
[ -s "$work/log.headers" ] || die 'no other host was asked'
! grep -qi -e authorization -e secret "$work/log.headers" || die "another host was told: $(cat "$work/log.headers")"
grep -q '^/u/big.*token=1' "$work/log" || die 'the hub got no token'

# a signed address is used again, until it has run out
fresh
serve
get 0
[ "$(grep -c '^/u/big/resolve' "$work/log")" = 1 ] || die "the hub was asked too often: $(cat "$work/log")"
[ "$(sent)" = "$big_bytes" ] || die "too much was sent: $(cat "$work/log")"

# ---- resets at 200 places: what has come stays ----
make_big 300000
for ((k = 0; k < 200; k++)); do
    fresh
    serve reset $((k * 1501 + k % 7))
    get 0
    whole || die "reset at $((k * 1501 + k % 7)): the file differs"
    [ "$(sent)" -le $((big_bytes + 262144)) ] || die "a reset cost too much: $(cat "$work/log")"
done

# ---- what ends it ----
make_big 9000001
for jobs in 1 4; do
    while read -r code words fault; do
        fresh
        serve $fault
        get "$code" "\"jobs\": $jobs"
        error_has "${words//_/ }"
        nothing "$fault"
    done <<'END'
3 nothing_of_it_is_kept flip 5000
3 nothing_of_it_is_kept flip 8500000
3 is_a_page_of_HTML html
3 is_a_pointer_of_Git_LFS pointer
3 is_compressed_(gzip) gzip
3 bytes.*9000001 long
3 leads_on_more_than_10_times loop
3 ftp downgrade
3 the_headers_of_an_answer endless
3 answers_with_status_429,_6_times 429 100
3 answers_with_status_500,_6_times 500 100
6 what_has_come_is_kept silent
6 what_has_come_is_kept drip 1
6 what_has_come_is_kept drip 900
6 what_has_come_is_kept resets 0
6 what_has_come_is_kept short 9000001
END
done
# the whole comes, although every answer lacks its end
fresh
serve short 1
get 6 '"jobs": 1'
nothing short
[ "$(wc -c <"$(part)")" -ge $((big_bytes - 1)) ] || die 'what has come was not kept'
serve
get 0
whole || die 'a part that lacked its last byte was not taken up'

# ---- lists ----
list() { # CODE
    local code=0
    printf '{"do": "list", "endpoint": "%s", "repository": "u/big", "revision": "main", "patience": 1}' "$HF_ENDPOINT" |
        fetch >out 2>err || code=$?
    [ "$code" = "$1" ] || die "carat-fetch: exit code $code, expected $1: $(grep error out)"
}
while read -r words fault; do
    serve $fault
    list 3
    error_has "${words//_/ }"
    ! grep -q '"listed"' out || die "$fault: it was listed"
done <<'END'
does_not_end pages
does_not_end page-away
does_not_end pages-on
has_a_name,_size_or_hash_that_cannot_be bad-name
has_a_name,_size_or_hash_that_cannot_be root-name
has_a_name,_size_or_hash_that_cannot_be zero-name
has_a_name,_size_or_hash_that_cannot_be deep
has_a_name,_size_or_hash_that_cannot_be huge-size
has_a_name,_size_or_hash_that_cannot_be bad-hash
its_licence_has_to_be_accepted gated
there_is_no_such_repository missing
END
serve busy-list 3
list 0
serve many 100000
list 0
[ "$(grep -c '"file"' out)" = 100001 ] || die "$(grep -c '"file"' out) files of 100001 were listed"
# more than the hub serves by a plain address; where there is no room for it, that is said first
serve xet-only
fresh
big_bytes=50000000001 big_hash=0000000000000000000000000000000000000000000000000000000000000000
if [ "$(df --output=avail -B 1 "$work" | tail -n 1)" -gt 52500000000 ]; then
    get 3
    error_has 'has 50.0 GB, and the hub has no plain address for files above 50 GB'
else
    get 1
    error_has 'needs 52500.00 MB, and the disk has'
fi
[ -z "$(find "$hub" -name '*.incomplete')" ] || die 'room for 50 GB was kept'
