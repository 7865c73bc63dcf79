# SPDX-License-Identifier: GPL-3.0-or-later
"""Native callables of the standard library, said in Python: the tracer follows these in their place.

Each does what the native one does, in the same order and with the same calls on the items. They run only inside a trace; an
iterator or an object of theirs that outlives it is made anew by the native callable.
"""

import _bisect
import _collections
import _functools
import _heapq
import _operator
import itertools


def heappush(heap, item, /):
    heap.append(item)
    _up(heap, 0, len(heap) - 1, False)


def heappop(heap, /):
    return _pop(heap, False)


def heapreplace(heap, item, /):
    return _replace(heap, item, False)


def heappushpop(heap, item, /):
    if heap and heap[0] < item:
        item, heap[0] = heap[0], item
        _down(heap, 0, False)
    return item


def heapify(heap, /):
    for i in range(len(heap) // 2 - 1, -1, -1):
        _down(heap, i, False)


def heapify_max(heap, /):
    for i in range(len(heap) // 2 - 1, -1, -1):
        _down(heap, i, True)


def heappop_max(heap, /):
    return _pop(heap, True)


def heapreplace_max(heap, item, /):
    return _replace(heap, item, True)


def _pop(heap, most):
    if not heap:
        raise IndexError("index out of range")
    last = heap.pop()
    if not heap:
        return last
    first = heap[0]
    heap[0] = last
    _down(heap, 0, most)
    return first


def _replace(heap, item, most):
    if not heap:
        raise IndexError("index out of range")
    first = heap[0]
    heap[0] = item
    _down(heap, 0, most)
    return first


def _before(a, b, most):
    return b < a if most else a < b


def _up(heap, start, at, most):
    item = heap[at]
    while at > start:
        parent = (at - 1) >> 1
        above = heap[parent]
        if not _before(item, above, most):
            break
        heap[at] = above
        at = parent
    heap[at] = item


def _down(heap, at, most):
    end = len(heap)
    start = at
    item = heap[at]
    child = 2 * at + 1
    while child < end:
        right = child + 1
        if right < end and not _before(heap[child], heap[right], most):
            child = right
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = item
    _up(heap, start, at, most)


def bisect_right(a, x, lo=0, hi=None, *, key=None):
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if x < (a[mid] if key is None else key(a[mid])):
            hi = mid
        else:
            lo = mid + 1
    return lo


def bisect_left(a, x, lo=0, hi=None, *, key=None):
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if (a[mid] if key is None else key(a[mid])) < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


def insort_right(a, x, lo=0, hi=None, *, key=None):
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


def insort_left(a, x, lo=0, hi=None, *, key=None):
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


def count_elements(mapping, iterable, /):
    get = mapping.get
    for item in iterable:
        mapping[item] = get(item, 0) + 1


class _Key:
    __slots__ = ("obj", "compare")

    def __init__(self, compare, obj):
        self.compare = compare
        self.obj = obj

    def __lt__(self, other):
        return self.compare(self.obj, other.obj) < 0

    def __gt__(self, other):
        return self.compare(self.obj, other.obj) > 0

    def __eq__(self, other):
        return self.compare(self.obj, other.obj) == 0

    def __le__(self, other):
        return self.compare(self.obj, other.obj) <= 0

    def __ge__(self, other):
        return self.compare(self.obj, other.obj) >= 0


def cmp_to_key(mycmp):
    return lambda obj: _Key(mycmp, obj)


def count(start=0, step=1):
    def run():
        n = start
        while True:
            yield n
            n += step

    return run()


def cycle(iterable, /):
    def run(it):
        seen = []
        for item in it:
            yield item
            seen.append(item)
        while seen:
            for item in seen:
                yield item

    return run(iter(iterable))


def repeat(object, times=None):
    def run():
        if times is None:
            while True:
                yield object
        for _ in range(times):
            yield object

    return run()


def takewhile(predicate, iterable, /):
    def run(it):
        for item in it:
            if not predicate(item):
                return
            yield item

    return run(iter(iterable))


def dropwhile(predicate, iterable, /):
    def run(it):
        for item in it:
            if not predicate(item):
                yield item
                break
        for item in it:
            yield item

    return run(iter(iterable))


def filterfalse(predicate, iterable, /):
    def run(it):
        for item in it:
            if not (item if predicate is None or predicate is bool else predicate(item)):
                yield item

    return run(iter(iterable))


def starmap(function, iterable, /):
    def run(it):
        for args in it:
            yield function(*args)

    return run(iter(iterable))


def compress(data, selectors):
    def run(data, selectors):
        for item in data:
            for wanted in selectors:
                break
            else:
                return
            if wanted:
                yield item

    return run(iter(data), iter(selectors))


def accumulate(iterable, func=None, *, initial=None):
    def run(it, total):
        if total is None:
            for total in it:
                break
            else:
                return
        yield total
        for item in it:
            total = total + item if func is None else func(total, item)
            yield total

    return run(iter(iterable), initial)


def pairwise(iterable, /):
    def run(it):
        for left in it:
            break
        else:
            return
        for right in it:
            yield (left, right)
            left = right

    return run(iter(iterable))


def zip_longest(*iterables, fillvalue=None):
    def run(its):
        left = len(its)
        while left:
            row = []
            for i in range(len(its)):
                it = its[i]
                item = fillvalue
                if it is not None:
                    for item in it:
                        break
                    else:
                        left -= 1
                        if not left:
                            return
                        its[i] = None
                row.append(item)
            yield tuple(row)

    return run([iter(i) for i in iterables])


def islice(iterable, *bounds):
    part = slice(*bounds)
    start, stop, step = part.start, part.stop, part.step
    start = 0 if start is None else start
    step = 1 if step is None else step
    if start < 0 or (stop is not None and stop < 0 and len(bounds) > 1):
        raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if stop is not None and stop < 0:
        raise ValueError("Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    if step < 1:
        raise ValueError("Step for islice() must be a positive integer or None.")

    def run(it):
        at, wanted = 0, start
        while stop is None or wanted < stop:
            for item in it:
                at += 1
                if at > wanted:
                    break
            else:
                return
            yield item
            wanted += step
        while at < stop:
            for item in it:
                at += 1
                break
            else:
                return

    return run(iter(iterable))


def tee(iterable, n=2, /):
    def run(it, mine, all):
        while True:
            if not mine:
                for item in it:
                    break
                else:
                    return
                for other in all:
                    other.append(item)
            yield mine.pop(0)

    it = iter(iterable)
    queues = [[] for _ in range(n)]
    return tuple([run(it, mine, queues) for mine in queues])


def groupby(iterable, key=None):
    def run(it):
        state = [None, False, None, 0]  # item at hand, whether there is one, its key, number of the group in progress

        def advance():
            for item in it:
                state[0], state[1] = item, True
                state[2] = item if key is None else key(item)
                return True
            state[1] = False
            return False

        def group(target, number):
            while state[3] == number and state[1]:
                yield state[0]
                if not advance() or not state[2] == target:
                    return

        if not advance():
            return
        while True:
            target = state[2]
            state[3] += 1
            yield target, group(target, state[3])
            state[3] += 1
            while state[1] and state[2] == target:
                if not advance():
                    return
            if not state[1]:
                return

    return run(iter(iterable))


def by_index(sequence):
    def run():
        i = 0
        while True:
            try:
                item = sequence[i]
            except (IndexError, StopIteration):
                return
            yield item
            i += 1

    return run()


def until(function, sentinel):
    def run():
        while True:
            try:
                item = function()
            except StopIteration:
                return
            if item is sentinel or item == sentinel:
                return
            yield item

    return run()


def delitem(a, b, /):
    del a[b]


def index_of(a, b, /):
    at = 0
    for item in a:
        if item is b or item == b:
            return at
        at += 1
    raise ValueError("sequence.index(x): x not in sequence")


def count_of(a, b, /):
    found = 0
    for item in a:
        if item is b or item == b:
            found += 1
    return found


def call(obj, /, *args, **kwargs):
    return obj(*args, **kwargs)


def pos(a, /):
    return +a


def invert(a, /):
    return ~a


_abs = abs


def absolute(a, /):
    return _abs(a)


FORMS = [
    (_heapq.heappush, heappush), (_heapq.heappop, heappop), (_heapq.heapreplace, heapreplace),
    (_heapq._heapify_max, heapify_max), (_heapq._heappop_max, heappop_max), (_heapq._heapreplace_max, heapreplace_max),
    (_heapq.heappushpop, heappushpop), (_heapq.heapify, heapify), (_bisect.bisect_right, bisect_right),
    (_bisect.bisect_left, bisect_left), (_bisect.insort_right, insort_right), (_bisect.insort_left, insort_left),
    (_collections._count_elements, count_elements), (_functools.cmp_to_key, cmp_to_key), (itertools.count, count),
    (itertools.cycle, cycle), (itertools.repeat, repeat), (itertools.takewhile, takewhile), (itertools.dropwhile, dropwhile),
    (itertools.filterfalse, filterfalse), (itertools.starmap, starmap), (itertools.compress, compress),
    (itertools.accumulate, accumulate), (itertools.pairwise, pairwise), (itertools.zip_longest, zip_longest),
    (_operator.delitem, delitem), (_operator.indexOf, index_of), (_operator.countOf, count_of), (_operator.pos, pos),
    (_operator.invert, invert), (_operator.inv, invert), (_operator.abs, absolute), (_operator.call, call),
    (itertools.tee, tee), (itertools.groupby, groupby), (itertools.islice, islice),
]
