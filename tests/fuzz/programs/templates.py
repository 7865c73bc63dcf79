# SPDX-License-Identifier: GPL-3.0-or-later
"""Statement templates of the fuzz grammar beyond plain code.

In a line `@T @I @N @D @C` become an expression of a tensor, an integer, a list of ints, a dict of ints, a condition; `#` becomes a number
of its own. `gives` names what the lines bind: kind -> name. A line `...` is replaced by a drawn block, indented like itself.
"""

TEMPLATES = [
    # generators with state
    (["def g#(k):", "    got = 0", "    while got < k:", "        back = yield got + @I", "        got += 1 if back is None else back % 3 + 1",
      "    return got", "it# = g#(3)", "i# = next(it#, 7)", "try:", "    i# += it#.send(@I)", "except StopIteration as stop:",
      "    LOG.append(stop.value)", "LOG.append(list(it#))"], {"I": "i#"}),
    (["def g#():", "    try:", "        yield @T", "        ...", "        yield @T", "    except ValueError as e:", "        LOG.append(str(e))",
      "        yield x * 2", "    finally:", "        LOG.append('fin #')", "it# = g#()", "t# = next(it#)", "try:",
      "    t# = t# + it#.throw(ValueError('in #'))", "except (ValueError, StopIteration) as e:", "    LOG.append(type(e).__name__)",
      "it#.close()"], {"T": "t#"}),
    (["def inner#(k):", "    got = []", "    for j in range(k):", "        got.append((yield j + @I))", "    return len(got)",
      "def outer#(k):", "    r = yield from inner#(k)", "    yield r * 10", "n# = list(outer#(2)) + [@I]"], {"N": "n#"}),
    (["def g#():", "    for j in items[:3]:", "        gb()", "        yield j", "i# = sum(g#())"], {"I": "i#"}),
    (["for w# in gen(@T, 3):", "    if w#.dim() == 2:", "        break"], {"T": "w#"}),
    (["keep# = gen(@T, 3)", "t# = next(keep#)", "gb()", "t# = t# + next(keep#)", "del keep#"], {"T": "t#"}),
    # match
    (["match @I:", "    case 0:", "        LOG.append('zero')", "    case 1 | 2:", "        ...", "    case int(k) if k > 3:",
      "        LOG.append(('big', k))", "    case _:", "        ..."], {}),
    (["match [@I, *@N]:", "    case [a, b]:", "        i# = a + b", "    case [a, *rest]:", "        i# = a + len(rest)", "    case _:",
      "        i# = 0"], {"I": "i#"}),
    (["match {'kind': @I, 'v': @I, **@D}:", "    case {'kind': 1, 'v': k}:", "        i# = k", "    case {'kind': k, **rest}:",
      "        i# = k + len(rest)"], {"I": "i#"}),
    (["match Pair(@I, @I):", "    case Pair(a=1, b=k):", "        i# = k", "    case Pair(a=k):", "        i# = k + 100"], {"I": "i#"}),
    # closures
    (["c# = @I", "def up#(by=1):", "    nonlocal c#", "    c# += by", "    return c#", "up#()", "gb()", "t# = @T * up#(@I)", "i# = c#"],
     {"T": "t#", "I": "i#"}),
    (["fs# = [lambda v, j=j: v + j for j in range(3)]", "hs# = [lambda v: v * j for j in range(2)]",
      "i# = fs#[1](@I) + hs#[0](@I)"], {"I": "i#"}),
    # callbacks that change what the caller holds, in the breaking call
    (["m# = [*@N]", "def cb#(v):", "    m#.append(v)", "    LOG.append(len(m#))", "    return v", "gb()",
      "n# = sorted([3, 1, 2], key=lambda v: (cb#(v), gb())[0])", "n# = n# + m#"], {"N": "n#"}),
    (["d# = {'a': @I, 'b': 2}", "def cb#():", "    d#['c'] = len(d#)", "    d#.pop('a', None)", "    thing.count += 1", "gb()", "cb#()",
      "print(end='')", "i# = sum(d#.values())"], {"I": "i#"}),
    (["v# = @T.clone()", "w# = v#[0]", "def cb#():", "    v#.add_(1)", "    return 0", "i# = max([1, 2], key=lambda j: (print(end=''), cb#())[1])",
      "t# = w# + v#"], {"T": "t#", "I": "i#"}),
    # aliasing views
    (["v# = @T.clone()", "a# = v#.view(9)", "b# = v#.t()", "a#[@J] = 0.5", "b#.mul_(2)", "t# = v# + b#"], {"T": "t#"}),
    (["v# = @T.clone()", "r# = v#[1:]", "r#[0] = v#[0]", "gb()", "r#.add_(1)", "t# = v# * 2"], {"T": "t#"}),
    (["l# = [@T.clone()] * 2", "l#[0].add_(1)", "t# = l#[1] + l#[0]", "LOG.append(l#[0] is l#[1])"], {"T": "t#"}),
    # recursion
    (["def rec#(t, k):", "    if k <= 0:", "        return t + @I", "    if k == 2:", "        gb()", "    return rec#(t * 0.5, k - 1) + k",
      "t# = rec#(@T, @J)"], {"T": "t#"}),
    # operations that raise inside try
    (["try:", "    t# = @T + @I", "    t# = t# @ torch.ones(2, 2)", "except RuntimeError as e:", "    LOG.append(type(e).__name__)",
      "    t# = @T", "finally:", "    LOG.append('done #')"], {"T": "t#"}),
    (["t# = @T.clone()", "try:", "    t#.add_(1)", "    t#.view(2, 7)", "    LOG.append('never')", "except (RuntimeError, ValueError):",
      "    t#.mul_(2)"], {"T": "t#"}),
    (["try:", "    try:", "        ...", "        table['no #']", "    except KeyError as e:", "        raise ValueError('second') from e",
      "except ValueError as e:", "    LOG.append((str(e), str(e.__cause__), e.__suppress_context__))"], {}),
    (["try:", "    try:", "        raise KeyError(@I)", "    finally:", "        ...", "except KeyError as e:", "    i# = e.args[0]"],
     {"I": "i#"}),
    (["def fails#(v):", "    with Guard('f#', @B):", "        ...", "        raise ValueError(v)", "    return v", "try:",
      "    i# = fails#(@I)", "except ValueError as e:", "    i# = e.args[0]"], {"I": "i#"}),
    (["class Err#(ValueError):", "    def __init__(self, code):", "        super().__init__('code %d' % code)", "        self.code = code",
      "try:", "    if @C:", "        raise Err#(@I)", "    i# = 1", "except ValueError as e:", "    i# = e.code",
      "    LOG.append(str(e))"], {"I": "i#"}),
    (["try:", "    with scope('s#'):", "        ...", "        raise KeyError('k#')", "except KeyError as e:", "    LOG.append(repr(e))"], {}),
    (["with contextlib.suppress(ValueError, KeyError):", "    ...", "    raise KeyError('s#')"], {}),
    (["for j# in range(3):", "    try:", "        if j# == 1:", "            continue", "        ...", "        if @C:", "            break",
      "    finally:", "        LOG.append(j#)"], {}),
    # classes
    (["class Local#(Thing):", "    extra = @I", "    def go(self, t):", "        return t * self.extra + super().bump()",
      "o# = Local#(@T)", "t# = o#.go(@T)", "i# = o#.count"], {"T": "t#", "I": "i#"}),
    (["class Op#:", "    def __init__(self, v):", "        self.v = v", "    def __add__(self, o):",
      "        return Op#(self.v + (o.v if isinstance(o, Op#) else o))", "    def __radd__(self, o):", "        return self.__add__(o)",
      "    def __eq__(self, o):", "        return isinstance(o, Op#) and self.v == o.v", "    def __bool__(self):",
      "        return self.v > 1", "    def __getitem__(self, k):", "        return self.v + k", "    def __len__(self):", "        return 3",
      "o# = sum([Op#(@I), Op#(2)], Op#(0))", "i# = o#[1] + len(o#) + (1 if o# else 0) + (o# == Op#(3))"], {"I": "i#"}),
    (["class L#(list):", "    def append(self, v):", "        super().append(v * 2)", "l# = L#([@I])", "l#.append(3)", "n# = list(l#)"],
     {"N": "n#"}),
    # comprehensions and unpacking
    (["n# = [a * b for a in range(3) for b in items if a != b] + [(last# := v) for v in @N]", "i# = last#"], {"N": "n#", "I": "i#"}),
    (["d# = {k: v + @I for k, v in sorted(@D.items())}", "i#, *n# = [*d#.values(), 1, 2]"], {"D": "d#", "I": "i#", "N": "n#"}),
    (["a#, (b#, *n#) = @I, [@I, 2, 3]", "i# = a# - b#"], {"I": "i#", "N": "n#"}),
    # containers and modules
    (["q# = collections.deque(@N, maxlen=4)", "q#.append(@I)", "q#.rotate(1)", "n# = list(q#)"], {"N": "n#"}),
    (["m# = collections.defaultdict(list)", "for j# in @N:", "    m#[j# % 2].append(j#)", "i# = len(m#) + len(m#[0])"], {"I": "i#"}),
    (["od# = collections.OrderedDict(a=@I, b=2)", "od#.move_to_end('a')", "LOG.append(list(od#.items()))"], {}),
    (["p# = functools.partial(operator.add, @I)", "i# = p#(@I)"], {"I": "i#"}),
    (["i# = sum(itertools.islice(itertools.count(@I), 3))", "LOG.append(list(itertools.zip_longest(items, [1])))"], {"I": "i#"}),
    (["LOG.append('%s-%d' % ('a', @I) + '{:>4}'.format(@I))"], {}),
    (["LOG.append(eval('n + 1') if isinstance(n, int) else 0)"], {}),
    (["import bisect", "n# = sorted(@N)", "bisect.insort(n#, @I)"], {"N": "n#"}),
]
