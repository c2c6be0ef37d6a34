#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ptx_to_c.py PTX C: looks at the kernels that clang made for GPUs, and writes them as C over
test/emu/fibre.h, a statement for an instruction, so that what a compiler made can be run and compared with
ref. It refuses what changes bits (.ftz, .approx, sums and products of f32 that may be fused), what would be slow
(memory of a thread's own), and every instruction that it does not know."""
import re
import sys

# What a register or a value of memory is in C.
WIDTH = {f'{sign}{n}': f'{"" if sign == "s" else "u"}int{n}_t' for sign in 'usb' for n in (8, 16, 32, 64)}
WIDTH.update(f32='float', pred='bool')
WIDER = {'u16': 'u32', 's16': 's32', 'u32': 'u64', 's32': 's64'}
SPECIAL = {'%tid.x': 'fibre.tid', '%ctaid.x': 'fibre.x', '%ctaid.y': 'fibre.y'}
INFIX = {'add': '+', 'sub': '-', 'mul': '*', 'div': '/', 'rem': '%', 'and': '&', 'or': '|', 'xor': '^'}
COMPARE = {'lt': '<', 'le': '<=', 'gt': '>', 'ge': '>=', 'eq': '==', 'ne': '!='}
OPPOSITE = {'lt': 'ge', 'le': 'gt', 'gt': 'le', 'ge': 'lt'}

HEAD = '''/* Made by ptx_to_c.py. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "fibre.h"
static inline uint32_t bits_of(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static inline float float_of(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
static inline int32_t dot_of(uint32_t x, uint32_t y, int32_t sum)
{
    for (int i = 0; i < 32; i += 8) sum += (int8_t)(x >> i) * (int8_t)(y >> i);
    return sum;
}
static inline uint32_t permuted(uint32_t x, uint32_t y, uint32_t s)
{
    uint32_t all = 0;
    for (int i = 0; i < 4; i++, s >>= 4) all |= ((s & 4 ? y : x) >> (s & 3) * 8 & 255) << i * 8;
    return all;
}
static inline float value_of(uint16_t h) { _Float16 f; memcpy(&f, &h, 2); return (float)f; }
static inline uint16_t half_of(float v) { _Float16 f = (_Float16)v; uint16_t h; memcpy(&h, &f, 2); return h; }
static inline int32_t whole_of(float f)
{
    return f != f ? 0 : f >= 0x1p31f ? INT32_MAX : f < -0x1p31f ? INT32_MIN : (int32_t)f;
}
'''


def refuse(statement, why):
    sys.exit(f'ptx_to_c.py: {why}: {statement}')


def operands(text):
    """Those between commas, of which braces hold some together."""
    return [o.strip() for o in re.findall(r'\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*', text)]


class Kernel:
    """One entry: its registers, and its statements in C."""

    def __init__(self, name, parameter):
        self.name, self.parameter, self.lines, self.registers = name, parameter, [], {}

    def type_of(self, register):
        return self.registers[re.match(r'%[a-z]+', register)[0]]

    def value(self, operand, kind):
        """An operand read as a kind."""
        if operand in SPECIAL:
            return f'(uint32_t){SPECIAL[operand]}'
        if operand.startswith('%'):
            name, own = operand[1:], self.type_of(operand)
            if kind == 'f32':
                return name if own == 'f32' else f'float_of({name})'
            if own == 'f32':
                return f'({WIDTH[kind]})bits_of({name})'
            return name if kind == 'pred' else f'({WIDTH[kind]}){name}'
        if operand.startswith('0f'):
            return f'float_of(0x{operand[2:]}u)'
        if re.fullmatch(r'-?\d+', operand):
            return f'({WIDTH[kind]}){operand}' + ('LL' if kind[1:] == '64' else '')
        if operand == self.parameter:
            return '(uint64_t)(uintptr_t)all'
        return f'(uint64_t)(uintptr_t)&{operand}'

    def set(self, register, kind, value):
        own = self.type_of(register)
        if own == 'f32' and kind != 'f32':
            value = f'float_of({value})'
        elif own != 'f32' and kind == 'f32':
            value = f'bits_of({value})'
        return f'{register[1:]} = {value};'

    def place(self, operand, kind):
        """Memory that a bracket names."""
        base, offset = re.fullmatch(r'\[([^+\]]+)(?:\+(-?\d+))?\]', operand).groups()
        return f'(({WIDTH[kind]} *)(uintptr_t)({self.value(base, "u64")} + (uint64_t)({offset or 0}LL)))'

    def read(self, to, kind, operand):
        if to.startswith('{'):
            parts = enumerate(operands(to[1:-1]))
            return ' '.join(self.set(r, kind, f'{self.place(operand, kind)}[{i}]') for i, r in parts)
        value = f'*{self.place(operand, kind)}'
        if kind[0] == 's':  # it fills the register
            value = f'(uint64_t)(int64_t){value}'
        return self.set(to, kind if kind == 'f32' else self.type_of(to), value)

    def compare(self, p, a):
        kind, how, x, y = p[-1], p[1], self.value(a[1], p[-1]), self.value(a[2], p[-1])
        if how == 'nan':
            value = f'({x} != {x} || {y} != {y})'
        elif how == 'num':
            value = f'({x} == {x} && {y} == {y})'
        elif how[:-1] in OPPOSITE and kind == 'f32':  # or one of them is NaN
            value = f'!({x} {COMPARE[OPPOSITE[how[:-1]]]} {y})'
        elif how == 'neu':
            value = f'({x} != {y})'
        elif how == 'ne' and kind == 'f32':
            value = f'({x} < {y} || {x} > {y})'
        else:
            value = f'({x} {COMPARE[how]} {y})'
        return self.set(a[0], 'pred', value)

    def convert(self, p, a):
        to, of = p[-2], p[-1]
        value = self.value(a[1], 'u16' if of == 'f16' else of)
        if to == 'f16':
            return self.set(a[0], 'u16', f'half_of({value})')
        if of == 'f32':
            value = f'({WIDTH[to]})whole_of({value})'
            return self.set(a[0], self.type_of(a[0]), value)
        if of == 'f16':
            return self.set(a[0], 'f32', f'value_of({value})')
        if to == 'f32':
            return self.set(a[0], 'f32', f'(float){value}')
        return self.set(a[0], self.type_of(a[0]), f'({WIDTH[to]}){value}')

    def arithmetic(self, p, a):
        k, kind = p[0], p[-1]
        if 'wide' in p or 'hi' in p:
            wide = WIDTH[WIDER[kind]]
            x, y = self.value(a[1], kind), self.value(a[2], kind)
            value = f'({wide}){x} * ({wide}){y}'
            if 'hi' in p:
                return self.set(a[0], kind, f'({WIDTH[kind]})({value} >> {kind[1:]})')
            return self.set(a[0], WIDER[kind], value)
        x, y = self.value(a[1], kind), self.value(a[2], 'u32' if k in ('shl', 'shr') else kind)
        if k in ('shl', 'shr'):
            bits = int(kind[1:])
            beyond = f'({x} < 0 ? -1 : 0)' if k == 'shr' and kind[0] == 's' else '0'
            return self.set(a[0], kind, f'{y} >= {bits} ? {beyond} : {x} {"<<" if k == "shl" else ">>"} {y}')
        if k in ('min', 'max') and kind == 'f32':
            return self.set(a[0], kind, f'f{k}f({x}, {y})')
        if k in ('min', 'max'):
            return self.set(a[0], kind, f'{x} {"<" if k == "min" else ">"} {y} ? {x} : {y}')
        if kind[0] == 's' and k in ('add', 'sub', 'mul'):  # they wrap around
            x, y = f'(u{WIDTH[kind]}){x}', f'(u{WIDTH[kind]}){y}'
        return self.set(a[0], kind, f'{x} {INFIX[k]} {y}')

    def statement(self, op, a):
        p = op.split('.')
        k, kind = p[0], p[-1]
        rounds = kind == 'f32' and k in ('add', 'sub', 'mul', 'div', 'sqrt', 'rcp', 'fma', 'mad')
        if 'ftz' in p or 'approx' in p or 'full' in p or (rounds and 'rn' not in p):
            refuse(f'{op} in {self.name}', 'this may change bits')
        if 'local' in p:
            refuse(f'{op} in {self.name}', 'a thread has no memory of its own')
        if k in INFIX or k in ('shl', 'shr', 'min', 'max'):
            return self.arithmetic(p, a)
        if op in ('mad.lo.s32', 'mad.lo.u32'):
            x, y, z = (self.value(o, 'u32') for o in a[1:])
            return self.set(a[0], 'u32', f'{x} * {y} + {z}')
        if op == 'fma.rn.f32':
            return self.set(a[0], kind, f'fmaf({", ".join(self.value(o, kind) for o in a[1:])})')
        if op == 'sqrt.rn.f32':
            return self.set(a[0], kind, f'sqrtf({self.value(a[1], kind)})')
        if op == 'rcp.rn.f32':
            return self.set(a[0], kind, f'1.0f / {self.value(a[1], kind)}')
        if op == 'dp4a.s32.s32':
            x, y, z = self.value(a[1], 'u32'), self.value(a[2], 'u32'), self.value(a[3], 's32')
            return self.set(a[0], 's32', f'dot_of({x}, {y}, {z})')
        if op == 'mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32':
            to, *of = (operands(o[1:-1]) for o in a)
            x, y, z = (', '.join(self.value(r, 'u32') for r in registers) for registers in of)
            made = ' '.join(self.set(r, 's32', f'd[{i}]') for i, r in enumerate(to))
            return f'{{ int32_t d[] = {{{z}}}; const uint32_t x[] = {{{x}}}, y[] = {{{y}}}; ' \
                   f'fibre_multiply(d, x, y); {made} }}'
        mma = re.fullmatch(r'mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.(bf16|f16)\.\1\.f32', op)
        if mma:
            to, *of = (operands(o[1:-1]) for o in a)
            z = ', '.join(self.value(r, 'f32') for r in of.pop())
            x, y = (', '.join(self.value(r, 'u32') for r in registers) for registers in of)
            made = ' '.join(self.set(r, 'f32', f'd[{i}]') for i, r in enumerate(to))
            return f'{{ float d[] = {{{z}}}; const uint32_t x[] = {{{x}}}, y[] = {{{y}}}; ' \
                   f'fibre_multiply_floats(d, x, y, {"true" if mma[1] == "bf16" else "false"}); {made} }}'
        if op == 'lop3.b32' and a[4] == '0x28':
            x, y, z = (self.value(o, kind) for o in a[1:4])
            return self.set(a[0], kind, f'({x} ^ {y}) & {z}')
        if op == 'prmt.b32':
            return self.set(a[0], kind, f'permuted({", ".join(self.value(o, kind) for o in a[1:])})')
        if op in ('bfe.u32', 'bfe.s32'):  # of the upper end of a word, with its sign or without
            above = 32 - int(a[3])
            upper = f'{self.value(a[1], "u32")} << {above - int(a[2])}'
            return self.set(a[0], kind, f'({WIDTH[kind]})({upper}) >> {above}')
        if k in ('neg', 'not'):
            sign = '-' if k == 'neg' else '!' if kind == 'pred' else '~'
            return self.set(a[0], kind, f'{sign}{self.value(a[1], kind)}')
        if k == 'mov' or op in ('cvta.to.global.u64', 'cvta.global.u64'):
            return self.set(a[0], kind, self.value(a[1], kind))
        if k == 'selp':
            x, y = self.value(a[1], kind), self.value(a[2], kind)
            return self.set(a[0], kind, f'{self.value(a[3], "pred")} ? {x} : {y}')
        if k == 'setp':
            return self.compare(p, a)
        if k == 'cvt':
            return self.convert(p, a)
        if k == 'ld':
            return self.read(a[0], kind, a[1])
        if op == 'prefetch.global.L2':  # it is there
            return f'(void)*(volatile uint8_t *)(uintptr_t){self.value(a[0][1:-1], "u64")};'
        if k == 'st':
            to, parts = self.place(a[0], kind), operands(a[1][1:-1]) if a[1].startswith('{') else a[1:]
            return ' '.join(f'{to}[{i}] = ({WIDTH[kind]}){self.value(v, kind)};' for i, v in enumerate(parts))
        if re.fullmatch(r'shfl\.sync\.(down|bfly)\.b32', op) and a[3:] == ['31', '-1']:
            step = self.value(a[2], 's32')
            way = f'fibre.tid ^ {step}' if 'bfly' in p else \
                f'(fibre.tid & 31) + {step} < 32 ? fibre.tid + {step} : fibre.tid'
            return self.set(a[0].split('|')[0], kind, f'fibre_read({self.value(a[1], kind)}, {way})')
        if op == 'bar.sync':
            return 'fibre_wait(&fibre.block);'
        if k == 'bra':
            return f'goto {a[0]};'
        if op == 'ret':
            return 'return;'
        return refuse(f'{op} in {self.name}', 'an instruction that is not known')

    def add(self, text):
        declared = re.fullmatch(r'\.reg \.(\w+)\s+(%[a-z]+)<(\d+)>', text)
        shared = re.fullmatch(r'\.shared \.align \d+ \.(\w+) (\w+)(?:\[(\d+)\])?', text)
        guarded = re.fullmatch(r'@(!?)(%p\d+)\s+(.*)', text, re.S)
        if declared:
            kind, prefix, n = declared.groups()
            self.registers[prefix] = kind
            names = (f'{prefix[1:]}{i} = 0' for i in range(int(n)))
            self.lines.append(f'{WIDTH[kind]} {", ".join(names)};')
        elif shared:
            kind, name, n = shared.groups()
            self.lines.append(f'static _Alignas(16) {WIDTH[kind]} {name}[{n or 1}];')
        elif text.startswith('.pragma'):
            pass
        elif guarded:
            self.lines.append(f'if ({guarded[1]}{guarded[2][1:]}) {{ {self.instruction(guarded[3])} }}')
        else:
            self.lines.append(self.instruction(text))

    def instruction(self, text):
        op, rest = re.fullmatch(r'(\S+)\s*(.*)', text, re.S).groups()
        return self.statement(op, operands(rest))


def main():
    with open(sys.argv[1], encoding='ascii') as f:
        text = re.sub(r'//[^\n]*', '', f.read())
    out, n = [HEAD], 0
    entry = r'\.entry (\w+)\(\s*\.param \.align \d+ \.b8 (\w+)\[\d+\]\s*\)[^{]*\{(.*?)^\}'
    for name, parameter, body in re.findall(entry, text, re.S | re.M):
        kernel = Kernel(name, parameter)
        body = re.sub(r'\{\s*(dp4a[^;]*);\s*\}', r'\1;', body)
        for line in re.split(r';|(?<=:)\n', body):
            label = re.fullmatch(r'\s*(\w+):\s*', line)
            if label:
                kernel.lines.append(f'{label[1]}:;')
            elif line.strip():
                kernel.add(line.strip())
                n += 1
        out.append(f'void {name}_thread(const void *all);\nvoid {name}_thread(const void *all)\n{{')
        out += kernel.lines + ['}']
    if n == 0:
        sys.exit('ptx_to_c.py: no kernel')
    with open(sys.argv[2], 'w', encoding='ascii') as f:
        f.write('\n'.join(out) + '\n')
    print(f'{n} statements of {len(re.findall(".entry", text))} kernels')


main()
