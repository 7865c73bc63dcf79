# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of PyTorch that stand around a model: parametrisations, pruning, schedules, averaged weights, packed sequences, transforms of
functions, checkpoints, masks, nested and sparse tensors, data sets, initialisation, losses, random draws. Each program runs four times,
plainly and compiled: results and what they print are equal (with --cpu by the cpu plan, within tolerance), no frame is given up."""

import copy
import io
import os
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import torch  # noqa: E402
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
import torch.nn.utils.parametrizations as parametrizations  # noqa: E402
import torch.nn.utils.parametrize as parametrize  # noqa: E402
import torch.nn.utils.prune as prune  # noqa: E402
import torch.optim.lr_scheduler as schedules  # noqa: E402
from harness import Tally, agrees  # noqa: E402
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap  # noqa: E402
from torch.nn.utils import rnn  # noqa: E402
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn  # noqa: E402

import breakline  # noqa: E402

warnings.simplefilter("ignore")
EXACT = "--cpu" not in sys.argv
PROGRAMS = []


def program(make):
    PROGRAMS.append(make)
    return make


def example():
    return torch.randn(5, 4, generator=torch.Generator().manual_seed(3))


REPARAMETRISED = {
    "weight_norm": lambda: parametrizations.weight_norm(nn.Linear(4, 3)),
    "weight_norm by hooks": lambda: torch.nn.utils.weight_norm(nn.Linear(4, 3)),
    "spectral_norm": lambda: parametrizations.spectral_norm(nn.Linear(4, 3)),
    "spectral_norm by hooks": lambda: torch.nn.utils.spectral_norm(nn.Linear(4, 3)),
    "orthogonal": lambda: parametrizations.orthogonal(nn.Linear(4, 4)),
    "quantised": lambda: torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 3)), {nn.Linear}, dtype=torch.qint8),
}
for name, make_layer in REPARAMETRISED.items():

    def calls_layer(make_layer=make_layer):
        layer = make_layer()
        return lambda x: layer(x)

    calls_layer.__name__ = name
    program(calls_layer)


@program
def parametrised_by_own_module():
    class Sym(nn.Module):
        def forward(self, w):
            return w.triu() + w.triu(1).T

        def right_inverse(self, w):
            return w.triu()

    m = nn.Linear(4, 4)
    parametrize.register_parametrization(m, "weight", Sym())

    def f(x):
        with parametrize.cached():
            return m(x) + m(x), m.weight

    return f


@program
def register_inside():
    class Sym(nn.Module):
        def forward(self, w):
            return w * 2

    def f(x):
        m = nn.Linear(4, 4, bias=False)
        nn.init.ones_(m.weight)
        parametrize.register_parametrization(m, "weight", Sym())
        return m(x), parametrize.is_parametrized(m)

    return f


@program
def pruned():
    m = nn.Linear(4, 3)
    prune.l1_unstructured(m, "weight", 2)
    return lambda x: (m(x), prune.is_pruned(m))


@program
def prune_inside():
    def f(x):
        torch.manual_seed(0)
        m = nn.Linear(4, 3)
        prune.random_unstructured(m, "weight", amount=0.3)
        y = m(x)
        prune.remove(m, "weight")
        return y, m.weight

    return f


@program
def clip_grads():
    m = nn.Linear(4, 3)

    def f(x):
        m.zero_grad()
        m(x).sum().backward()
        n = torch.nn.utils.clip_grad_norm_(m.parameters(), 0.5)
        torch.nn.utils.clip_grad_value_(m.parameters(), 0.1)
        return n, [p.grad.clone() for p in m.parameters()]

    return f


@program
def weights_as_a_vector():
    m = nn.Linear(4, 3)

    def f(x):
        v = torch.nn.utils.parameters_to_vector(m.parameters())
        torch.nn.utils.vector_to_parameters(v * 0.5, m.parameters())
        return m(x), v

    return f


@program
def packed():
    m = nn.GRU(4, 3, batch_first=True)

    def f(x):
        p = rnn.pack_padded_sequence(x[None].repeat(3, 1, 1), [5, 3, 2], batch_first=True)
        o, h = m(p)
        u, l = rnn.pad_packed_sequence(o, batch_first=True)
        return u, l, h

    return f


@program
def packed_sequences():
    def f(x):
        p = rnn.pack_sequence([x, x[:3], x[:2]])
        return p.data * 2, p.batch_sizes, rnn.unpad_sequence(rnn.pad_sequence([x, x[:2]]), torch.tensor([5, 2]))

    return f


for name in (
    "StepLR",
    "MultiStepLR",
    "ExponentialLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "LinearLR",
    "ConstantLR",
    "PolynomialLR",
    "OneCycleLR",
    "CyclicLR",
    "ReduceLROnPlateau",
    "LambdaLR",
    "MultiplicativeLR",
):

    def schedule_of(name=name):
        m = nn.Linear(4, 1)
        o = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
        kw = dict(
            StepLR=dict(step_size=2),
            MultiStepLR=dict(milestones=[1, 3]),
            ExponentialLR=dict(gamma=0.9),
            CosineAnnealingLR=dict(T_max=4),
            CosineAnnealingWarmRestarts=dict(T_0=2),
            OneCycleLR=dict(max_lr=0.2, total_steps=10),
            CyclicLR=dict(base_lr=0.01, max_lr=0.1),
            LambdaLR=dict(lr_lambda=lambda e: 0.9**e),
            MultiplicativeLR=dict(lr_lambda=lambda e: 0.95),
        ).get(name, {})
        s = getattr(schedules, name)(o, **kw)

        def f(x):
            o.zero_grad()
            l = m(x).pow(2).mean()
            l.backward()
            o.step()
            s.step(*([l.item()] if name == "ReduceLROnPlateau" else []))
            return l.detach(), o.param_groups[0]["lr"], s.last_epoch

        return f

    schedule_of.__name__ = "schedule " + name
    program(schedule_of)


@program
def schedules_in_sequence():
    m = nn.Linear(4, 1)
    o = torch.optim.AdamW(m.parameters(), lr=0.1)
    s = schedules.SequentialLR(o, [schedules.ConstantLR(o, 0.1, 2), schedules.ExponentialLR(o, 0.9)], milestones=[2])

    def f(x):
        o.zero_grad()
        m(x).sum().backward()
        o.step()
        s.step()
        return s.get_last_lr(), m.weight.detach().clone()

    return f


@program
def averaged_weights():
    m = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    a = AveragedModel(m, multi_avg_fn=get_ema_multi_avg_fn(0.9))

    def f(x):
        y = m(x)
        with torch.no_grad():
            for p in m.parameters():
                p.mul_(0.9)
        a.update_parameters(m)
        return y, a(x), a.n_averaged.clone()

    return f


@program
def called_with_other_weights():
    m = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5), nn.BatchNorm1d(3))

    def f(x):
        ps = {k: v * 2 for k, v in m.named_parameters()}
        return functional_call(m, ps, (x,)), functional_call(m, (ps, dict(m.named_buffers())), (x,))

    return f


@program
def ensemble():
    ms = [nn.Linear(4, 3) for _ in range(3)]
    base = copy.deepcopy(ms[0]).to("meta")

    def f(x):
        ps, bs = stack_module_state(ms)
        return vmap(lambda p, b: functional_call(base, (p, b), (x,)))(ps, bs)

    return f


@program
def transforms():
    def f(x):
        g = lambda v: (v.sin() * v).sum()
        return grad(g)(x), jacrev(lambda v: v**2)(x[0]), jacfwd(lambda v: v**2)(x[0]), hessian(g)(x[0]), vmap(g)(x), vjp(g, x)[0], jvp(g, (x,), (x,))

    return f


@program
def gradients_per_sample():
    m = nn.Linear(4, 1)

    def f(x):
        def loss(p, s):
            return functional_call(m, p, (s[None],)).pow(2).sum()

        ps = {k: v.detach() for k, v in m.named_parameters()}
        return vmap(grad(loss), in_dims=(None, 0))(ps, x)

    return f


@program
def checkpoints():
    m = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.3), nn.Linear(4, 3))
    from torch.utils.checkpoint import checkpoint, checkpoint_sequential

    def f(x):
        x = x.clone().requires_grad_()
        y = checkpoint(m, x, use_reentrant=False)
        z = checkpoint_sequential(m, 2, x, use_reentrant=False)
        (y.sum() + z.sum()).backward()
        return y, z, x.grad

    return f


@program
def masked():
    from torch.masked import masked_tensor, as_masked_tensor

    def f(x):
        mt = masked_tensor(x, x > 0)
        return (
            (mt * 2).to_tensor(0.0),
            mt.sum(),
            torch.masked.sum(x, 0, mask=x > 0),
            torch.masked.softmax(x, 1, mask=x > 0),
            torch.masked.mean(x, mask=x > 0),
        )

    return f


@program
def nested():
    def f(x):
        n = torch.nested.nested_tensor([x, x[:2]])
        return n.to_padded_tensor(0.0), [u * 2 for u in n.unbind()]

    return f


@program
def jagged():
    def f(x):
        n = torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged)
        return (n * 2).to_padded_tensor(0.0), n.values(), n.offsets()

    return f


@program
def sparse():
    def f(x):
        s = x.relu().to_sparse()
        c = x.relu().to_sparse_csr()
        return torch.sparse.mm(s, x.T), s.coalesce().indices(), (s * 2).to_dense(), c @ x.T, torch.sparse.sum(s, 0).to_dense()

    return f


@program
def linalg():
    def f(x):
        a = x[:4].T @ x[:4] + torch.eye(4)
        return (
            torch.linalg.cholesky(a),
            torch.linalg.eigh(a),
            torch.linalg.svd(a),
            torch.linalg.qr(a),
            torch.linalg.solve(a, x[0]),
            torch.linalg.lu_factor(a),
            torch.linalg.slogdet(a),
            torch.linalg.pinv(a),
            torch.linalg.matrix_rank(a),
            torch.linalg.norm(a, "nuc"),
            torch.linalg.multi_dot([a, a, x[:4]]),
            torch.linalg.matrix_exp(a * 0.1),
            torch.linalg.cond(a),
        )

    return f


@program
def fft():
    def f(x):
        y = torch.fft.rfft2(x)
        return (
            y.abs(),
            torch.fft.irfft2(y, s=x.shape),
            torch.fft.fftshift(torch.fft.fftfreq(5)),
            torch.stft(x.reshape(-1), 8, return_complex=True, window=torch.hann_window(8)),
            torch.view_as_real(y),
        )

    return f


@program
def special():
    def f(x):
        return (
            torch.special.logsumexp(x, 1),
            torch.special.erfcx(x),
            torch.special.polygamma(1, x.abs() + 1),
            torch.special.zeta(x.abs() + 1.5, x.abs() + 1),
            torch.special.log_softmax(x, 1),
            torch.special.xlogy(x.abs(), x.abs()),
            torch.special.bessel_j0(x),
            torch.special.softmax(x, 0),
        )

    return f


@program
def data_pipeline():
    from torch.utils.data import TensorDataset, DataLoader, random_split, Subset, ConcatDataset, WeightedRandomSampler

    def f(x):
        torch.manual_seed(0)
        ds = TensorDataset(x, x[:, 0])
        a, b = random_split(ds, [3, 2], generator=torch.Generator().manual_seed(1))
        r = []
        for u, v in DataLoader(ds, 2, shuffle=True):
            r.append((u * 2).sum() + v.sum())
        for u, v in DataLoader(ConcatDataset([a, b]), 2, sampler=WeightedRandomSampler([1.0, 2.0, 3.0, 1.0, 1.0], 4)):
            r.append(u.sum())
        return r, len(a)

    return f


@program
def scripted_and_traced():
    @torch.jit.script
    def g(x):
        return x * 2 + 1

    def f(x):
        return g(x) + torch.jit.trace(lambda v: v * 3, x)(x)

    return f


@program
def saved_and_loaded():
    m = nn.Linear(4, 3)

    def f(x):
        b = io.BytesIO()
        torch.save(m.state_dict(), b)
        b.seek(0)
        sd = torch.load(b)
        n = nn.Linear(4, 3)
        n.load_state_dict(sd)
        return n(x)

    return f


@program
def copied_modules():
    m = nn.Sequential(nn.Linear(4, 3), nn.ReLU())

    def f(x):
        n = copy.deepcopy(m)
        n[0].weight.data.mul_(2)
        return n(x), m(x), len(list(n.children()))

    return f


@program
def attention():
    from torch.nn.attention import sdpa_kernel, SDPBackend

    def f(x):
        q = x[None, None]
        with sdpa_kernel(SDPBackend.MATH):
            a = F.scaled_dot_product_attention(q, q, q, is_causal=True)
        return a, F.scaled_dot_product_attention(q, q, q)

    return f


@program
def attention_with_weights():
    m = nn.MultiheadAttention(4, 2, batch_first=True).eval()

    def f(x):
        return m(x[None], x[None], x[None], need_weights=True, average_attn_weights=False)

    return f


@program
def transformer():
    m = nn.Transformer(4, 2, 1, 1, 8, batch_first=True, dropout=0.1)

    def f(x):
        torch.manual_seed(0)
        mask = nn.Transformer.generate_square_subsequent_mask(5)
        return m(x[None], x[None], tgt_mask=mask, tgt_is_causal=True)

    return f


@program
def anomaly():
    def f(x):
        x = x.clone().requires_grad_()
        with torch.autograd.detect_anomaly(check_nan=False):
            y = (x * 2).sum()
            y.backward()
        return x.grad

    return f


@program
def autograd_misc():
    def f(x):
        x = x.clone().requires_grad_()
        y = x.sin()
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        j = torch.autograd.functional.jacobian(lambda v: v**2, x[0].detach())
        hh = torch.autograd.functional.hessian(lambda v: (v**3).sum(), x[0].detach())
        return y, g, h, j, hh, torch.autograd.functional.vjp(lambda v: v * 2, x.detach(), x.detach())

    return f


@program
def forward_mode():
    import torch.autograd.forward_ad as fa

    def f(x):
        with fa.dual_level():
            d = fa.make_dual(x, torch.ones_like(x))
            o = (d * d).sin()
            return fa.unpack_dual(o).tangent

    return f


@program
def running_statistics():
    m = nn.Sequential(nn.Conv1d(4, 3, 2), nn.BatchNorm1d(3, momentum=None), nn.InstanceNorm1d(3, affine=True, track_running_stats=True))

    def f(x):
        return m(x.T[None].repeat(2, 1, 1)), m[1].running_mean.clone(), m[1].num_batches_tracked.clone()

    return f


@program
def lazy_modules():
    def f(x):
        torch.manual_seed(0)
        m = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())
        return m(x), [tuple(p.shape) for p in m.parameters()]

    return f


@program
def hooks_of_modules():
    m = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    seen = []
    m[0].register_forward_hook(lambda mod, i, o: seen.append(o.sum().item()) or o * 2)
    m[1].register_full_backward_hook(lambda mod, gi, go: (gi[0] * 3,))

    def f(x):
        x = x.clone().requires_grad_()
        y = m(x)
        y.sum().backward()
        r = list(seen)
        seen.clear()
        return y, x.grad, r

    return f


@program
def containers_of_parameters():
    m = nn.ModuleDict({"a": nn.ModuleList([nn.Linear(4, 4) for _ in range(2)]), "p": nn.ParameterList([torch.ones(4), torch.ones(4) * 2])})
    m.q = nn.ParameterDict({"k": nn.Parameter(torch.ones(4))})

    def f(x):
        for l in m["a"]:
            x = l(x)
        for p in m["p"]:
            x = x * p
        return x + m.q["k"], list(m.keys()), sorted(m.state_dict())

    return f


@program
def initialised():
    def f(x):
        torch.manual_seed(0)
        w = torch.empty(4, 4)
        return (
            [
                getattr(nn.init, n)(w.clone())
                for n in ("xavier_uniform_", "kaiming_normal_", "orthogonal_", "eye_", "trunc_normal_", "xavier_normal_", "kaiming_uniform_")
            ],
            nn.init.calculate_gain("leaky_relu", 0.2),
            nn.init.sparse_(w.clone(), 0.5),
        )

    return f


@program
def embeddings():
    m = nn.EmbeddingBag(10, 3, mode="max")
    e = nn.Embedding(10, 3, padding_idx=0, max_norm=1.0)

    def f(x):
        i = (x.abs() * 3).long().clamp(max=9)
        return m(i), e(i), F.one_hot(i, 10).sum(0)

    return f


@program
def losses():
    def f(x):
        y = x.softmax(1)
        tgt = torch.arange(5) % 4
        return (
            F.cross_entropy(x, tgt, label_smoothing=0.1),
            F.kl_div(x.log_softmax(1), y, reduction="batchmean"),
            F.ctc_loss(x[:, None].log_softmax(2), torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2])),
            F.triplet_margin_loss(x, x + 1, x - 1),
            F.huber_loss(x, y),
            F.cosine_embedding_loss(x, y, torch.ones(5)),
            F.multilabel_margin_loss(x, torch.zeros(5, 4).long()),
            F.gaussian_nll_loss(x, y, torch.ones(5, 4)),
            F.poisson_nll_loss(x, y),
            nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])(x, tgt).loss.detach() * 0,
        )

    return f


@program
def images():
    def f(x):
        z = x[None, None]
        return (
            F.interpolate(z, scale_factor=2, mode="bicubic"),
            F.grid_sample(z, F.affine_grid(torch.eye(2, 3)[None], (1, 1, 3, 3))),
            F.pixel_shuffle(z.repeat(1, 4, 1, 1), 2),
            F.unfold(z, 2),
            F.fold(F.unfold(z, 2), (5, 4), 2),
            F.pad(z, (1, 1, 1, 1), mode="reflect"),
            F.adaptive_avg_pool2d(z, 2),
            F.max_pool2d(z, 2, return_indices=True),
            F.lp_pool2d(z, 2, 2),
            F.fractional_max_pool2d(z, 2, output_size=(2, 2), _random_samples=torch.full((1, 1, 2), 0.3)),
        )

    return f


@program
def quantised_values():
    def f(x):
        q = torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
        return q.int_repr(), q.dequantize(), torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127)

    return f


@program
def complex_numbers():
    def f(x):
        z = torch.complex(x, x.flip(0))
        return z.abs(), z.angle(), torch.polar(x.abs(), x), z.conj() @ z.T, torch.view_as_real(z), z.real + z.imag, z.mH

    return f


@program
def randoms():
    def f(x):
        torch.manual_seed(1)
        g = torch.Generator().manual_seed(2)
        return (
            torch.randn(3, generator=g),
            torch.randperm(5),
            torch.bernoulli(x.sigmoid()),
            torch.multinomial(x.softmax(1), 2),
            torch.normal(x, 1.0),
            x.clone().exponential_(),
            x.clone().geometric_(0.3),
            torch.poisson(x.abs()),
            F.dropout2d(x[None], 0.5),
            F.rrelu(x, training=True),
            F.gumbel_softmax(x),
            F.alpha_dropout(x, 0.3),
            torch.rand_like(x),
            torch.randint_like(x, 5),
        )

    return f


@program
def texts():
    def f(x):
        return (
            f"{x.shape} {x.dtype} {x.device} {x.layout}",
            str(nn.Linear(4, 3)),
            repr(x.shape),
            x.type(),
            torch.typename(x),
            torch.Size([1, 2]).numel(),
        )

    return f


@program
def limits_of_types():
    def f(x):
        return (
            x.clamp(torch.finfo(x.dtype).min / 2, torch.finfo(x.dtype).max) * torch.finfo(torch.float16).eps,
            torch.iinfo(torch.int8).max,
            torch.promote_types(torch.int8, torch.float16),
            torch.result_type(x, 1.0),
            torch.can_cast(torch.int32, torch.int8),
        )

    return f


def printed(value):
    try:
        return str(value)
    except Exception as error:  # some tensors can't be printed
        return type(error).__name__


def same(a, b):
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if type(a) in (torch.Tensor, nn.Parameter) and a.layout == torch.strided and not a.is_nested:
        return agrees(a, b, EXACT)
    return type(a) is type(b) and printed(a) == printed(b)


def outcomes(make, compiled):
    torch.manual_seed(7)
    fn = make()
    run = breakline.compile(fn, plan="replay" if EXACT else None) if compiled else fn
    results = []
    for seed in range(4):
        torch.manual_seed(seed)
        results.append(run(example()))
    return results, run


if __name__ == "__main__":
    tally = Tally("parts")
    for make in PROGRAMS:
        wanted, _ = outcomes(make, False)
        got, run = outcomes(make, True)
        breaks = [b["reason"] for b in run.target_report()["breaks"]]
        traced = run.stats["ops"] or breaks
        tally.check(make.__name__, same(wanted, got) and traced and not run.stats["skipped"], (printed(wanted[0])[:300], printed(got[0])[:300], run.stats))
    tally.finish()
