# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs of ops_test.py: name -> (first version, source that defines main())."""

import sys

PRELUDE = '''
class Raises:
    """Every operation on it fails."""
    def fail(self, *args):
        raise ValueError("no operation on Raises")
    __add__ = __radd__ = __iadd__ = __eq__ = __lt__ = __bool__ = __len__ = __iter__ = __getitem__ = __setitem__ = fail
    __delitem__ = __contains__ = __neg__ = __pos__ = __invert__ = __call__ = __hash__ = __format__ = __repr__ = fail
    __matmul__ = __imatmul__ = fail

class Log:
    """Writes down what is done to it."""
    def __init__(self, name="log"):
        self.name = name
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        print("get", self.name, name)
        return Log(self.name + "." + name)
    def __call__(self, *args, **kwargs):
        print("call", self.name, args, kwargs)
        return Log(self.name + "()")
    def __getitem__(self, key):
        print("item", self.name, key)
        return Log("%s[%s]" % (self.name, key))
    def __setitem__(self, key, value):
        print("set", self.name, key, value)
    def __delitem__(self, key):
        print("del", self.name, key)
    def __add__(self, other):
        print("add", self.name, other)
        return Log("%s+%s" % (self.name, other))
    def __radd__(self, other):
        print("radd", self.name, other)
        return self
    def __iadd__(self, other):
        print("iadd", self.name, other)
        return self
    def __bool__(self):
        print("bool", self.name)
        return True
    def __repr__(self):
        return "<%s>" % self.name

class Manager:
    def __init__(self, name, swallow=False, fail=None):
        self.name, self.swallow, self.fail = name, swallow, fail
    def __enter__(self):
        print("enter", self.name)
        if self.fail == "enter":
            raise KeyError("enter")
        return self
    def __exit__(self, kind, error, tb):
        print("exit", self.name, kind and kind.__name__, error, tb and tb.tb_lineno)
        if self.fail == "exit":
            raise KeyError("exit")
        return self.swallow

def value(x):
    print("value", x)
    return x
'''

PROGRAMS = {}


def program(name, source, since=(3, 11)):
    assert name not in PROGRAMS, name
    PROGRAMS[name] = (since, source)


def body(name, text, since=(3, 11), before=""):
    """A program whose main() has this body."""
    lines = "\n".join("    " + line for line in text.strip("\n").split("\n"))
    program(name, before + "\ndef main():\n" + lines + "\n", since)


# ---- locals, cells, names ---------------------------------------------------------------------------------------
body("local", "x = 1\ny = x\nx = y + 1\nreturn x, y")
body("local_unbound", "if False:\n    x = 1\nreturn x")
body("local_deleted", "x = 1\ndel x\nreturn x")
body("delete_unbound", "x = 1\ndel x\ndel x")
body("cell", "x = 1\ndef g():\n    nonlocal x\n    x += 1\n    return x\nreturn g(), g(), x")
body("cell_unbound", "def g():\n    return x\nr = 0\nif r:\n    x = 1\nreturn g()")
body("cell_own_unbound", "def g():\n    return x\nr = 0\nif r:\n    x = 1\nreturn x")
body("cell_delete", "x = 1\ndef g():\n    return x\ndel x\nreturn g()")
body("cell_delete_twice", "x = 1\ndef g():\n    return x\ndel x\ndel x")
program("argument_cell", "def f(a, *b, c=3, **d):\n    def g():\n        return a, b, c, d\n    a += 1\n    return g()\n"
        "def main():\n    return f(1, 2, 3, k=5)\n")
program("free_unbound_later", "def outer():\n    def g():\n        return zz\n    if value(0):\n        zz = 1\n    return g\n"
        "def main():\n    return outer()()\n")
body("global_missing", "return not_there_at_all")
body("global_suggestion", "return valeu(1)")
body("global_store", "global G\nG = 5\nr = G\ndel G\nreturn r")
body("global_delete_missing", "global H\ndel H")
body("builtin", "return len([1]), max(1, 2), sorted('ba')")
program("shadowed_builtin", "len = lambda x: 'mine'\ndef main():\n    return len([1])\n")
program("class_body", "class C:\n    a = 1\n    b = a + 1\n    def f(self): return self.a\n    del a\n    a = b\n"
        "def main():\n    class D(C):\n        x = 1\n        y: int = 2\n        z: 'str'\n        def g(self): return __class__\n"
        "    return D().f(), D().g() is D, D.__annotations__, D.__qualname__, D.__module__\n")
program("class_body_closure", "def main():\n    x = 5\n    class C:\n        y = x\n        x = 6\n        z = x\n"
        "        def g(self): return x\n    return C.y, C.z, C().g()\n")
program("class_nested_free", "def main():\n    x = 1\n    class C:\n        locals()['x'] = 7\n        y = x\n    return C.y\n")
body("class_name_missing", "class C:\n    a = missing_name\n")
body("class_delete_missing", "class C:\n    del missing_name\n")
program("module_names", "a = 1\nb: int = a\nc: 'str'\nfor i in range(3): a += i\ndel i\ntry:\n    i\nexcept NameError as e:\n    t = str(e)\n"
        "def main():\n    return a, b, t, __annotations__\n")
