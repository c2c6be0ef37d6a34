#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_tls.sh: carat pull by https: a certificate that somebody trusted vouches for is taken, and none that
# nobody does, that has expired, or that is for another host; and what is asked for by https never goes on by
# http. stunnel speaks TLS before the hub.
. "${CARAT_SOURCE:?}/test/cli/common.bash"
. "$CARAT_SOURCE/test/fetch/fetch.bash"
command -v stunnel4 >/dev/null && command -v openssl >/dev/null || { echo 'stunnel4 or openssl is not there'; exit 77; }
tunnel=
trap 'stop; [ -z "$tunnel" ] || kill $tunnel 2>/dev/null; rm -rf "$work"' EXIT
mkdir -p "$work/served/google/gemma-3-1b-it" tls
cp "$CARAT_SOURCE"/models/tiny/*.* "$work/served/google/gemma-3-1b-it"
model=$hub/models--google--gemma-3-1b-it/snapshots/$commit/model.safetensors

# certificate NAME HOST DAYS [SIGNER]: tls/NAME.pem, signed by itself or by SIGNER
certificate() {
    local signer=(-signkey "tls/$1.key")
    [ $# -lt 4 ] || signer=(-CA "tls/$4.crt" -CAkey "tls/$4.key" -CAcreateserial)
    openssl req -newkey rsa:2048 -nodes -keyout "tls/$1.key" -out tls/csr -subj "/CN=$2" 2>/dev/null
    printf 'subjectAltName=DNS:%s\nbasicConstraints=CA:%s\n' "$2" "$([ "$1" = authority ] && echo TRUE || echo FALSE)" >tls/ext
    openssl x509 -req -in tls/csr "${signer[@]}" -days "$3" -extfile tls/ext -out "tls/$1.crt" 2>/dev/null
    cat "tls/$1.key" "tls/$1.crt" >"tls/$1.pem"
}
certificate authority authority 2
certificate good localhost 2 authority
certificate expired localhost -1 authority
certificate other other.example 2 authority
certificate alone localhost 2

# secure NAME [FAULT]: a hub behind TLS with that certificate
secure() {
    local port
    serve "${2:-relative}"
    [ -z "$tunnel" ] || kill $tunnel 2>/dev/null || true
    for port in $((RANDOM % 20000 + 20000)) $((RANDOM % 20000 + 20000)) $((RANDOM % 20000 + 20000)); do
        printf 'foreground = yes\npid =\nsyslog = no\n[hub]\naccept = 127.0.0.1:%s\nconnect = 127.0.0.1:%s\ncert = %s\n' \
            "$port" "$(cat "$work/port")" "$PWD/tls/$1.pem" >tls/conf
        stunnel4 tls/conf >tls/log 2>&1 &
        tunnel=$!
        for ((i = 0; i < 400; i++)); do # it listens some time after it has said that all is well
            ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break 2
            kill -0 $tunnel 2>/dev/null || break
            sleep 0.05
        done
    done
    kill -0 $tunnel 2>/dev/null || die "stunnel: $(cat tls/log)"
    export HF_ENDPOINT=https://localhost:$port SSL_CERT_FILE=$PWD/tls/authority.crt
}
secure good
expect 0 pull google/gemma-3-1b-it
cmp "$model" "$CARAT_SOURCE/models/tiny/model.safetensors"
refused() { # WORDS NAME
    fresh
    secure "$2"
    expect 6 pull google/gemma-3-1b-it
    err_has "$1"
    [ "$(grep -c '^error: ' err)" = 1 ] || die "not one message: $(cat err)"
    ! find "$hub" -type f 2>/dev/null | grep -q . || die "$2: something was fetched"
    [ ! -s "$work/log" ] || die "$2: the hub was asked"
}
refused '[Cc]ertificate' alone
refused '[Cc]ertificate.*expired' expired
refused 'localhost' other
# nobody is trusted
secure good
export SSL_CERT_FILE=$PWD/tls/alone.crt
fresh
expect 6 pull google/gemma-3-1b-it
# from https to http, where the bytes would be right
fresh
secure good foreign
expect 3 pull google/gemma-3-1b-it
err_has 'http'
[ "$(sent)" = 0 ] || die 'bytes came by http'
