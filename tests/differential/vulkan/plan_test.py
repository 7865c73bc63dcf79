# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole plans: matrix products, row kernels, views, ops on the CPU between, weights that stay on the device, failures."""
import gc
import os
import threading
import weakref

import torch

from recorder import Recorder, bl, check, clone_all, difference, linear, main

gelu, layer_norm, softmax = torch._C._nn.gelu, torch.layer_norm, torch.softmax


def compare(label, record, inputs, outputs, references=None, calls=2, device=True):
    for name in ("vulkan", "vulkan_eager"):
        plan = record.plan(name, *outputs)
        info = plan.info
        if device:
            assert info["plan"] == name and "torch" not in plan.devices, f"{label}: {info['plan']} {info['reason']}"
        for _ in range(calls):
            for i, (got, eager) in enumerate(zip(plan(*inputs), outputs)):
                check(f"{label} {name}", got, eager, references[i] if references else None)


def one(label, function, *inputs, row=None, **kwargs):
    record = Recorder(*[x for x in inputs if isinstance(x, torch.Tensor)])
    eager = record(function, *inputs, row=row, **kwargs)
    reference = function(*[x.double() if isinstance(x, torch.Tensor) else x for x in inputs], **kwargs)
    compare(label, record, record.inputs, [eager], [reference])


def mlp(batch=16):
    x = torch.randn(batch, 20)
    w1, b1 = torch.nn.Parameter(torch.randn(32, 20) * 0.2), torch.nn.Parameter(torch.randn(32))
    w2, b2 = torch.nn.Parameter(torch.randn(8, 32) * 0.2), torch.nn.Parameter(torch.randn(8))
    inputs = [x, w1, b1, w2, b2]
    record = Recorder(*inputs)
    h = record(gelu, record(linear, x, w1, b1, row="linear"))
    out = record(softmax, record(linear, h, w2, b2, row="linear"), -1, row="softmax")
    return record, inputs, out


def mlp_eager(x, w1, b1, w2, b2):
    with torch.no_grad():
        return softmax(linear(gelu(linear(x, w1, b1)), w2, b2), -1)


def test_linear():
    for m, n, k in [(1, 10, 7), (3, 5, 4), (17, 33, 64), (5, 8, 700), (70, 130, 36)]:
        x, w, b = torch.randn(m, k), torch.randn(n, k), torch.randn(n)
        one(f"linear {m} {n} {k}", linear, x, w, b, row="linear")
        one(f"linear {m} {n} {k}, no bias", linear, x, w, row="linear")
        one(f"linear of a vector {n} {k}", linear, x[0], w, b, row="linear")
        one(f"linear, transposed weight {n} {k}", linear, x, w.t().contiguous().t(), b, row="linear")
    one("linear 3 dims", linear, torch.randn(2, 5, 12), torch.randn(6, 12), torch.randn(6), row="linear")
    one("linear of a slice", linear, torch.randn(6, 30)[:, 3:23], torch.randn(9, 20), torch.randn(9), row="linear")


def test_products():
    for m, n, k in [(1, 1, 1), (7, 9, 5), (33, 64, 17)]:
        a, b = torch.randn(m, k), torch.randn(k, n)
        one(f"mm {m} {n} {k}", torch.mm, a, b, row="mm")
        one(f"matmul of transposed {m} {n} {k}", torch.matmul, a.t().contiguous().t(), b.t().contiguous().t(), row="matmul")
        one(f"addmm {m} {n} {k}", torch.addmm, torch.randn(n), a, b, row="addmm", alpha=0.5, beta=2)
        one(f"addmm, column {m} {n} {k}", torch.addmm, torch.randn(m, 1), a, b, row="addmm")
        one(f"bmm {m} {n} {k}", torch.bmm, torch.randn(3, m, k), torch.randn(3, k, n), row="bmm")
        one(f"matmul 4 dims {m} {n} {k}", torch.matmul, torch.randn(2, 3, m, k), torch.randn(2, 3, k, n), row="matmul")
        one(f"matmul, one matrix {m} {n} {k}", torch.matmul, torch.randn(2, m, k), b, row="matmul")
        one(f"matmul, one left {m} {n} {k}", torch.matmul, a, torch.randn(4, k, n), row="matmul")
        one(f"matmul vector {n} {k}", torch.matmul, a, b[:, 0], row="matmul")
        one(f"matmul of a vector {n} {k}", torch.matmul, a[0], b, row="matmul")
        one(f"baddbmm {m} {n} {k}", torch.baddbmm, torch.randn(3, 1, n), torch.randn(3, m, k), torch.randn(3, k, n),
            row="baddbmm", beta=0.5)
    bad = torch.randn(4, 4)
    bad[1, 2] = float("nan")
    one("mm with NaN", torch.mm, bad, torch.randn(4, 4), row="mm")