program("module_delete_missing", "try:\n    del nope\nexcept NameError as e:\n    t = str(e), e.name\ndef main():\n    return t\n")
body("comprehension", "x = 3\nreturn [i * x for i in range(3)], {i: x for i in 'ab'}, {i for i in (1, 2)}, list(i for i in 'xy')")
body("comprehension_shadow", "i = 9\nr = [i for i in range(3)]\nreturn r, i")
body("comprehension_unbound_after", "r = [q for q in range(3)]\nreturn q")
body("comprehension_raises", "return [1 / i for i in range(2)]")
body("comprehension_restores", "i = 'kept'\ntry:\n    [1 / i for i in (1, 0)]\nexcept ZeroDivisionError:\n    return i")
body("comprehension_restores_unbound", "if value(0):\n    i = 1\ntry:\n    [1 / i for i in (1, 0)]\nexcept ZeroDivisionError:\n    pass\nreturn i")
body("comprehension_closure", "return [f() for f in [lambda: j for j in range(3)]]")
body("nested_comprehension", "return [[a * b for b in range(3)] for a in range(3) if a % 2 == 0]")
body("walrus", "if (n := value(10)) > 5:\n    return [last := k for k in range(n)], last, n")

# ---- attributes -------------------------------------------------------------------------------------------------
body("attr", "l = Log()\nl.x = 1\nreturn l.x, l.y, l.z(1, k=2)")
body("attr_missing", "return (1).nope")
body("attr_suggestion", "class C:\n    size = 1\nreturn C().sise")
body("method_missing", "return [].push(1)")
body("attr_none", "x = None\nreturn x.shape")
body("attr_store_refused", "(1).x = 2")
body("attr_delete", "l = Log()\ndel l.name\nl.name = 'again'\nreturn l")
body("attr_delete_missing", "l = Log()\ndel l.zz")
body("property", "class C:\n    @property\n    def p(self):\n        print('p')\n        return 1\n    @p.setter\n    def p(self, v):\n        raise ValueError(v)\nc = C()\nr = c.p\nc.p = 3")
body("slots", "class C:\n    __slots__ = ('a',)\nc = C()\nc.a = 1\nr = c.a\ndel c.a\nreturn r, c.a")
body("super_zero", "class A:\n    k = 'A.k'\n    def f(self): return 'A'\nclass B(A):\n    def f(self): return super().f() + super().k\nreturn B().f()")
body("super_two", "class A:\n    def f(self): return 'A'\nclass B(A):\n    def f(self): return super(B, self).f()\nreturn B().f()")
body("super_missing", "class B:\n    def f(self): return super().nope\nreturn B().f()")
body("super_in_lambda", "class A:\n    def f(self): return 'A'\nclass B(A):\n    def f(self):\n        g = lambda s: super().f()\n        return g(self)\nreturn B().f()")
body("super_object", "class A:\n    def f(self): return 'A'\nclass B(A):\n    def f(self):\n        s = super()\n        return s.f(), type(s)\nreturn B().f()")
body("super_outside", "return super()")
program("super_no_argument", "class B:\n    def f():\n        return super()\ndef main():\n    return B.f()\n")
program("super_deleted", "class B:\n    def f(self):\n        s = self\n        del self\n        return super()\ndef main():\n    return B().f()\n")
program("super_shadowed", "def main():\n    class B:\n        def f(self):\n            super = lambda *a: Log('super%s' % len(a))\n            return super().x\n    return B().f()\n")
program("super_shadowed_global", "super = lambda *a: Log('super%s' % len(a))\ndef main():\n    class B:\n        def f(self):\n            return super().x, super(B, 1).y()\n    return B().f()\n")
program("super_cell_self", "class A:\n    def f(self): return 'A'\nclass B(A):\n    def f(self):\n        g = lambda: self\n        return super().f(), g() is self\ndef main():\n    return B().f()\n")

# ---- operators --------------------------------------------------------------------------------------------------
for _number, _op in enumerate("+ & // << * % | ** >> - / ^".split()):
    body("binary_%d" % _number, "a = 29\na %s= 3\nreturn 17 %s 4, a" % (_op, _op))
    body("binary_%d_wrong" % _number, "return value(None) %s value('x')" % _op)
    body("in_place_%d_wrong" % _number, "a = object()\na %s= 'x'" % _op)
