# SPDX-License-Identifier: GPL-3.0-or-later
"""What a segment leaves behind at its exit: containers with pending changes, iterators over them, objects made from them."""

import collections
import contextlib
import functools
import io
import itertools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from harness import Tally  # noqa: E402

import torch  # noqa: E402

import breakline  # noqa: E402


def program_01(x):
    d = {}
    print("x")
    d["a"]=1
    d["b"]=x+1
    for k in d: print(k)


def program_02(x):
    d = {"z":0}
    print("x")
    d["a"]=1
    for i,k in enumerate(d): print(i,k)


def program_03(x):
    d = {"z":0}
    print("x")
    d["a"]=1
    d.pop("z")
    for (k,v),q in zip(d.items(),[1,2]): print(v,k,q)


def program_04(x):
    d = [3]
    print("x")
    d.append(4)
    d.insert(0,2)
    for v in reversed(d): print(v)


def program_05(x):
    d = [3]
    print("x")
    d.append(4)
    it=iter(d); next(it)
    h={"it":it}
    print("y")
    d.append(5)
    h["n"]=next(it)
    print(list(h["it"]),h["n"])


def program_06(x):
    d = {3:1}
    h={}
    print("x")
    d[4]=5
    it=iter(d); next(it)
    h["it"]=it
    print("y")
    h["n"]=next(it)
    print(list(h["it"]),h["n"])


def program_07(x):
    d = {3}
    h={}
    print("x")
    d.add(9)
    for k in d: print(k)
    d.add(11)
    for k in sorted(d): print(k)


def program_08(x):
    p = functools.partial(lambda a,b=0,**k: (a,b,sorted(k)), b=3, c=5)
    print("x")
    print(p(1))


def program_09(x):
    def g(a, **k):
        yield a
        yield sorted(k.items())
    it=g(1, z=3, y=4)
    print("x")
    print(list(it))


def program_10(x):
    def g(a, **k):
        yield a
        yield sorted(k.items())
    it=g(1, z=3, y=4)
    next(it)
    print("x")
    print(list(it))


def program_11(x):
    d={"a":1}
    print("x")
    d["b"]=2
    it=itertools.chain(d,[5],d.items())
    next(it)
    print("y")
    print(list(it))


def program_12(x):
    d={"a":1,"q":2}
    print("x")
    d["b"]=2
    it=map(lambda k:k*2, d)
    next(it)
    z=zip(d.keys(),d.values(),enumerate(d.items()))
    next(z)
    print("y")
    print(list(it),list(z))


def program_13(x):
    d={"a":1,"q":2}
    print("x")
    for k in list(d):
        d[k+"1"]=d.pop(k)
        print(k)
    print(d)


def program_14(x):
    l=[3]
    print("x")
    for v in l:
        if len(l)<5: l.append(v+1)
        print(v)
    print(l)


def program_15(x):
    l=[3,4,5,6]
    print("x")
    for v in l:
        l.remove(v)
        print(v)
    print(l)


def program_16(x):
    d={"a":1}
    print("x")
    try:
        for k in d:
            d["b"]=2
            print(k)
    except RuntimeError as e: print(e)


def program_17(x):
    d={"a":1,"b":3}
    e={"s":1}
    print("x")
    it=iter(d)
    next(it)
    e["it"]=it
    d["a"]=4
    print("y", next(e["it"]))
    print(list(e["it"]))


def program_19(x):
    d={"a":1}
    for k in d:
        d["b"]=2


def program_20(x):
    d={"a":1,"c":2}
    for k in d.items():
        del d["a"]


def program_21(x):
    d={1,2,3}
    for k in d:
        d.add(k+5)


def program_22(x):
    d={1,2,3}
    print("x")
    for k in d:
        d.discard(3)
        print(k)


def program_23(x):
    d=collections.OrderedDict(a=1,b=2)
    print("x")
    for k in d:
        d["c"]=5
        print(k)


def program_24(x):
    d=collections.deque([1,2])
    print("x")
    for k in d:
        d.append(3)
        print(k)


def program_25(x):
    d={"a":1}
    print("x")
    it=iter(d)
    d["b"]=2
    try: next(it)
    except RuntimeError as e: print(e)
    del d["b"]
    print(list(d))


def program_26(x):
    d={"a":1,"b":3}
    print("x")
    for k,v in zip(d,[1,2,3]):
        if k=="a": d["z"]=0
        print(k,v)


def program_27(x):
    it=iter("abc"); next(it); print(type(it).__name__); print(list(it))


def program_28(x):
    it=iter({1,2,3}); next(it); print("q"); print(type(it).__name__, list(it))


def program_29(x):
    s={1,2}
    print("q")
    s.add(7)
    it=iter(s); a=next(it); print("q",a); print(type(it).__name__, list(it))


def program_30(x):
    it=iter(b"abc"); print("q",next(it)); print(type(it).__name__, list(it))


def program_31(x):
    it=iter(frozenset([1,2,3])); print("q",next(it)); print(type(it).__name__, list(it))


def program_32(x):
    it=iter("ab"); list(it); print("q"); print(type(it).__name__, list(it))


def program_33(x):
    for ch in "abc":
        print(ch)
    for a,b in zip("abc",{3,4,5}): print(a,b)


def observe(call):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            call(torch.ones(2))
        except Exception as e:
            print(type(e).__name__, e)
    return out.getvalue()


def main():
    tally = Tally("exits")
    programs = sorted((n, f) for n, f in globals().items() if n.startswith("program_"))
    for name, fn in programs:
        c = breakline.compile(fn)
        want = observe(fn)
        for i in range(3):
            got = observe(c)
            tally.check(f"{name} call {i}", got == want, f"\nwant {want!r}\ngot  {got!r}")
        tally.check(f"{name} traced", c.stats["skipped"] == 0, c.stats)
    tally.finish()


if __name__ == "__main__":
    main()
