#!/usr/bin/env bash
# check_includes.sh: fails when a file includes something its folder may not lean on. The table is the one in
# ARCHITECTURE.md; includes are written relative to src/, or name "carat.h" or a neighbour in cli/ and bench/.
# An angled include with a slash counts when src/ has such a file.
set -uo pipefail
cd "${1:-${CARAT_SOURCE:-$(dirname "$0")/..}}" || exit 2

allowed() { # folder -> extended regular expression of what it may include
    case $1 in
    base) echo '(carat\.h|base/.*)' ;;
    quant) echo '(base|quant)/.*' ;;
    kernel) echo '((base|kernel)/.*|quant/(blocks|quant)\.h)' ;;
    file) echo '(base|quant|file)/.*' ;;
    text) echo '(carat\.h|(base|file|text)/.*)' ;;
    backend) echo '(base|quant|kernel|backend)/.*' ;;
    model) echo '((base|file|quant|model)/.*|backend/backend\.h)' ;;
    api) echo '(carat\.h|(base|quant|kernel|file|text|backend|model|api)/.*)' ;;
    cli | bench) echo '(carat\.h|[a-z0-9_]+\.h)' ;; # headers of their own folder stand beside them
    *) echo '-no such folder-' ;;
    esac
}

bad=0
while IFS= read -r file; do
    folder=${file#src/}
    folder=${folder%%/*}
    pattern="^$(allowed "$folder")\$"
    while IFS= read -r header; do
        [[ $header == '<'* && ! -e src/${header:1} ]] && continue
        header=${header:1}
        [[ $header =~ $pattern ]] && continue
        echo "$file: folder $folder may not include \"$header\""
        bad=1
    done < <(sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*(["<][^">]+)[">].*/\1/p' "$file")
done < <(find src cli bench -name '*.[chS]' 2>/dev/null | sort)
exit $bad
