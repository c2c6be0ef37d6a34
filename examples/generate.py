# SPDX-License-Identifier: Apache-2.0
"""generate.py: asks a model one question through libcarat and ctypes. Usage: generate.py MODEL PROMPT"""
import ctypes as c
import sys

if len(sys.argv) != 3:
    sys.exit("usage: generate.py MODEL PROMPT")
class Error(c.Structure):
    _fields_ = [("code", c.c_int), ("message", c.c_char * 1024)]
class Tokens(c.Structure):
    _fields_ = [("ids", c.POINTER(c.c_int32)), ("n", c.c_int), ("capacity", c.c_int)]

lib = c.CDLL("libcarat.so.0")  # LD_LIBRARY_PATH says where, if it is in no usual place
model, engine, session, prompt, token = c.c_void_p(), c.c_void_p(), c.c_void_p(), Tokens(), c.c_int32()
piece, message = c.create_string_buffer(256), (c.c_char_p * 3)(b"user", sys.argv[2].encode(), None)

def call(function, *arguments):
    error = Error()
    if function(*arguments, c.byref(error)) != 0:
        sys.exit(error.message.decode())
def show(token):
    lib.carat_stream_text(session, token, piece, c.c_size_t(256))
    print(piece.value.decode(errors="replace"), end="" if token != -1 else "\n", flush=True)

call(lib.carat_model_open, c.byref(model), sys.argv[1].encode(), None)
call(lib.carat_engine_create, c.byref(engine), model, None)
call(lib.carat_session_create, c.byref(session), engine, None)
call(lib.carat_render, model, message, c.c_size_t(c.sizeof(message)), 1, None, c.byref(prompt), None)
call(lib.carat_sync, session, prompt.ids, prompt.n, None)
for _ in range(256):
    call(lib.carat_sample, session, None, c.byref(token))
    if lib.carat_is_stop(model, token):
        break
    show(token)
    call(lib.carat_append, session, c.byref(token), 1)
show(-1)