body("matmul", "class M:\n    def __matmul__(self, o): return 'mm'\n    def __imatmul__(self, o): return 'imm'\na = M()\nr = a @ 1\na @= 2\nreturn r, a")
body("matmul_wrong", "return 1 @ 2")
body("zero_division", "return (value(1)\n        / value(0))")
body("add_log", "l = Log()\nx = l + 1\ny = 1 + l\nl += 2\nreturn x, y, l")
body("add_raises", "return Raises() + 1")
body("reflected", "class R:\n    def __rsub__(self, o): return ('rsub', o)\nreturn 5 - R()")
body("in_place_list", "a = b = [1]\na += (2, 3)\nreturn a is b, a")
body("in_place_list_wrong", "a = [1]\na += 5")
body("string_ops", "s = 'a'\ns += 'b'\nreturn s * 3, 'x%dy%r' % (3, 'q'), b'1' + b'2'")
body("format_wrong", "return '%d' % 'x'")
body("compare", "return 1 < 2 <= 2 == 2 != 3 > 1 >= 1, 'a' < 'b', [1] == [1], None == 0")
body("compare_wrong", "return 1 < 'x'")
body("compare_raises", "return Raises() == 1")
body("compare_rich", "class N:\n    def __lt__(self, o): return Log('lt')\nreturn N() < 1")
body("compare_rich_bool", "class N:\n    def __lt__(self, o): return Log('lt')\nif N() < 1:\n    return 'taken'")
body("compare_rich_bool_raises", "class N:\n    def __lt__(self, o): return Raises()\nif N() < 1:\n    return 'taken'")
body("compare_chain_shortcut", "return value(3) < value(2) < value(1)")
body("is_op", "x = None\nreturn x is None, x is not None, 1 is not x")
body("contains", "return 1 in [1], 2 not in (1,), 'a' in 'abc', 'k' in {'k': 1}")
body("contains_wrong", "return 1 in 5")
body("contains_raises", "return 1 in Raises()")
body("unary", "x = 5\nreturn -x, +x, ~x, not x, not Log()")
body("unary_negative_wrong", "return -'x'")
body("unary_positive_wrong", "return +'x'")
body("unary_invert_wrong", "return ~1.5")
body("unary_not_raises", "return not Raises()")
body("invert_bool", "x = True\nreturn ~x")
body("subscript", "l = [1, 2, 3]\nd = {'a': 1}\nl[0] = 9\nd['b'] = 2\ndel l[1], d['a']\nreturn l, d, l[-1], (1, 2)[0], 'abc'[1]")
body("subscript_range", "return [1][3]")
body("subscript_key", "return {}['k']")
body("subscript_wrong", "return (5)[0]" .replace("(5)", "value(5)"))
body("subscript_store_wrong", "value((1,))[0] = value(2)")
body("subscript_delete_wrong", "del value((1,))[0]")
body("subscript_log", "l = Log()\nl[1] = 2\ndel l[3]\nreturn l[4]")
body("slice", "l = list(range(9))\na = 2\nl[a:4] = ['x']\ndel l[::3]\nreturn l[a:], l[:a], l[1:a], l[::-1], l[a:a:a]")
body("slice_wrong", "a = 'x'\nreturn [1][a:2]")
body("slice_store_wrong", "l = [1]\na = 0\nl[a:1] = 5")
body("slice_log", "l = Log()\na = 1\nl[a:2] = 3\nreturn l[a:2]")
body("truth", "return [1 if x else 2 for x in (0, 1, '', 'a', [], [0], None)], Log() and 1, 0 or 'x'")
body("truth_raises", "if Raises():\n    return 1")
body("and_raises", "return Raises() and 1")
body("or_raises", "return Raises() or 1")
body("not_bool", "class B:\n    def __bool__(self): return 3\nwhile B():\n    return 1")
body("bool_not_implemented", "if NotImplemented:\n    return 1")
body("none_jumps", "r = []\nfor x in (None, 1):\n    if x is None:\n        r.append('none')\n    if x is not None:\n        r.append('some')\nreturn r")
body("while_none", "x = [1, 2]\nwhile x is not None:\n    x = x if x.pop() == 2 else None\ny = None\nwhile y is None:\n    y = 1\nreturn x, y")
body("while_true", "n = 0\nwhile True:\n    n += 1\n    if n > 1000:\n        break\n    if n % 2:\n        continue\nelse:\n    n = -1\nreturn n")
body("while_condition", "n = 5\nwhile n:\n    n -= 1\nwhile not n:\n    n += 1\nelse:\n    n = 'done'\nreturn n")
body("conditional", "return 1 if value(0) else 2 if value(1) else 3")
body("assertion", "assert value(1)\nassert value(0), value('text')")
body("assertion_plain", "assert 1 == 2")

# ---- containers, unpacking, strings -----------------------------------------------------------------------------
body("build", "a = 1\nreturn (a, 2), [a, 2], {a, 2}, {a: 2}, {'x': a, 'y': 2}, (), [], {}, [1, 2, 3], {1, 2, 3}")
body("build_set_wrong", "a = []\nreturn {a}")
body("build_map_wrong", "a = []\nreturn {a: 1}")
body("set_display_star", "a = [1]\nreturn {*a, *'xy'} == {1, 'x', 'y'}, [*a, *a, 3], (*a, 4), {**{'k': 1}, 'l': 2}")
body("list_star_wrong", "return [*value(5)]")
body("set_star_wrong", "return {*value(5)}")
body("tuple_star_wrong", "return (1, *value(None))")
body("list_star_type_error", "class I:\n    def __iter__(self): raise TypeError('own')\nreturn [*I()]")
body("dict_star_wrong", "return {**value(5)}")
body("dict_star_keys", "class K:\n    def keys(self): return ['a']\n    def __getitem__(self, k): return k * 2\nreturn {**K()}")
body("set_comprehension_wrong", "return {x for x in [[]]}")
body("map_comprehension_wrong", "return {x: 1 for x in [[]]}")
body("unpack", "a, b = 1, 2\n(c, d), [e, f] = (3, 4), 'ef'\n() = []\n[g] = [7]\na, b = b, a\nh, i, j = range(3)\nreturn a, b, c, d, e, f, g, h, i, j")
body("unpack_few", "a, b = (1,)")
body("unpack_many", "a, b = 1, 2, 3")
body("unpack_many_list", "a, b = value([1, 2, 3])")
body("unpack_few_iterator", "a, b, c = iter([1, 2])")
body("unpack_many_iterator", "a, b = iter([1, 2, 3])")
body("unpack_not", "a, b = 5")
body("unpack_raises", "a, b = Raises()")
body("unpack_generator_raises", "def g():\n    yield 1\n    raise KeyError('in g')\na, b = g()")
body("unpack_one_many", "[a] = 'xy'")
body("unpack_star", "a, *b, c = range(5)\n*d, = 'xy'\ne, *f = (1,)\nreturn a, b, c, d, e, f")
body("unpack_star_few", "a, *b, c = [1]")
body("unpack_star_not", "a, *b = 3")
body("unpack_for", "return [a + b for a, b in [(1, 2), (3, 4)]]")
body("unpack_for_wrong", "for a, b in [(1, 2), (3,)]:\n    print(a, b)")
body("fstring", "x, w = 3.14159, 8\nreturn f'{x}', f'{x:.2f}', f'{x!r:>{w}}', f'{x!s}', f'{\"é\"!a}', f'a{x}b{w}c', f'{x=}'")
body("fstring_wrong", "x = 'a'\nreturn f'{x:d}'")
body("fstring_raises", "return f'{Raises()}'")
body("fstring_repr_raises", "return f'{Raises()!r}'")
body("fstring_format", "class F:\n    def __format__(self, spec): return 'F(%s)' % spec\nreturn f'{F()}{F():x}'")
body("fstring_format_wrong", "class F:\n    def __format__(self, spec): return 3\nreturn f'{F()}'")
body("for_else", "r = []\nfor x in range(4):\n    if x == 2:\n        continue\n    r.append(x)\nelse:\n    r.append('else')\nfor x in r:\n    break\nelse:\n    r.append('never')\nreturn r")
body("for_not", "for x in 5:\n    pass")
body("for_raises", "for x in Raises():\n    pass")
body("for_next_raises", "class I:\n    n = 0\n    def __iter__(self): return self\n    def __next__(self):\n        self.n += 1\n        if self.n == 3: raise KeyError('next')\n        return self.n\nfor x in I():\n    print(x)")
body("for_stop", "class I:\n    def __iter__(self): return self\n    def __next__(self): raise StopIteration(4)\nfor x in I():\n    print(x)\nreturn 'end'")
body("for_bad_iterator", "class I:\n    def __iter__(self): return 5\nfor x in I():\n    pass")
body("for_generator", "def g(n):\n    for i in range(n):\n        yield i\nreturn [x for x in g(3)], sum(g(4))")
body("for_dict", "d = {1: 2, 3: 4}\nr = []\nfor k in d:\n    r.append(k)\nfor k, v in d.items():\n    r.append((k, v))\nreturn r")
body("for_dict_changes", "d = {1: 2}\nfor k in d:\n    d[k + 1] = 1")

