# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing grows over 10,000 calls: objects the collector knows, tensors, memory blocks of the interpreter, bytes the C library's
allocator has handed out, resident memory; and the arguments' reference counts are what they were."""

import ctypes
import gc
import os
import re
import sys
import weakref

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "support")]

import torch  # noqa: E402
from harness import Tally, run_child  # noqa: E402
from torch import nn  # noqa: E402

CALLS = 10_000
LOG = []


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.count = 0
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x):
        self.count += 1
        self.seen.add_(1)
        return self.lin(x).relu()


def one_op(t):
    return t + 1


def containers(t):
    pair = (t * 2, [t, {"k": t + 1}])
    return pair, {"n": pair[1]}


def breaks(t):
    import breakline

    a = t + 1
    breakline.graph_break()
    b = [a, a * 2]
    breakline.graph_break()
    return b, len(str(a.shape))


def with_item(t):
    s = t.sum().item()
    return t * s if s > 0 else t - 1


def inner(t):
    import breakline

    x = t * 3
    breakline.graph_break()
    return x


def inlined_break(t):
    with torch.no_grad():
        y = inner(t) + 1
    return y


def raises(t):
    import breakline

    u = t + 1
    breakline.graph_break()
    raise ValueError((u, t))


def caught(t):
    try:
        raises(t)
    except ValueError as e:
        return t + len(e.args)


def torch_error(t):
    try:
        return t @ torch.ones(7, 7)
    except RuntimeError:
        return t


def closure(t):
    n = [0]

    def step(x):
        n[0] += 1
        return x + n[0]

    return step(step(t)), step


def generator(t):
    return sum(x * 2 for x in (t, t + 1)), [y for y in map(lambda v: v - 1, [t])]


def side_effects(t):
    LOG.append(t)
    if len(LOG) > 3:
        LOG.clear()
    return len(LOG)


def own_iterator(t):
    total = t
    for i, (a, b) in enumerate(zip([t, t], (1, 2))):
        total = total + a * b + i
        print(end="")
    return total


def new_arguments(t, fresh):
    return t * fresh[0] + fresh[1]["k"]


class MallocState(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_ = [(n, ctypes.c_size_t) for n in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


def allocated_kb():
    """Bytes in use of the C library's allocator, in kB: exact, where resident memory moves with the kernel's huge pages."""
    libc = ctypes.CDLL("libc.so.6")
    libc.mallinfo2.restype = MallocState
    state = libc.mallinfo2()
    return (state.uordblks + state.hblkhd) // 1024


def resident_kb():
    with open("/proc/self/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))


def tensors():
    return sum(1 for o in gc.get_objects() if type(o) is torch.Tensor or isinstance(o, nn.Parameter))


def job(name, plan):
    import breakline

    torch.set_num_threads(1)
    x = torch.ones(4, 4)
    if name == "module":
        fn, args = Net().eval(), lambda: (x,)
    elif name == "module training":
        fn, args = Net(), lambda: (x,)
    else:
        fn = globals()[name]
        args = (lambda: (x, (2, {"k": 3}))) if name == "new_arguments" else lambda: (x,)
    compiled = breakline.compile(fn, plan=plan)

    def call():
        try:
            compiled(*args())
        except ValueError:
            pass

    def state():
        gc.collect()
        return len(gc.get_objects()), tensors(), sys.getallocatedblocks(), sys.getrefcount(x), sys.getrefcount(fn), sys.getrefcount(None)

    for _ in range(300):
        call()
    # The whole again when something grew: caches that still fill up do not grow twice.
    for attempt in range(3):
        before, memory, resident = state(), allocated_kb(), resident_kb()
        for _ in range(CALLS):
            call()
        after, grown, grown_resident = state(), allocated_kb() - memory, resident_kb() - resident
        fine = (after[0] - before[0] <= 20 and after[1] == before[1] and after[2] - before[2] <= 200 and after[3] == before[3] and
                after[4] == before[4] and abs(after[5] - before[5]) < CALLS // 10 and grown < 64 and grown_resident < 8192)
        if fine:
            break
    # What was compiled goes away with the last reference to it.
    gone = weakref.ref(compiled)
    del compiled, call
    gc.collect()
    if gone() is not None and name not in ("module", "module training"):
        return False, "the compiled function stays alive"
    return fine, f"{before} -> {after}, {grown} kB allocated, {grown_resident} kB resident"


def main():
    tally = Tally("leaks")
    names = ["one_op", "containers", "breaks", "with_item", "inlined_break", "raises", "caught", "torch_error", "closure", "generator",
             "side_effects", "own_iterator", "new_arguments", "module", "module training"]
    for name in names:
        for plan in ("replay", None) if name in ("one_op", "containers", "module") else ("replay",):
            got = run_child(lambda name=name, plan=plan: job(name, plan), timeout=400)
            label = f"{name} {plan or 'default'}"
            if isinstance(got, dict):
                tally.check(label, False, got["crash"][-1500:])
            else:
                tally.check(label, *got)
    tally.finish()


if __name__ == "__main__":
    main()
