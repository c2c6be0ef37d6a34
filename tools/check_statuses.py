# SPDX-License-Identifier: Apache-2.0
"""check_statuses.py: compares the statuses that the public headers list for a function with those that the sources can
make it return. What a function can return: every CARAT_E_... that it, or a function it names, passes to ct_fail or returns;
a table of functions counts as a function. That is more than really comes out, so an entry may stand in EXCUSED, with the
reason. A status that is listed and can not be returned is an error as well as one that is missing."""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
CALL = re.compile(r"\b[A-Za-z_]\w*\b")
STATUS = re.compile(r"CARAT_E_[A-Z_]+")
# Places where a status is made: ct_fail and its kin, return, an initialiser, an argument. Comparisons are
# none.
COMPARED = re.compile(r"[=!]=\s*CARAT_E_[A-Z_]+|CARAT_E_[A-Z_]+\s*[=!]=|case\s+CARAT_E_[A-Z_]+")

# function: statuses that the graph finds and that never come out, and why
BOUND = {"CARAT_E_FORMAT", "CARAT_E_UNSUPPORTED"}
EXCUSED = {
    "carat_model_open": {"CARAT_E_BUSY"},  # another process writes to the cache: it is left out
    "carat_model_open_memory": {"CARAT_E_BUSY"},  # likewise, for a drafter
    "carat_tokenize": {"CARAT_E_CANCELLED"},  # there is no callback
    "carat_plan_engine": {"CARAT_E_FORMAT"},  # weights are walked that opening has bound and checked
    "carat_fit_engine": {"CARAT_E_FORMAT"},
    # what cannot be kept in the cache is not kept; what a pass that is timed fails with is passed over
    "carat_engine_create": {"CARAT_E_FORMAT", "CARAT_E_BUSY", "CARAT_E_CONTEXT", "CARAT_E_NUMERIC"},
    "carat_model_pack": {"CARAT_E_UNSUPPORTED"},
    "carat_verify": BOUND,
    "carat_save": BOUND | {"CARAT_E_CONTEXT"},  # what is evaluated is held already
    "carat_model_content": BOUND,
    "carat_bisect": {"CARAT_E_FORMAT"},  # likewise
    "carat_generation_pass": {"CARAT_E_CONTEXT"},  # no row is longer than the context has room
    "carat_generation_step": {"CARAT_E_CONTEXT"},
    "carat_generate": {"CARAT_E_CONTEXT"},
    "carat_compare": {"CARAT_E_BUSY"},  # its sessions are its own
    "carat_embed": {"CARAT_E_IO"},  # embedders have no table of layer inputs
    "carat_embed_tokenize": {"CARAT_E_CANCELLED"},  # there is no callback
    # the memory for spelling is reserved, and there is no callback
    "carat_constraint_get_info": {"CARAT_E_CANCELLED", "CARAT_E_MEMORY"},
    "carat_matcher_create": {"CARAT_E_CANCELLED"},
    "carat_matcher_copy": {"CARAT_E_CANCELLED"},
    "carat_generation_get_matcher": {"CARAT_E_CANCELLED"},
    # a header that was just written can be read, and one token more than was left out fits
    "carat_receipt_begin": {"CARAT_E_CONTEXT", "CARAT_E_FORMAT", "CARAT_E_UNSUPPORTED"},
    "carat_receipt_write": {"CARAT_E_FORMAT"},  # nothing is read
    "carat_receipt_replay": {"CARAT_E_BUSY", "CARAT_E_CONTEXT"},  # its session is its own, with room
    "carat_ranges_visit": BOUND | {"CARAT_E_MEMORY"},  # the visitor of its walk does not fail
    # a file that cannot be read is an entry of state CARAT_CACHE_USELESS or CARAT_CACHE_GONE
    "carat_cache_walk": BOUND | {"CARAT_E_BUSY", "CARAT_E_IO", "CARAT_E_NOT_FOUND"},
}
# function: what comes out of it, whatever it calls
ONLY = {
    "ct_fail_damaged": {"CARAT_E_NUMERIC"},  # weights are looked at to say more of it
    "ct_engine_leave_device": set(),  # where the CPU cannot go on, it is the device's failure that is told
}


def strip(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\])*"', '""', text)
    text = text.replace("CT_GIVEN(", "CARAT_E_ARGUMENT (")  # a macro that refuses NULL
    return COMPARED.sub(" ", text)


def definitions(text):
    """Yields (name, body) for functions, and for objects with an initialiser, at file level."""
    for m in re.finditer(r"^(?!#|typedef|struct \w+ \{|enum)[A-Za-z][^;{}#]*?\b(\w+)\s*(\([^;{}]*\)|(?:\[[^\]]*\])*\s*=)\s*\{",
                         text, flags=re.M):
        depth, i = 1, m.end()
        while depth and i < len(text):
            depth += {"{": 1, "}": -1}.get(text[i], 0)
            i += 1
        yield m.group(1), text[m.end():i]


bodies = {}  # (file, name) -> body; static names may occur twice
where = {}
for path in sorted((ROOT / "src").rglob("*.[ch]")):
    for name, body in definitions(strip(path.read_text())):
        bodies[path, name] = body
        where.setdefault(name, []).append(path)


def returns(path, name, seen):
    if (path, name) in seen:
        return set()
    seen.add((path, name))
    if name in ONLY:
        return ONLY[name]
    body = bodies[path, name]
    found = set(STATUS.findall(body))
    for word in set(CALL.findall(body)):
        files = where.get(word, [])
        outer = files if word.startswith(("ct_", "carat_")) else []  # another file's static function is a namesake
        for f in [path] if path in files else outer:
            found |= returns(f, word, seen)
    return found


bad = 0
count = 0
for header in ("carat.h", "carat_generate.h", "carat_tools.h", "carat_quality.h", "carat_embed.h", "carat_convert.h",
               "carat_constrain.h", "carat_receipt.h", "carat_device.h"):
    text = (ROOT / "include" / header).read_text()
    listed_of = {}
    for m in re.finditer(r"/\*((?:(?!\*/).)*)\*/\s*CARAT_API carat_status (carat_\w+)\(", text, flags=re.S):
        comment, name = re.sub(r"\s+\*?\s*", " ", m.group(1)), m.group(2)
        listed = set(STATUS.findall(comment))
        for other in re.findall(r"(?:Errors as|As) (carat_\w+)", comment):
            listed |= listed_of[other]
        listed_of[name] = listed
        files = where.get(name)
        if not files:
            continue
        count += 1
        can = returns(files[0], name, set()) - EXCUSED.get(name, set())
        for status in sorted(can - listed):
            print(f"include/{header}: {name} can return {status}, which its comment does not list")
            bad = 1
        for status in sorted(listed - can):
            print(f"include/{header}: {name} lists {status}, which no source returns")
            bad = 1
if count < 20:
    sys.exit(f"only {count} functions were found")
sys.exit(bad)