# ---- calls ------------------------------------------------------------------------------------------------------
F = "def f(a, b=2, /, c=3, *d, e, g=7, **h):\n    return a, b, c, d, e, g, h\n"
body("call_kinds", "return f(1, e=5), f(1, 2, 3, 4, 5, e=6, x=7), f(*(1, 2), **{'e': 3}), f(1, *[2], c=3, **{'e': 4}, **{'z': 5})", before=F)
body("call_missing", "return f()", before=F)
body("call_missing_keyword", "return f(1)", before=F)
body("call_missing_two", "def g(a, b, c): pass\nreturn g(1)")
body("call_many", "def g(a): pass\nreturn g(1, 2, 3)")
body("call_many_defaults", "def g(a, b=1): pass\nreturn g(1, 2, 3)")
body("call_many_keyword_only", "def g(a, *, k=1): pass\nreturn g(1, 2, k=3)")
body("call_unexpected", "def g(a): pass\nreturn g(1, zz=3)")
body("call_twice", "def g(a): pass\nreturn g(1, a=3)")
body("call_positional_only", "def g(a, /): pass\nreturn g(a=3)")
body("call_positional_only_kw", "def g(a, /, **k): return a, k\nreturn g(1, a=3)")
body("call_duplicate", "return f(1, e=5, **{'e': 6})", before=F)
body("call_duplicate_two", "return f(1, **{'e': 5}, **{'e': 6})", before=F)
body("call_not_mapping", "return f(1, **5)", before=F)
body("call_not_mapping_two", "return f(1, e=1, **None)", before=F)
body("call_not_iterable", "return f(*5)", before=F)
body("call_not_iterable_two", "return f(1, *5)", before=F)
body("call_not_iterable_method", "return [].append(*5)")
body("call_not_iterable_builtin", "return print(*None)")
body("call_keys_not_str", "return f(1, e=2, **{3: 4})", before=F)
body("call_mapping_raises", "class M:\n    def keys(self): raise KeyError('keys')\nreturn f(1, e=2, **M())", before=F)
body("call_mapping_attribute_error", "class M:\n    def keys(self): raise AttributeError('keys')\nreturn f(1, e=2, **M())", before=F)
body("call_not_callable", "x = 5\nreturn x(1)")
body("call_not_callable_ex", "x = 5\nreturn x(*[1])")
body("call_raises", "def g():\n    raise ValueError('in g')\nreturn value(\n    g())")
body("call_order", "return value(print)(value(1), *value((2,)), end=value('!'), **value({'sep': ','}))")
body("call_method", "l = []\nl.append(1)\nl.extend([2])\ng = l.append\ng(3)\nreturn l, 'a,b'.split(','), str.upper('x'), ' '.join(['a', 'b'])")
body("call_method_wrong", "return [].append()")
body("call_class", "class C:\n    def __init__(self, a, b=2):\n        self.s = a, b\n    def m(self, x): return self.s, x\nc = C(1)\nreturn c.m(3), C(1, b=4).m(x=5), C.m(c, 6)")
body("call_class_wrong", "class C:\n    def __init__(self, a): pass\nreturn C()")
body("call_init_returns", "class C:\n    def __init__(self): return 3\nreturn C()")
body("call_new", "class C:\n    def __new__(cls, *a): print('new', a); return 5\nreturn C(1)")
body("call_instance", "return Log()(1, k=2)")
body("call_static", "class C:\n    @staticmethod\n    def s(x): return x\n    @classmethod\n    def c(cls, x): return cls.__name__, x\nreturn C.s(1), C().s(2), C.c(3), C().c(4)")
body("call_partial", "import functools\nreturn functools.partial(f, 1, e=3)(2)", before=F)
body("call_lambda", "return (lambda x, *y, z=1: (x, y, z))(1, 2, z=3)")
body("call_recursive", "def fact(n): return 1 if n < 2 else n * fact(n - 1)\nreturn fact(20)")
body("call_keywords_only", "def g(*, a, b): return a, b\nreturn g(b=1, a=2)")
body("call_many_arguments", "def g(*a, **k): return len(a), len(k)\nreturn g(" + ", ".join(str(n) for n in range(300)) + ", " + ", ".join("k%d=%d" % (n, n) for n in range(300)) + ")")
body("function_parts", "def g(a: int, b: 'x' = 1, *c: value(3), d=2, **e: 4) -> value(5):\n    'doc'\n    return a\nreturn g.__annotations__, g.__defaults__, g.__kwdefaults__, g.__doc__, g.__qualname__, g.__module__, g.__name__")
body("function_closure", "x, y = 1, 2\ndef g(a=x, *, b=y):\n    return x, y, a, b\nx = 5\nreturn g(), [c.cell_contents for c in g.__closure__]")
body("decorators", "def deco(n):\n    def wrap(f):\n        print('deco', n, f.__name__)\n        return f\n    return wrap\n@deco(1)\n@deco(2)\ndef g(): return 3\nreturn g()")
body("decorator_raises", "@value\n@Raises()\ndef g(): pass")
body("class_creation", "class Meta(type):\n    def __new__(m, name, bases, ns, **k):\n        print(name, sorted(x for x in ns if not x.startswith('__f') and not x.startswith('__s')), k)\n        return super().__new__(m, name, bases, ns)\n    def __init__(cls, *a, **k): pass\nclass C(metaclass=Meta, k=1):\n    x = 1\nreturn type(C)")
body("class_bad_base", "class C(5, 6): pass")
body("class_body_raises", "class C:\n    x = 1 / 0")
body("dataclass", "import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int\n    y: int = 2\nreturn P(1), P(1, 3) == P(1, 3)")
body("namedtuple", "import collections\nP = collections.namedtuple('P', 'x y')\nreturn P(1, 2), P.__module__")
body("enum", "import enum\nclass E(enum.Enum):\n    A = 1\n    B = 2\nreturn E.A, E.__module__, list(E)")
body("generator_function", "def g():\n    x = yield 1\n    yield x\ni = g()\nreturn next(i), i.send(5), list(i)")
program("generator_root", "def main():\n    yield from (1, 2)\n")
program("coroutine_root", "async def co():\n    return 4\ndef main():\n    try:\n        co().send(None)\n    except StopIteration as e:\n        return e.value\n")
body("async_everything", "import asyncio\nclass M:\n    async def __aenter__(self): return 1\n    async def __aexit__(self, *a): return True\nasync def g():\n    yield 1\n    yield 2\nasync def f():\n    async with M() as m:\n        r = [x async for x in g()]\n        await asyncio.sleep(0)\n        raise KeyError\n    return r, m\nreturn asyncio.run(f())")
body("recursion", "def g(n): return g(n + 1)\ntry:\n    g(0)\nexcept RecursionError as e:\n    return str(e)[:32]")

