# SPDX-License-Identifier: GPL-3.0-or-later
"""torch.distributions: Python code over tensors by PyTorch's authors. Each distribution is made and asked inside the compiled function,
with and without argument validation: samples (eager's random stream), densities, moments, divergences, gradients, errors.

  test_distributions.py [--cpu] [name ...]        with the replay plan, bit for bit; --cpu: with the cpu plan, within tolerance
"""

import os
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import torch  # noqa: E402
import torch.distributions as D  # noqa: E402
from harness import Tally, agrees  # noqa: E402

import breakline  # noqa: E402

warnings.simplefilter("ignore")


def positive(*sizes):
    return torch.rand(*sizes) + 0.5


def simplex(*sizes):
    return torch.softmax(torch.randn(*sizes), -1)


def spd(n):
    a = torch.randn(n, n)
    return a @ a.T + torch.eye(n)


# name: (maker of a distribution of its parameters, maker of the parameters)
MADE = {
    "Bernoulli": (lambda p: D.Bernoulli(p), lambda: [torch.rand(3)]),
    "Bernoulli of logits": (lambda p: D.Bernoulli(logits=p), lambda: [torch.randn(3)]),
    "Beta": (lambda a, b: D.Beta(a, b), lambda: [positive(3), positive(3)]),
    "Binomial": (lambda p: D.Binomial(5, p), lambda: [torch.rand(3)]),
    "Categorical": (lambda p: D.Categorical(p), lambda: [simplex(2, 4)]),
    "Categorical of logits": (lambda p: D.Categorical(logits=p), lambda: [torch.randn(2, 4)]),
    "Cauchy": (lambda a, b: D.Cauchy(a, b), lambda: [torch.randn(3), positive(3)]),
    "Chi2": (lambda a: D.Chi2(a), lambda: [positive(3)]),
    "ContinuousBernoulli": (lambda p: D.ContinuousBernoulli(p), lambda: [torch.rand(3)]),
    "Dirichlet": (lambda a: D.Dirichlet(a), lambda: [positive(2, 3)]),
    "Exponential": (lambda a: D.Exponential(a), lambda: [positive(3)]),
    "FisherSnedecor": (lambda a, b: D.FisherSnedecor(a, b), lambda: [positive(3), positive(3)]),
    "Gamma": (lambda a, b: D.Gamma(a, b), lambda: [positive(3), positive(3)]),
    "GeneralizedPareto": (lambda a, b: D.GeneralizedPareto(a, b, torch.full_like(a, 0.3)), lambda: [torch.randn(3), positive(3)]),
    "Geometric": (lambda p: D.Geometric(p), lambda: [torch.rand(3) * 0.8 + 0.1]),
    "Gumbel": (lambda a, b: D.Gumbel(a, b), lambda: [torch.randn(3), positive(3)]),
    "HalfCauchy": (lambda a: D.HalfCauchy(a), lambda: [positive(3)]),
    "HalfNormal": (lambda a: D.HalfNormal(a), lambda: [positive(3)]),
    "Independent": (lambda a, b: D.Independent(D.Normal(a, b), 1), lambda: [torch.randn(2, 3), positive(2, 3)]),
    "InverseGamma": (lambda a, b: D.InverseGamma(a, b), lambda: [positive(3) + 2, positive(3)]),
    "Kumaraswamy": (lambda a, b: D.Kumaraswamy(a, b), lambda: [positive(3), positive(3)]),
    "LKJCholesky": (lambda a: D.LKJCholesky(3, a), lambda: [positive(2)]),
    "Laplace": (lambda a, b: D.Laplace(a, b), lambda: [torch.randn(3), positive(3)]),
    "LogNormal": (lambda a, b: D.LogNormal(a, b), lambda: [torch.randn(3), positive(3)]),
    "LogisticNormal": (lambda a, b: D.LogisticNormal(a, b), lambda: [torch.randn(3), positive(3)]),
    "LowRankMultivariateNormal": (lambda a, b, c: D.LowRankMultivariateNormal(a, b, c), lambda: [torch.randn(3), torch.randn(3, 2), positive(3)]),
    "MixtureSameFamily": (lambda p, a, b: D.MixtureSameFamily(D.Categorical(p), D.Normal(a, b)), lambda: [simplex(3), torch.randn(3), positive(3)]),
    "Multinomial": (lambda p: D.Multinomial(4, p), lambda: [simplex(3)]),
    "MultivariateNormal": (lambda a, c: D.MultivariateNormal(a, c), lambda: [torch.randn(3), spd(3)]),
    "NegativeBinomial": (lambda p: D.NegativeBinomial(4, p), lambda: [torch.rand(3) * 0.8]),
    "Normal": (lambda a, b: D.Normal(a, b), lambda: [torch.randn(3), positive(3)]),
    "Normal of numbers": (lambda a: D.Normal(0.5, 2.0), lambda: [torch.randn(3)]),
    "OneHotCategorical": (lambda p: D.OneHotCategorical(p), lambda: [simplex(2, 3)]),
    "OneHotCategoricalStraightThrough": (lambda p: D.OneHotCategoricalStraightThrough(p), lambda: [simplex(2, 3)]),
    "Pareto": (lambda a, b: D.Pareto(a, b), lambda: [positive(3), positive(3) + 2]),
    "Poisson": (lambda a: D.Poisson(a), lambda: [positive(3)]),
    "RelaxedBernoulli": (lambda p: D.RelaxedBernoulli(torch.tensor(0.7), p), lambda: [torch.rand(3)]),
    "RelaxedOneHotCategorical": (lambda p: D.RelaxedOneHotCategorical(torch.tensor(0.7), p), lambda: [simplex(3)]),
    "StudentT": (lambda a, b: D.StudentT(a, b), lambda: [positive(3) + 2, torch.randn(3)]),
    "TransformedDistribution": (
        lambda a, b: D.TransformedDistribution(D.Normal(a, b), [D.ExpTransform(), D.AffineTransform(1.0, 2.0), D.PowerTransform(torch.tensor(0.5))]),
        lambda: [torch.randn(3), positive(3)],
    ),
    "TransformedDistribution, composed": (
        lambda a, b: D.TransformedDistribution(D.Uniform(a, b), D.ComposeTransform([D.SigmoidTransform().inv, D.TanhTransform()])),
        lambda: [torch.rand(3) * 0.4 + 0.05, torch.rand(3) * 0.4 + 0.5],
    ),
    "Uniform": (lambda a, b: D.Uniform(a, b), lambda: [torch.rand(3), positive(3) + 1]),
    "VonMises": (lambda a, b: D.VonMises(a, b), lambda: [torch.randn(3), positive(3)]),
    "Weibull": (lambda a, b: D.Weibull(a, b), lambda: [positive(3), positive(3)]),
    "Wishart": (lambda c: D.Wishart(torch.tensor(4.0), c), lambda: [spd(2)]),
    "outside its support": (lambda a: D.Normal(a, -positive(3)), lambda: [torch.randn(3)]),
}


