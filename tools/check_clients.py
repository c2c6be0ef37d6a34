#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether huggingface_hub opens what `carat pull` fetched without a body, and carat what it fetched without a request.

usage: check_clients.py CARAT FAKEHUB SOURCE

Runs with the huggingface_hub that this Python has, against the fake hub of the tests. Ends with "N passed, M failed"; the
exit code is 1 when something failed. check_clients.sh runs it with each version that is named there."""
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time

carat, fakehub, source = sys.argv[1:4]
work = tempfile.mkdtemp(prefix="carat-clients-")
name, commit = "google/gemma-3-1b-it", "0123456789abcdef0123456789abcdef01234567"
served, log, cache = work + "/served", work + "/log", work + "/hub"
shutil.copytree(source + "/models/tiny", f"{served}/{name}")
os.makedirs(f"{served}/u/big")
with open(f"{served}/u/big/m.gguf", "wb") as f:
    f.write(os.urandom(30000000))  # long enough to be raced for
# bytes lie on another host: newer versions follow a redirect within one, and miss the first answer's headers
server = subprocess.Popen([fakehub, served, work + "/port", log, "foreign"])
while not os.path.exists(work + "/port") or not open(work + "/port").read():
    time.sleep(0.01)
environment = {"HF_ENDPOINT": "http://127.0.0.1:" + open(work + "/port").read().strip(), "HF_HUB_CACHE": cache,
               "XDG_CACHE_HOME": work + "/cache", "HOME": work, "HF_HUB_DISABLE_TELEMETRY": "1",
               "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
os.environ.update(environment)
for variable in "HF_HOME", "HF_TOKEN", "HF_HUB_OFFLINE", "http_proxy", "https_proxy":
    os.environ.pop(variable, None)
passed = failed = 0


def check(what, good, more=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"FAILED: {what} {more}")


def run(*words, **variables):
    return subprocess.run(words, env={**os.environ, **variables}, capture_output=True, text=True)


def requests():
    return open(log).read().splitlines() if os.path.exists(log) else []


def bodies(since):
    """Answers that sent bytes of a file."""
    return [r for r in requests()[since:] if not r.startswith("/api") and not r.endswith("sent=0")
            and not r.endswith("sent=5")]


def client(code, **variables):
    return run(sys.executable, "-c", "from huggingface_hub import *; " + code, **variables)


# what carat pulled
pulled = run(carat, "pull", name)
check("carat pull", pulled.returncode == 0, pulled.stderr)
snapshot = pulled.stdout.strip()
wanted = sorted(os.listdir(snapshot))
before = len(requests())
for file in wanted:
    opened = client(f"print(hf_hub_download({name!r}, {file!r}))")
    check(f"hf_hub_download {file}", opened.stdout.strip() == f"{snapshot}/{file}", opened.stderr[-600:])
opened = client(f"print(snapshot_download({name!r}, allow_patterns={wanted!r}))")
check("snapshot_download", opened.stdout.strip() == snapshot, opened.stderr[-600:])
check("no body came again", not bodies(before), bodies(before))
before = len(requests())
opened = client(f"print(snapshot_download({name!r}, allow_patterns={wanted!r}))", HF_HUB_OFFLINE="1")
check("offline", opened.stdout.strip() == snapshot and len(requests()) == before, opened.stderr[-600:])
if importlib.util.find_spec("transformers"):
    code = f"from transformers import AutoTokenizer as A; print(*A.from_pretrained({name!r})('Turn on the lights').input_ids)"
    opened = run(sys.executable, "-c", code, HF_HUB_OFFLINE="1")
    ids = run(carat, "tokenize", name, "Turn on the lights")
    check("AutoTokenizer", opened.stdout.split() == ids.stdout.split() and len(requests()) == before,
          opened.stdout + opened.stderr[-600:] + ids.stdout + ids.stderr)
# an old version takes the tag of a cache, which newer ones write too, for a repository that is no folder
scan = client("i = scan_cache_dir(); print(len(i.repos), [str(w) for w in i.warnings if 'CACHEDIR.TAG' not in str(w)])")
check("scan_cache_dir", scan.stdout.strip() == "1 []", scan.stdout + scan.stderr[-600:])
hf = os.path.dirname(sys.executable) + "/hf"
if os.path.exists(hf) and "verify" in run(hf, "cache", "--help").stdout:
    listed, verified = run(hf, "cache", "ls"), run(hf, "cache", "verify", name)
    check("hf cache ls", listed.returncode == 0 and name in listed.stdout + listed.stderr, listed.stdout + listed.stderr)
    text = verified.stdout + verified.stderr
    check("hf cache verify", verified.returncode == 0 and "mismatch" not in text.lower(), text[-600:])

# what the client pulled
shutil.rmtree(cache)
opened = client(f"print(snapshot_download({name!r}, allow_patterns={wanted!r}))")
check("snapshot_download into nothing", opened.returncode == 0, opened.stderr[-600:])
before = len(requests())
answer = run(carat, "run", name, "hi", "-n", "4", "--temp", "0", "--no-perf")
right = run(carat, "run", "tiny", "hi", "-n", "4", "--temp", "0", "--no-perf")
check("carat run", answer.returncode == 0 and answer.stdout == right.stdout, answer.stderr)
again = run(carat, "pull", name)
check("carat pull of it", again.stdout.strip() == opened.stdout.strip(), again.stderr)
check("no request for it", len(requests()) == before, requests()[before:])

# an older version's half is taken up; a half of ours disturbs none
shutil.rmtree(cache)
big = open(f"{served}/u/big/m.gguf", "rb").read()
blob = f"{cache}/models--u--big/blobs/{hashlib.sha256(big).hexdigest()}"
os.makedirs(os.path.dirname(blob))
with open(blob + ".incomplete", "wb") as f:
    f.write(big[:20000000])
before = len(requests())
pulled = run(carat, "pull", "u/big")
check("a half of an older version", pulled.returncode == 0 and open(pulled.stdout.strip(), "rb").read() == big, pulled.stderr)
check("all but that half came", sum(int(r.rsplit("sent=", 1)[1]) for r in bodies(before)) == len(big) - 20000000, bodies(before))
shutil.rmtree(cache)
os.makedirs(os.path.dirname(blob))
with open(blob + ".carat.incomplete", "wb") as f:
    f.write(b"a half of something else")
opened = client("print(hf_hub_download('u/big', 'm.gguf'))")
check("a half of ours", opened.returncode == 0 and open(opened.stdout.strip(), "rb").read() == big, opened.stderr[-600:])

# both at once
for i in range(5):
    shutil.rmtree(cache)
    code = "from huggingface_hub import *; print(hf_hub_download('u/big', 'm.gguf'))"
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.15 * i)
    ours = run(carat, "pull", "u/big")
    out, errors = other.communicate()
    check(f"race {i}", ours.returncode == 0 and other.returncode == 0, ours.stderr + errors[-600:])
    same = ours.stdout == out and open(out.strip(), "rb").read() == open(f"{served}/u/big/m.gguf", "rb").read()
    left = [f for _, _, files in os.walk(cache) for f in files if "incomplete" in f]
    check(f"race {i}: bytes", same and not left, left)

server.terminate()
shutil.rmtree(work)
import huggingface_hub  # noqa: E402

print(f"huggingface_hub {huggingface_hub.__version__}: {passed} passed, {failed} failed")
sys.exit(failed > 0)