# ---- frame-sensitive builtins -----------------------------------------------------------------------------------
body("locals", "a = 1\ndef g(): return a\nb = 2\nreturn locals().keys() - {'g'}, locals()['a'], vars()['b'], dir()")
body("locals_kept", "d = locals()\nd['new'] = 1\nx = 5\ne = locals()\nreturn sorted(k for k in e if k not in 'de'), d is e, sorted(k for k in d if k not in 'de')")
body("locals_deleted", "x = 1\nd = locals()\ndel x\nlocals()\nreturn sorted(d)")
body("locals_free", "x = 1\ndef g():\n    y = x\n    return locals()\nreturn g()")
body("locals_comprehension", "k = 1\nreturn [sorted(locals()) for i in (1,)]")
body("locals_wrong", "return locals(1)")
body("globals", "return globals()['__name__'], globals() is main.__globals__")
body("dir_argument", "return dir((1,))[:3], len(vars(Log()))")
body("vars_wrong", "return vars(5)")
body("eval", "x = 5\nreturn eval('x + 1'), eval('x', {'x': 7}), eval('y', {}, {'y': 8}), eval('x', None, {'x': 9}), eval(compile('x * 2', 'c', 'eval'))")
body("eval_missing", "return eval('not_there')")
body("eval_syntax", "return eval('1 +')")
body("eval_no_arguments", "return eval()")
body("eval_bad_globals", "return eval('1', 5)")
body("eval_bad_locals", "return eval('1', None, 5)")
body("eval_keywords", "x = 1\nreturn eval('x', locals={'x': 3})")
body("exec", "ns = {}\nexec('a = 1', ns)\nexec('b = 2', None, ns)\nexec('print(__name__)')\nreturn ns['a'], ns['b']")
body("exec_locals", "x = 1\nexec('x = 2; y = 3')\nreturn x, 'y' in locals()")
body("exec_raises", "exec('1/0')")
body("exec_global", "exec('global ZZ; ZZ = 4')\nreturn globals()['ZZ']")
body("getframe", "import sys\nf = sys._getframe(); n = f.f_lineno\nreturn f.f_code.co_name, n, f.f_globals is globals(), f.f_code.co_filename")
body("getframe_callee", "import sys\ndef who():\n    f = sys._getframe(1)\n    return f.f_code.co_qualname, f.f_lineno, f.f_globals['__name__']\nclass C:\n    def __add__(self, o): return who()\n    @property\n    def p(self): return who()\n    def __getitem__(self, k): return who()\n    def __call__(self): return who()\n    def __eq__(self, o): return who()\n    def __neg__(self): return who()\nc = C()\nreturn who(), c + 1, c.p, c[0], c(), c == 1, -c")
body("warn", "import warnings\ndef old():\n    warnings.warn('old thing', stacklevel=2)\nold()\nwarnings.warn('here')\nwarnings.warn('deprecated', DeprecationWarning)")
body("inspect_stack", "import inspect\ndef who(): return [(f.function, f.lineno) for f in inspect.stack()[:2]]\nreturn who()")
body("logging", "import logging\nr = []\nclass H(logging.Handler):\n    def emit(self, rec): r.append((rec.funcName, rec.lineno, rec.filename))\nlog = logging.getLogger('bl-test')\nlog.propagate = False\nlog.handlers[:] = [H()]\nlog.warning('x')\nreturn r")
body("exc_info", "import sys\ndef g(): return sys.exc_info()[:2]\na = g()\ntry:\n    1 / 0\nexcept ZeroDivisionError as e:\n    b = g()[1] is e\n    try:\n        raise KeyError\n    except KeyError as k:\n        c = g()[1] is k\n    d = g()[1] is e\nreturn b, c, d, g() == a")
body("caller_locals", "import sys\ndef who():\n    f = sys._getframe(1)\n    return sorted((k, v) for k, v in f.f_locals.items() if k[0] in 'xyz'), f.f_code.co_name\nx = 1\ny = 2\ndef g(): return y\nif value(0):\n    z = 3\nreturn who()")
body("own_frame_locals", "import sys\nx = 5\nreturn sys._getframe().f_locals['x']")
body("breakpoint", "import sys\nseen = []\ndef hook():\n    seen.append(sys._getframe(1).f_locals['x'])\nx = 7\nold, sys.breakpointhook = sys.breakpointhook, hook\ntry:\n    breakpoint()\nfinally:\n    sys.breakpointhook = old\nreturn seen")
body("import_module_frames", "import sys\nreturn sys._getframe(0).f_code.co_name")

