#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether kagglehub opens what `carat pull` fetched from Kaggle without a body, and carat what it fetched without a request.

usage: check_clients_kaggle.py CARAT FAKEHUB SOURCE

Runs with the kagglehub that this Python has, against the fake hub of the tests at localhost:7777, where kagglehub asks in
the environment TEST. Ends with "N passed, M failed"; the exit code is 1 when something failed."""
import filecmp
import os
import shutil
import subprocess
import sys
import tempfile
import time

carat, fakehub, source = sys.argv[1:4]
work = tempfile.mkdtemp(prefix="carat-clients-")
log, cache = work + "/log", work + "/kaggle"
handles = {"google/gemma-3/transformers/1b-it": 4, "google/gemma-3/transformers/many": 60}  # files beside the model's
for handle, more in handles.items():
    shutil.copytree(source + "/models/tiny", f"{work}/served/kaggle/{handle}/7")
    for i in range(more):
        with open(f"{work}/served/kaggle/{handle}/7/note {i}.txt", "w") as f:
            f.write(f"{i}\n")
    subprocess.run(["tar", "-C", f"{work}/served/kaggle/{handle}/7", "-czf", f"{work}/served/kaggle/{handle}/7.tar.gz", "."],
                   check=True)
server = subprocess.Popen([fakehub, work + "/served", work + "/port", log], env={**os.environ, "FAKEHUB_PORT": "7777"})
while not os.path.exists(work + "/port") or not open(work + "/port").read():
    if server.poll() is not None:
        sys.exit("port 7777 of this machine is taken: kagglehub asks no other")
    time.sleep(0.01)
for variable in [v for v in os.environ if v.startswith("KAGGLE")] + ["http_proxy", "https_proxy"]:
    os.environ.pop(variable, None)
os.environ.update({"KAGGLE_API_ENVIRONMENT": "TEST", "KAGGLEHUB_CACHE": cache, "KAGGLE_API_TOKEN": "secret", "HOME": work,
                   "XDG_CACHE_HOME": work + "/cache"})
passed = failed = 0


def check(what, good, more=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"FAILED: {what} {more}")


def run(*words):
    r = subprocess.run(words, capture_output=True)
    r.stdout, r.stderr = r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")
    return r


def client(handle, path=None):
    code = f"import kagglehub; print('path=' + kagglehub.model_download({handle!r}, path={path!r}))"
    r = run(sys.executable, "-c", code)  # it also prints what it asks
    r.path = r.stdout.rsplit("path=", 1)[-1].strip() if r.returncode == 0 else ""
    return r


def requests():
    return open(log).read().splitlines() if os.path.exists(log) else []


def bodies(since):
    return [r for r in requests()[since:] if r.startswith("/kaggle-cdn")]


def is_right(handle):
    theirs, ours = f"{work}/served/kaggle/{handle}/7", f"{cache}/models/{handle}/7"
    names = os.listdir(theirs)
    return sorted(os.listdir(ours)) == sorted(names) and not filecmp.cmpfiles(theirs, ours, names, shallow=False)[1]


for handle in handles:
    # what carat pulled
    pulled = run(carat, "pull", "kaggle://" + handle)
    check(f"{handle}: carat pull", pulled.returncode == 0 and is_right(handle), pulled.stderr)
    before = len(requests())
    opened = client(handle)
    check(f"{handle}: model_download", opened.path == f"{cache}/models/{handle}/7", opened.stderr[-600:])
    opened = client(handle + "/7", "config.json")
    check(f"{handle}: of a file", opened.path == f"{cache}/models/{handle}/7/config.json", opened.stderr[-600:])
    check(f"{handle}: no body came again", not bodies(before), bodies(before))

    # what the client pulled
    shutil.rmtree(cache)
    opened = client(handle)
    check(f"{handle}: model_download into nothing", opened.path and is_right(handle), opened.stderr[-600:])
    before = len(requests())
    answer = run(carat, "run", "kaggle://" + handle, "hi", "-n", "4", "--temp", "0", "--no-perf")
    right = run(carat, "run", "tiny", "hi", "-n", "4", "--temp", "0", "--no-perf")
    check(f"{handle}: carat run", answer.returncode == 0 and answer.stdout == right.stdout, answer.stderr)
    again = run(carat, "pull", "kaggle://" + handle)
    check(f"{handle}: carat pull of it", again.returncode == 0, again.stderr)
    check(f"{handle}: no request for it", len(requests()) == before, requests()[before:])

    # a half of each, for the other
    version = f"{cache}/models/{handle}/7"
    shutil.rmtree(cache)
    os.makedirs(version)
    with open(version + "/model.safetensors", "wb") as f:
        f.write(open(f"{work}/served/kaggle/{handle}/7/model.safetensors", "rb").read(1000))
    with open(version + ".archive", "wb") as f:
        f.write(open(f"{work}/served/kaggle/{handle}/7.tar.gz", "rb").read(1000))
    pulled = run(carat, "pull", "kaggle://" + handle)
    check(f"{handle}: a half of kagglehub's", pulled.returncode == 0 and is_right(handle), pulled.stderr)
    shutil.rmtree(cache)
    os.makedirs(f"{cache}/models/{handle}/.complete/7")
    for half in f"{handle}/7.archive.carat.incomplete", f"{handle}/.complete/7/model.safetensors.carat.incomplete":
        with open(f"{cache}/models/{half}", "wb") as f:
            f.write(b"a half")
    opened = client(handle)
    check(f"{handle}: a half of ours", opened.path and is_right(handle), opened.stderr[-600:])
    shutil.rmtree(cache)

    # both at once
    for i in range(3):
        code = f"import kagglehub; kagglehub.model_download({handle!r})"
        other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(0.4 * i)
        ours = run(carat, "pull", "kaggle://" + handle)
        errors = other.communicate()[1].decode(errors="replace")
        check(f"{handle}: race {i}", ours.returncode == 0 and other.returncode == 0, ours.stderr + errors[-600:])
        check(f"{handle}: race {i}: bytes", is_right(handle))
        shutil.rmtree(cache)

server.terminate()
shutil.rmtree(work)
import kagglehub  # noqa: E402

print(f"kagglehub {kagglehub.__version__}: {passed} passed, {failed} failed")
sys.exit(failed > 0)