REFUSED = {"outside its support"}  # raises in eager as well


def asked(d, sizes):
    """What there is to ask; what is not implemented for a distribution answers by its exception."""
    answers = []

    def ask(question):
        try:
            answers.append(question())
        except (NotImplementedError, AttributeError) as error:
            answers.append(type(error).__name__)

    x = d.rsample(sizes) if d.has_rsample else d.sample(sizes)
    answers.append(x)
    x = x.detach()
    ask(lambda: d.log_prob(x))
    ask(lambda: d.entropy())
    ask(lambda: d.mean)
    ask(lambda: d.variance)
    ask(lambda: d.stddev)
    ask(lambda: d.mode)
    ask(lambda: d.cdf(x))
    ask(lambda: d.icdf(torch.full(d.batch_shape, 0.3)))
    ask(lambda: d.enumerate_support())
    ask(lambda: d.expand((2, *d.batch_shape)).sample())
    ask(lambda: d.perplexity())
    return answers, tuple(d.batch_shape), tuple(d.event_shape), repr(d), d.support.is_discrete, d.support.check(x)


def program(make, validate, sizes):
    def run(*parameters):
        D.Distribution.set_default_validate_args(validate)
        return asked(make(*parameters), sizes)

    return run


def divergence(make):
    def run(*parameters):
        p, q = make(*parameters), make(*[parameter * 1.1 for parameter in parameters])
        try:
            return D.kl_divergence(p, q)
        except (NotImplementedError, ValueError) as error:
            return str(error)

    return run


def outcome(fn, make_parameters, grad):
    """Results, gradients and the random stream after it."""
    torch.manual_seed(5)
    parameters = [p.requires_grad_(grad) for p in make_parameters()]
    D.Distribution.set_default_validate_args(__debug__)
    try:
        result = fn(*parameters)
    except Exception as error:  # what is raised is the outcome
        return f"{type(error).__name__}: {str(error)[:200]}"
    tensors = [t for t in (result[0] if isinstance(result, tuple) else [result]) if isinstance(t, torch.Tensor) and t.requires_grad]
    grads = []
    for t in tensors:
        try:
            grads += torch.autograd.grad(t.sum(), parameters, retain_graph=True, allow_unused=True)
        except (RuntimeError, NotImplementedError) as error:
            grads.append(str(error))
    return [result, grads, torch.rand(1)]


if __name__ == "__main__":
    tally = Tally("distributions")
    exact = "--cpu" not in sys.argv
    only = [name for name in sys.argv[1:] if name != "--cpu"]
    for name, (make, make_parameters) in MADE.items():
        if only and name not in only:
            continue
        programs = [(f"validate {v}, {sizes}", program(make, v, sizes)) for v in (True, False) for sizes in ((), (4,))]
        for how, fn in [*programs, ("divergence", divergence(make))]:
            for grad in (False, True):
                compiled = breakline.compile(fn, plan="replay" if exact else None)
                wanted = [outcome(fn, make_parameters, grad) for _ in range(2)]
                got = [outcome(compiled, make_parameters, grad) for _ in range(2)]
                answered = isinstance(wanted[0], list) or name in REFUSED
                tally.check(f"{name}, {how}, grad {grad}", agrees(wanted, got, exact) and answered and not compiled.stats["skipped"], (wanted, got, compiled.stats))
    tally.finish()