# ---- exceptions -------------------------------------------------------------------------------------------------
body("raise_class", "raise ValueError")
body("raise_instance", "raise ValueError('text', 2)")
body("raise_not", "raise 5")
body("raise_none", "raise None")
body("raise_class_wrong", "class E(Exception):\n    def __new__(cls): return 5\nraise E")
body("raise_init_raises", "class E(Exception):\n    def __init__(self): raise KeyError('init')\nraise E")
body("raise_from", "raise ValueError('a') from KeyError('b')")
body("raise_from_class", "raise ValueError('a') from KeyError")
body("raise_from_none", "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('a') from None")
body("raise_from_wrong", "raise ValueError('a') from 5")
body("raise_bare", "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise")
body("raise_bare_callee", "def g():\n    raise\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    g()")
body("raise_bare_nothing", "raise")
body("raise_again", "e = ValueError('kept')\ntry:\n    raise e\nexcept ValueError as x:\n    y = x\nraise y")
body("raise_traceback", "e = ValueError('tb')\ntry:\n    raise e\nexcept ValueError:\n    pass\nraise e.with_traceback(None)")
body("except_kinds", "r = []\nfor e in (KeyError, ValueError(1), OSError):\n    try:\n        raise e\n    except (KeyError, IndexError) as x:\n        r.append(type(x))\n    except ValueError:\n        r.append('v')\n    except:\n        r.append('bare')\n    else:\n        r.append('else')\n    finally:\n        r.append('f')\nreturn r")
body("except_unmatched", "try:\n    1 / 0\nexcept KeyError:\n    return 1")
body("except_wrong_class", "try:\n    1 / 0\nexcept 5:\n    pass")
body("except_wrong_tuple", "try:\n    1 / 0\nexcept (KeyError, 'x'):\n    pass")
body("except_class_raises", "try:\n    1 / 0\nexcept value(missing_class):\n    pass")
body("except_name_deleted", "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    pass\nreturn e")
body("except_chain", "try:\n    try:\n        1 / 0\n    except ZeroDivisionError:\n        {}['k']\nexcept KeyError as e:\n    raise ValueError('last')")
body("except_chain_deep", "def a(): raise ValueError('a')\ndef b():\n    try:\n        a()\n    except ValueError:\n        raise KeyError('b')\ntry:\n    b()\nexcept KeyError:\n    [][5]")
body("except_own_context", "try:\n    raise ValueError('x')\nexcept ValueError as e:\n    raise e")
body("context_cycle", "a = ValueError('a')\ntry:\n    try:\n        raise a\n    except ValueError:\n        raise KeyError('b')\nexcept KeyError:\n    raise a")
body("else_raises", "try:\n    pass\nexcept ValueError:\n    pass\nelse:\n    1 / 0\nfinally:\n    print('f')")
body("finally_return", "try:\n    1 / 0\nfinally:\n    return 5")
body("finally_value", "try:\n    return value(1)\nfinally:\n    print('f')")
body("finally_raises", "try:\n    1 / 0\nfinally:\n    {}['k']")
body("finally_loop", "r = []\nfor i in range(5):\n    try:\n        if i == 1:\n            continue\n        if i == 3:\n            break\n        r.append(i)\n    finally:\n        r.append('f')\nreturn r")
body("finally_nested", "try:\n    try:\n        raise KeyError('x')\n    finally:\n        print('inner')\nfinally:\n    print('outer')")
body("finally_multi_line", "try:\n    value(\n        1 / 0\n    )\nfinally:\n    print('f')\n")
body("stop_iteration", "raise StopIteration(3)")
body("system_exit", "raise SystemExit(3)")
body("keyboard_interrupt", "raise KeyboardInterrupt")
body("notes", "e = ValueError('n')\ne.add_note('one')\nraise e")
body("nested_functions_raise", "def a(x):\n    return b(\n        x)\ndef b(x):\n    return [c(y)\n            for y in x]\ndef c(y):\n    return 1 / y\nreturn a([1, 0])")
body("raise_in_lambda", "return (lambda: (lambda: 1 / 0)())()")
body("raise_in_builtin_callback", "return sorted([1, 0], key=lambda x: 1 / x)")
body("traceback_text", "import traceback\ntry:\n    [1][value(5)]\nexcept IndexError as e:\n    return traceback.format_exc()")
body("traceback_locals", "def g(x):\n    y = x + 1\n    def h(): return y\n    raise KeyError(y)\ntry:\n    g(1)\nexcept KeyError as e:\n    return e.__traceback__.tb_next.tb_frame.f_locals['y']")
body("exception_group", "def g():\n    raise ExceptionGroup('eg', [ValueError(1), KeyError(2), OSError(3)])\ntry:\n    g()\nexcept* ValueError as e:\n    print('v', e)\nexcept* KeyError as e:\n    print('k', e)")
body("exception_group_all", "try:\n    raise ExceptionGroup('eg', [ValueError(1), KeyError(2)])\nexcept* (ValueError, KeyError) as e:\n    return_value = str(e)\nreturn return_value")
body("exception_group_naked", "try:\n    raise ValueError(1)\nexcept* ValueError as e:\n    r = repr(e)\nreturn r")
body("exception_group_none", "try:\n    raise KeyError('x')\nexcept* ValueError as e:\n    pass")
body("exception_group_raises", "try:\n    raise ExceptionGroup('eg', [ValueError(1), KeyError(2)])\nexcept* ValueError:\n    raise OSError('new')")
body("exception_group_reraise", "try:\n    raise ExceptionGroup('eg', [ValueError(1), KeyError(2)])\nexcept* ValueError:\n    raise")
body("exception_group_nested", "try:\n    raise ExceptionGroup('a', [ExceptionGroup('b', [ValueError(1), TypeError(2)]), KeyError(3)])\nexcept* TypeError as e:\n    print(repr(e))\nexcept* KeyError as e:\n    print(repr(e))")
body("exception_group_wrong", "try:\n    raise ValueError(1)\nexcept* ExceptionGroup:\n    pass")
body("exception_group_wrong_class", "try:\n    raise ValueError(1)\nexcept* 5:\n    pass")
body("exception_group_else", "try:\n    pass\nexcept* ValueError:\n    pass\nelse:\n    print('else')\nfinally:\n    print('f')")