def test_rows():
    inf = float("inf")
    for shape in [(4,), (5, 1), (2, 3, 33)]:
        x = torch.randn(shape) * 10
        for dim in range(-1, len(shape)):
            one(f"softmax {shape} {dim}", softmax, x, dim, row="softmax")
            one(f"log_softmax {shape} {dim}", torch.log_softmax, x, dim, row="log_softmax")
            one(f"sum {shape} {dim}", torch.sum, x, dim, row="sum")
            one(f"mean, kept {shape} {dim}", torch.mean, x, dim, True, row="mean")
            one(f"amax {shape} {dim}", torch.amax, x, dim, row="amax")
        one(f"sum of all {shape}", torch.sum, x, row="sum")
        one(f"mean of dims {shape}", torch.mean, x, tuple(range(len(shape))), row="mean")
        w, b = torch.randn(shape[-1]), torch.randn(shape[-1])
        one(f"layer_norm {shape}", layer_norm, x, (shape[-1],), w, b, row="layer_norm")
        one(f"layer_norm, bare {shape}", layer_norm, x, (shape[-1],), row="layer_norm")
    x = torch.randn(6, 50).t()
    one("softmax of transposed", softmax, x, 0, row="softmax")
    one("sum of middle dims", torch.sum, torch.randn(3, 4, 5, 6), (1, 2), row="sum")
    special = torch.tensor([[1.0, inf], [-inf, -inf], [float("nan"), 0.0], [-inf, 2.0], [1e30, -1e30]])
    for function, row in ((softmax, "softmax"), (torch.log_softmax, "log_softmax"), (torch.sum, "sum"), (torch.amin, "amin")):
        one(f"{row}, special", function, special, -1, row=row)
    # lavapipe leaves loops after 65,535 iterations, without a word.
    one("long sum", torch.sum, torch.randn(2, 70_001) + 1, 1, row="sum")
    one("long softmax", softmax, torch.randn(2, 50_257), 1, row="softmax")
    record = Recorder(huge := torch.ones(1, 2_000_000))
    (got,) = record.plan("vulkan", record(torch.sum, record(torch.mul, huge, 2.0), 1, row="sum"))(huge)
    assert got.item() == 4_000_000


def test_mlp():
    record, inputs, out = mlp()
    reference = mlp_eager(*[t.detach().double() for t in inputs])
    compare("mlp", record, inputs, [out], [reference], calls=4)
    plan = record.plan("vulkan", out)
    assert plan.info["reason"] == ""
    before = bl.stats()
    plan(*inputs)
    after = bl.stats()
    assert after["downloads"] - before["downloads"] == 1 and after["dispatches"] - before["dispatches"] == 4


def test_in_place_activation():
    x, w, v = torch.randn(5, 8), torch.randn(6, 8), torch.randn(6, 3)
    record = Recorder(x, w, v)
    h = record(linear, x, w, row="linear")
    record(torch.relu_, h)
    record(torch.Tensor.add_, h, 0.5)
    out = record(torch.mm, h, v, row="mm")
    plan = record.plan("vulkan", out)
    assert plan.info["plan"] == "vulkan" and plan.devices == ["vulkan"] * 3, plan.info
    want = torch.relu(linear(x, w)) + 0.5
    for _ in range(3):
        (got,) = plan(x, w, v)
        check("product", got, want @ v, want.double() @ v.double())
    # Handed out, its version counter tells of the writes.
    plan = record.plan("vulkan", out, h)
    got, got_h = plan(x, w, v)
    check("in place", got_h, want)
    check("product", got, want @ v, want.double() @ v.double())
    assert got_h._version == linear(x, w).relu_().add_(0.5)._version, got_h._version
    # An input, and a tensor with views, are written in place as the program says.
    for through_view in (False, True):
        x = torch.randn(4, 4)
        record = Recorder(x)
        base = record(torch.exp, x) if through_view else x
        target = record(torch.Tensor.narrow, base, 0, 1, 2, row="narrow") if through_view else x
        record(torch.relu_, target)
        out = record(torch.mul, base, 2.0)
        plan = record.plan("vulkan", out, base)
        fresh = torch.randn(4, 4)
        want = fresh.exp() if through_view else fresh.relu()
        got, got_base = plan(fresh)
        check("written", got_base, want)
        check("read", got, want * 2.0)
        assert through_view or got_base.data_ptr() == fresh.data_ptr()


