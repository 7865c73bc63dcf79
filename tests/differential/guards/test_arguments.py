# SPDX-License-Identifier: GPL-3.0-or-later
"""One function called with arguments of one kind and another, the same and different objects, in both orders."""

import contextlib
import functools
import io
import math
import os
import sys
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from harness import Tally  # noqa: E402

import torch  # noqa: E402

import breakline  # noqa: E402

FRESH = {"itr": lambda: (iter([1, 2]),), "gen": lambda: ((i for i in [1, 2]),)}  # used up by a call


class P:
    def __init__(s,v=1): s.v=v
    def m(s,x): return x*s.v
class Q(P):
    def __eq__(s,o): return isinstance(o,P) and s.v==o.v
    def __hash__(s): return hash(s.v)
def mk(v):
    def f(x): return x+v
    return f
F1,F2=mk(1),mk(2)
A,B=P(1),P(2); Q1,Q1b,Q2=Q(1),Q(1),Q(2)
LST=[1,2]; 
T=torch.arange(4.)
CASES=[]
def case(*argsets):
    def d(f): CASES.append((f,argsets)); return f
    return d
@case((F1,F2),(F1,F1),(F2,F2))
def same_fn(x,a,b): return x+1 if a is b else x-1
@case((F1,),(F2,))
def in_fnlist(x,a): return x+1 if a in [F2] else x-1
@case((F1,),(F2,))
def in_fnset(x,a): return x+1 if a in {F2} else x-1
@case((F1,),(F2,),(mk(1),))
def fn_key(x,a,d={F2:1}): return x+1 if a in d else x-1
@case((F1,),(F2,))
def fn_is_global(x,a): return x+1 if a is F2 else x-1
@case((A.m,),(B.m,),(A.m,))
def bound(x,m): return m(x)
@case((A.m,B.m),(A.m,A.m))
def bound_eq(x,m,n): return x+1 if m==n else x-1
BM=A.m
@case((BM,A.m),(BM,BM))
def bound_is(x,m,n): return x+1 if m is n else x-1
@case((Q1,Q2),(Q1,Q1b),(Q2,Q2))
def eq_custom(x,a,b): return x+1 if a==b else x-1
@case((Q1,Q2),(Q1,Q1b),(Q2,Q2))
def key_custom(x,a,b): return x+1 if b in {a:1} else x-1
@case((A,B),(A,A))
def obj_idx(x,a,b): return x+[a,A,B].index(b)
@case((A,A),(A,B),(B,A))
def write_alias(x,a,b):
    a.v=5; b.v=7; r=x*a.v; a.v=1; b.v=2; return r
@case(([1],[2]),)
def lists(x,a,b):
    a.append(3); n=len(a); a.pop(); return x*n+len(b)
L=[1]
@case((L,L),([1],[1]),(L,[1]))
def list_alias(x,a,b):
    a.append(3); n=len(b); a.pop(); return x*n
@case((T[:2],T[2:]),(T[:2],T[:2]),(T[1:3],T[:2]))
def overlap(x,a,b):
    c=a.clone(); a.add_(1); r=x+b; a.copy_(c); return r
@case((T,),(T[:2],),(T.double(),),(T.reshape(2,2),))
def meta(x,a): return x.sum()+a.sum()
@case((1,),(True,),(1.0,),(2,))
def num(x,n): return x*n if n is True else x+n, type(n)
@case((0.0,),(-0.0,),(float('nan'),),(1e300,))
def zero(x,n): return x*n, math.copysign(1,n)
@case(("a",),("b",),("a",))
def strs(x,s): return x+len(s+"c") if s=="a" else x
@case((None,),(T,),(None,))
def opt(x,t): return x if t is None else x+t.sum()
@case(({"a":1},),({"a":1,"b":2},),({"b":2,"a":1},),({},))
def dct(x,d): return [k for k in d], sum(d.values())+x
@case(((1,2),),((1,2,3),),([1,2],))
def seq(x,s): return x+len(s), type(s)
@case((range(3),),(range(4),),([0,1,2],))
def rng(x,r):
    for i in r: x=x+i
    return x
@case((P,),(Q,))
def klass(x,c): return c(3).m(x)
@case((functools.partial(F1),),(functools.partial(F2),),(F1,))
def part(x,f): return f(x)
@case((functools.partial(P.m,A),),(functools.partial(P.m,B),))
def part2(x,f): return f(x)
@case((types.SimpleNamespace(a=1),),(types.SimpleNamespace(a=2),),(types.SimpleNamespace(a=2,b=3),))
def ns(x,n): return x+n.a+getattr(n,"b",0)
@case((slice(0,1),),(slice(0,2),),(slice(None),))
def slc(x,s): return x[s]
@case((torch.float32,),(torch.float64,))
def dt(x,d): return x.to(d), d
@case((torch.device("cpu"),),(torch.device("cpu",0),),("cpu",))
def dev(x,d): return x.to(d), str(d)
@case((lambda v:v+1,),(lambda v:v+2,),(lambda v:v*3,))
def lam(x,f): return f(x)
@case((iter([1,2]),),)
def itr(x,i): return x+next(i)
@case(((i for i in [1,2]),),((i for i in [3,2]),))
def gen(x,i): return x+sum(i)
@case((memoryview(b"ab"),),(b"abc",),(bytearray(b"a"),))
def byt(x,b): return x+len(b)
@case((10**30,),(3,),(-1,))
def big(x,n): return n*n, x+(n%7)
@case((1+2j,),(2j,))
def cpx(x,n): return x*n
@case((torch.Size([2]),),(torch.Size([2,1]),),((2,),))
def siz(x,s): return torch.zeros(s)+1, isinstance(s,torch.Size)

def outcome(call, arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            result = call(torch.ones(2), *arguments)
        except Exception as e:
            result = (type(e).__name__, str(e))
    return repr(result) + out.getvalue()


def main():
    tally = Tally("arguments")
    for fn, sets in CASES:
        name = fn.__name__
        for direction, order in (("forth", sets), ("back", sets[::-1])):
            compiled = breakline.compile(fn, plan="replay")
            for call, arguments in enumerate(order * 2):
                want = outcome(fn, FRESH.get(name, lambda: arguments)())
                got = outcome(compiled, FRESH.get(name, lambda: arguments)())
                tally.check(f"{name} {direction} {call}", want == got, f"\nwant {want}\ngot  {got}")
            tally.check(f"{name} {direction} traced", compiled.stats["skipped"] == 0, str(compiled.target_report()["skipped_frames"]))
    tally.finish()


if __name__ == "__main__":
    main()