# ---- with -------------------------------------------------------------------------------------------------------
body("with", "with Manager('a') as m, Manager('b'):\n    print(m.name)\nreturn 1")
body("with_raises", "with Manager('a'):\n    1 / 0")
body("with_swallows", "with Manager('a', swallow=True):\n    1 / 0\nreturn 'after'")
body("with_enter_raises", "with Manager('a', fail='enter'):\n    pass")
body("with_exit_raises", "with Manager('a', fail='exit'):\n    pass")
body("with_exit_raises_over", "with Manager('a', fail='exit'):\n    1 / 0")
body("with_return", "with Manager('a'):\n    return value(5)")
body("with_loop", "for i in range(3):\n    with Manager(i):\n        if i == 1:\n            break\n        continue\nreturn i")
body("with_nested_swallow", "with Manager('a'):\n    with Manager('b', swallow=True):\n        with Manager('c'):\n            raise KeyError('k')\n    print('between')\nreturn 1")
body("with_not", "with 5:\n    pass")
body("with_no_exit", "class E:\n    def __enter__(self): pass\nwith E():\n    pass")
body("with_no_enter", "class E:\n    def __exit__(self, *a): pass\nwith E():\n    pass")
body("with_truth_raises", "class E:\n    def __enter__(self): pass\n    def __exit__(self, *a): return Raises()\nwith E():\n    1 / 0")
body("with_multi_line", "with Manager('a') as a, \\\n     Manager('b', fail='enter') as b:\n    pass")
body("with_contextmanager", "import contextlib\n@contextlib.contextmanager\ndef cm():\n    print('in')\n    try:\n        yield 3\n    except KeyError as e:\n        print('caught', e)\n    finally:\n        print('out')\nwith cm() as x:\n    raise KeyError(x)\nreturn x")
body("with_suppress", "import contextlib\nwith contextlib.suppress(ZeroDivisionError):\n    1 / 0\nreturn 'on'")

# ---- imports ----------------------------------------------------------------------------------------------------
body("import", "import os.path, json as j\nfrom os import path as p, sep\nreturn os.path is p, j.dumps([1]), sep")
body("import_missing", "import no_such_module_here")
body("import_from_missing", "from os import no_such_name")
body("import_from_missing_module", "from no_such_module_here import x")
body("import_sub_missing", "import os.nothing")
body("import_relative", "from . import x")
program("import_star", "from collections import *\nfrom string import *\ndef main():\n    return OrderedDict.__name__, digits\n")
program("import_star_all_wrong", "import sys, types\nm = types.ModuleType('star_module')\nm.__all__ = ['zz']\nsys.modules['star_module'] = m\ntry:\n    from star_module import *\nexcept AttributeError as e:\n    t = str(e)\nm.__all__ = [5]\ntry:\n    from star_module import *\nexcept TypeError as e:\n    t += str(e)\ndel m.__all__\nm._hidden = m.shown = 1\nfrom star_module import *\n"
        "def main():\n    return t, 'shown' in globals(), '_hidden' in globals()\n")
program("import_future", "from __future__ import annotations\ndef main():\n    def g(x: missing): pass\n    return g.__annotations__\n")
program("future_inherited", "from __future__ import annotations\ndef main():\n    exec('def g(x: missing): pass', ns := {})\n    return ns['g'].__annotations__\n")
body("import_hook", "import builtins\nb = {'__import__': lambda *a: ('mine', a[0], a[3], a[4]), 'print': print}\nns = {'__builtins__': b}\nexec('import a.b; from c import count', ns)\nreturn ns['a'], ns['count']")