def test_fork():
    record, inputs, out = mlp()
    plan = record.plan("vulkan", out)
    plan(*inputs)
    child = os.fork()
    if child == 0:
        try:
            equal = difference(plan(*inputs)[0], out) == "" and "fork" in bl.device()["reason"]
            os._exit(0 if equal and plan.info["plan"] == "replay" else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    check("parent", plan(*inputs)[0], out)


def test_views():
    x, w = torch.randn(6, 8), torch.randn(8, 8)
    record = Recorder(x, w)
    turned = record(torch.Tensor.t, w, row="t")
    part = record(torch.Tensor.narrow, x, 1, 2, 4, row="narrow")
    wide = record(torch.Tensor.unsqueeze, part, 0, row="unsqueeze")
    grown = record(torch.Tensor.expand, wide, 3, 6, 4, row="expand")
    a = record(torch.mul, grown, 2.0)
    product = record(torch.mm, x, turned, row="mm")
    made = record(torch.relu, product)
    flat = record(torch.Tensor.view, made, -1, row="view")
    tail = record(torch.Tensor.narrow, flat, 0, 40, 8, row="narrow")
    b = record(torch.add, tail, 1.0)
    compare("views", record, [x, w], [a, b, made, flat, part])
    plan = record.plan("vulkan", a, made, flat, part, turned)
    _, got_made, got_flat, got_part, got_turned = plan(x, w)
    assert got_flat.data_ptr() == got_made.data_ptr(), "an output's view shares its memory"
    assert got_part.data_ptr() == part.data_ptr() and got_turned.data_ptr() == w.data_ptr()


def test_cpu_ops_between():
    x, w, b = torch.randn(4, 6, 5, 5), torch.randn(3, 6, 3, 3), torch.randn(3)
    record = Recorder(x, w, b)
    h = record(torch.relu, record(torch.mul, x, 0.5))
    c = record(torch.conv2d, h, w, b, row="conv2d")
    d = record(torch.sigmoid, record(torch.add, c, 1.0))
    e = record(torch.cumsum, d, 1, row="cumsum")
    out = record(torch.sub, e, d)
    compare("cpu ops", record, [x, w, b], [out, h], device=False, calls=3)
    plan = record.plan("vulkan", out)
    info = plan.info
    assert info["plan"] == "vulkan" and info["reason"].startswith("2 of 7 ops on the CPU: "), info["reason"]
    assert "conv2d" in info["reason"] and "cumsum" in info["reason"]
    assert [k[1] for k in info["kernels"]] == ["vulkan", "torch", "vulkan", "torch", "vulkan"], info["kernels"]


def test_mutation():
    def program(call, x, buffer):
        base = call(torch.relu, x)                       # on the device
        view = call(torch.Tensor.narrow, base, 0, 0, 2, row="narrow")
        before = call(torch.mul, base, 3.0)              # reads the old content
        call(torch.Tensor.add_, view, 10.0, mutates=True, row="add_")
        after = call(torch.mul, base, 3.0)               # and the new one
        call(torch.Tensor.mul_, buffer, 0.5, mutates=True, row="mul_")
        seen = call(torch.add, buffer, 1.0)
        return base, before, after, seen

    x, buffer = torch.randn(4, 3), torch.randn(3)
    for name in ("vulkan", "vulkan_eager"):
        inputs = [x, buffer.clone()]
        record = Recorder(*inputs)
        outputs = program(record, *inputs)
        plan = record.plan(name, *outputs)
        assert plan.info["plan"] == name
        for _ in range(3):
            eager_inputs, own_inputs = [x, buffer.clone()], [x, buffer.clone()]
            want = program(lambda f, *a, row=None, mutates=False: f(*a), *eager_inputs)
            for got, eager in zip(plan(*own_inputs), want):
                check(name, got, eager)
            check(f"{name}, mutated input", own_inputs[1], eager_inputs[1])


def test_random_order():
    x = torch.randn(50, 50)
    record = Recorder(x)
    y = record(torch.relu, x)
    a = record(torch.dropout, y, 0.5, True, row="dropout")
    b = record(torch.dropout, record(torch.mul, a, 2.0), 0.3, True, row="dropout")
    plan = record.plan("vulkan", b)
    for seed in range(3):
        torch.manual_seed(seed)
        (got,) = plan(x)
        state = torch.get_rng_state()
        torch.manual_seed(seed)
        want = torch.dropout(torch.dropout(torch.relu(x), 0.5, True) * 2.0, 0.3, True)
        check("dropout", got, want)
        assert torch.equal(state, torch.get_rng_state())


def test_weights_stay():
    record, inputs, out = mlp()
    plan = record.plan("vulkan", out)
    for _ in range(2):
        plan(*inputs)
    before = bl.stats()
    x = torch.randn(16, 20)
    (got,) = plan(x, *inputs[1:])
    after = bl.stats()
    check("mlp", got, mlp_eager(x, *inputs[1:]))
    assert after["uploads"] - before["uploads"] == 1, "only the new activation travels"
    assert after["resident_hits"] - before["resident_hits"] == 4
    other = record.plan("vulkan_eager", out)
    other(x, *inputs[1:])
    assert bl.stats()["uploads"] - after["uploads"] == 1, "the other plan finds the weights"


def writes():
    """Ways a weight changes between calls; each takes (weight, owner) where owner holds it as `.w`."""
    def optimizer(w):
        step = torch.optim.SGD([w], lr=0.5)
        w.grad = torch.randn_like(w)
        step.step()

    def adam(w):
        step = torch.optim.Adam([w], lr=0.5)
        w.grad = torch.randn_like(w)
        step.step()

    @torch.no_grad()
    def in_place(w):
        w.add_(1.0)

    @torch.no_grad()
    def copy_(w):
        w.copy_(torch.randn_like(w))

    @torch.no_grad()
    def element(w):
        w[0, 0] = 1e3

    def data_replaced(w):
        w.data = torch.randn_like(w.data)

    def data_replaced_twice(w):
        # The second storage often lies where the first was, and the version counter stays.
        w.data = torch.randn_like(w.data)
        w.data = torch.randn_like(w.data)

    def through_data(w):
        w.data.mul_(-1.0)  # unseen by the version counter

    def through_numpy(w):
        w.detach().numpy()[:] *= -2.0  # likewise

    def one_sign(w):
        w.detach().numpy()[-1, -1] *= -1.0

    return [optimizer, adam, in_place, copy_, element, data_replaced, data_replaced_twice, through_data, through_numpy,
            one_sign]


def test_changed_weights_are_seen():
    for write in writes():
        for name in ("vulkan", "vulkan_eager"):
            record, inputs, out = mlp()
            plan = record.plan(name, out)
            for _ in range(3):
                plan(*inputs)
            for round_ in range(3):
                write(inputs[1])
                (got,) = plan(*inputs)
                check(f"{write.__name__}, {name}, round {round_}", got, mlp_eager(*inputs))


def test_new_tensor_at_the_same_address():
    record, inputs, out = mlp()
    plan = record.plan("vulkan", out)
    for _ in range(8):
        x = torch.randn(16, 20)
        (got,) = plan(x, *inputs[1:])
        check("mlp", got, mlp_eager(x, *inputs[1:]))
        del x, got


def test_inputs_are_not_kept_alive():
    record, inputs, out = mlp()
    plan = record.plan("vulkan", out)
    x = torch.randn(16, 20)
    gone = weakref.ref(x)
    for _ in range(3):
        plan(x, *inputs[1:])
    del x
    gc.collect()
    assert gone() is None


def test_memory_comes_back():
    record, inputs, out = mlp()
    first = None
    for _ in range(30):
        plan = record.plan("vulkan", out)
        plan(*inputs)
        plan(*inputs)
        del plan
        first = first if first is not None else bl.stats()["device_bytes"]
    assert bl.stats()["device_bytes"] == first and bl.stats()["resident_bytes"] == 0


def test_needs_grad_replays():
    x = torch.randn(4, requires_grad=True)
    record = Recorder(x)
    with torch.enable_grad():
        plan = record.plan("vulkan", record(torch.relu, x), needs_grad=True)
    assert plan.info["plan"] == "replay" and plan.info["reason"] == "parameters need grad"


def test_other_dtypes_run_on_the_cpu():
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int16, torch.complex64):
        x = torch.randn(8).to(dtype)
        record = Recorder(x)
        y = record(torch.mul, record(torch.add, x, 1), x)
        plan = record.plan("vulkan", y)
        assert plan.info["plan"] == "replay" and plan.info["reason"].startswith("no shader for"), plan.info
        assert difference(plan(x)[0], y) == ""