# ---- match ------------------------------------------------------------------------------------------------------
M = '''
class P:
    __match_args__ = ('x', 'y')
    def __init__(self, x, y): self.x, self.y = x, y
class Q:
    def __init__(self): self.k = 5
def classify(v):
    match v:
        case 1 | 2: return 'small'
        case int(n) if n > 100: return 'big', n
        case str() as s: return 'str', s
        case None | True | False: return 'constant'
        case []: return 'empty'
        case [a]: return 'one', a
        case [1, *rest]: return 'one more', rest
        case (a, b, *_, c): return 'many', a, b, c
        case {'k': 1, **rest}: return 'k is 1', rest
        case {'k': P(x=0), 'l': l}: return 'k is P', l
        case {'m': [a, {'n': b}]}: return 'deep', a, b
        case {}: return 'mapping'
        case P(0, y): return 'P0', y
        case P(x=x, y=P(z)): return 'PP', x, z
        case P(x, y) if x == y: return 'Pxx'
        case Q(k=5): return 'Q5'
        case float(f): return 'float', f
        case -1j: return 'imaginary'
        case _: return 'other'
'''
for _name, _value in {
    "literal": "2", "big": "101", "middle": "50", "str": "'s'", "none": "None", "empty": "[]", "one": "[7]", "rest": "[1, 2, 3]",
    "many": "(5, 6, 7, 8)", "map1": "{'k': 1, 'z': 2}", "map2": "{'k': P(0, 1), 'l': 3}", "map3": "{'m': [1, {'n': 2}]}",
    "map4": "{'q': 1}", "p0": "P(0, 4)", "pp": "P(1, P(2, 3))", "pxx": "P(9, 9)", "q": "Q()", "float": "1.5", "j": "-1j",
    "bytes": "b'x'", "pxy": "P(3, 4)",
}.items():
    body("match_" + _name, "return classify(%s)" % _value, before=M)
    program("match_main_" + _name, M.replace("def classify(v):", "def main():\n    v = %s" % _value))
body("match_too_many", "match P(1, 2):\n    case P(a, b, c):\n        return 1", before=M)
body("match_no_args", "match Q():\n    case Q(a):\n        return 1", before=M)
body("match_bad_args", "class W:\n    __match_args__ = 5\nmatch W():\n    case W(a):\n        return 1")
body("match_bad_args_item", "class W:\n    __match_args__ = (5,)\nmatch W():\n    case W(a):\n        return 1")
body("match_twice", "match P(1, 2):\n    case P(1, x=1):\n        return 1", before=M)
body("match_not_class", "c = 5\nmatch 1:\n    case c():\n        return 1")
body("match_missing_class", "match 1:\n    case Missing():\n        return 1")
body("match_duplicate_key", "a = 'k'\nclass N:\n    k = 'k'\nmatch {'k': 1}:\n    case {N.k: x, 'k': y}:\n        return 1")
body("match_value", "class N:\n    v = 5\nmatch 5:\n    case N.v:\n        return 'v'")
body("match_value_raises", "class N:\n    v = Raises()\nmatch 5:\n    case N.v:\n        return 'v'")
body("match_len", "class S(list):\n    def __len__(self): raise KeyError('len')\nmatch S([1]):\n    case [a]:\n        return a")
body("match_attribute_raises", "class W:\n    @property\n    def x(self): raise KeyError('x')\nmatch W():\n    case W(x=1):\n        return 1")

# ---- 3.12 and later ---------------------------------------------------------------------------------------------
body("type_alias", "type X = list[int]\ntype Y[T] = dict[T, X]\nreturn X.__name__, X.__value__, Y.__type_params__", (3, 12))
body("type_alias_lazy", "type X = missing_name\nreturn X.__value__", (3, 12))
body("generic_function", "def f[T, *Ts, **P](x: T) -> T: return x\nreturn f(3), f.__type_params__, f.__annotations__", (3, 12))
body("generic_bound", "def f[T: int, U: (int, str)](x: T) -> T: return x\nT, U = f.__type_params__\nreturn T.__bound__, U.__constraints__", (3, 12))
body("generic_class", "class C[T]:\n    def m(self, x: T) -> T: return x\nreturn C[int], C().m(3), C.__type_params__, C.__orig_bases__", (3, 12))
body("generic_default", "class C[T = int]: pass\nreturn C.__type_params__[0].__default__", (3, 13))
if sys.version_info[:3] != (3, 13, 0):  # plain CPython 3.13.0 itself crashes on the third comprehension
    program("comprehension_locals", "seen = [sorted(k for k in locals() if k in ('x', 'seen')) for x in (1, 2)]\nlate = [(lambda: x)() for x in range(3)]\nsame = [locals() is globals() for _ in [1]]\nx = 5\nmixed = [x for x in [locals()['x']]]\ndef main():\n    return seen, late, same, mixed, x\n")
program("generic_module", "type A = int\nclass C[T]:\n    x: T\ndef f[U](u: U): return u\ndef main():\n    return A, C[int], f(1)\n", (3, 12))
program("class_comprehension", "class C:\n    a = [1, 2]\n    b = [x * 2 for x in a]\n    c = [y for y in 'xy']\ndef main():\n    return C.b, C.c\n")
program("class_scope_super", "def main():\n    n = 3\n    class C:\n        k = [n for _ in range(2)]\n        class D:\n            j = n\n    return C.k, C.D.j\n")
program("class_annotation_scope", "def main():\n    x = 'outer'\n    class C:\n        x = 'inner'\n        def f[T](self, y: x) -> x: pass\n    return C.f.__annotations__\n", (3, 12))
program("class_annotation_global", "g = 'global'\ndef main():\n    class C:\n        g = 'class'\n        def f[T](self, y: g): pass\n        def h[T](self, y: int): pass\n    return C.f.__annotations__, C.h.__annotations__\n", (3, 12))