def test_empty_tensors():
    x = torch.randn(0, 4)
    record = Recorder(x)
    y = record(torch.add, record(torch.relu, x), 1)
    (got,) = record.plan("vulkan", y)(x)
    check("empty", got, y)
    scalar = torch.tensor(2.5)
    record = Recorder(scalar)
    y = record(torch.exp, record(torch.mul, scalar, 2))
    compare("scalar", record, [scalar], [y])


def test_inference_mode():
    with torch.inference_mode():
        record, inputs, out = mlp()
        plan = record.plan("vulkan", out)
        for _ in range(3):
            (got,) = plan(*inputs)
        check("inference", got, out)


def test_wrong_layout_is_replayed():
    record, inputs, out = mlp()
    plan = record.plan("vulkan", out)
    x = torch.randn(3, 20)  # fewer rows than compiled for
    (got,) = plan(x, *inputs[1:])
    check("mlp", got, mlp_eager(x, *inputs[1:]))


def test_threads():
    record, inputs, out = mlp()
    plan = record.plan("vulkan", out)
    xs = [torch.randn(16, 20) for _ in range(4)]
    wrong = []

    def work(x):
        for _ in range(10):
            why = difference(plan(x, *inputs[1:])[0], mlp_eager(x, *inputs[1:]))
            if why:
                wrong.append(why)

    threads = [threading.Thread(target=work, args=(x,)) for x in xs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[0]


def test_reentry():
    x = torch.randn(8)
    calls = []

    def call_back(t):
        calls.append(t)
        if len(calls) == 2:  # the first one is the recording
            check("inner", plan(x + 1)[0], torch.exp(2 * torch.relu(x + 1)))
        return t + 0

    record = Recorder(x)
    y = record(torch.relu, x)
    z = record(call_back, y)
    out = record(torch.exp, record(torch.add, y, z))
    plan = record.plan("vulkan", out)
    assert plan.info["plan"] == "vulkan", plan.info
    check("outer", plan(x)[0], torch.exp(2 * torch.relu(x)))
    assert len(calls) == 3


def test_errors_in_cpu_ops():
    x, index = torch.randn(8), torch.tensor([1, 2])
    record = Recorder(x, index)
    y = record(torch.relu, x)
    picked = record(torch.index_select, y, 0, index, row="index_select")
    out = record(torch.mul, picked, 2)
    plan = record.plan("vulkan", out)
    check("index", plan(x, index)[0], out)
    try:
        plan(x, torch.tensor([1, 99]))
        raise AssertionError("no error")
    except (IndexError, RuntimeError) as error:
        assert "out of range" in str(error) or "out of bounds" in str(error), error
    check("index, after the error", plan(x, index)[0], out)


# Last: these end with no device or another one.
def test_zz_device_loss():
    record, inputs, out = mlp()
    plan = record.plan("vulkan", out)
    plan(*inputs)
    bl.lose_device(1)
    (got,) = plan(*inputs)
    check("replayed", got, out)
    assert plan.info["plan"] == "replay" and "lost" in plan.info["reason"], plan.info
    later = record.plan("vulkan", out)
    assert later.info["plan"] == "replay" and "lost" in later.info["reason"]
    bl.shutdown()
    fresh = record.plan("vulkan", out)
    check("reopened", fresh(*inputs)[0], out)
    bl.shutdown()
    (got,) = fresh(*inputs)
    check("closed", got, out)
    assert fresh.info["plan"] == "replay" and "closed" in fresh.info["reason"]


main(globals())
