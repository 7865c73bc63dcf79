# SPDX-License-Identifier: GPL-3.0-or-later
"""PyTorch's names made ours, as the engine and `breakline run` do. Each check runs in a process of its own."""
import subprocess
import sys
import textwrap
import unittest

HEAD = "import sys, torch\nfrom breakline import standin\nstandin.install()\nX = torch.tensor([1.0, -2.0])\n"


class Standin(unittest.TestCase):
    def run_code(self, code):
        done = subprocess.run([sys.executable, "-c", HEAD + textwrap.dedent(code)], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_names_without_the_real_module(self):
        out = self.run_code(
            """
            import torch._dynamo
            import torch._dynamo as dynamo
            from torch._dynamo import error_on_graph_break, graph_break
            torch._dynamo.config.recompile_limit = 5
            torch._dynamo.config.suppress_errors = True
            with torch._dynamo.config.patch(suppress_errors=False):
                assert not torch._dynamo.config.suppress_errors
            assert torch._dynamo.config.suppress_errors
            torch._dynamo.mark_dynamic(X, 0)
            @torch.compile(fullgraph=False, dynamic=True, mode="default")
            def f(x):
                y = x + 1
                graph_break()
                with error_on_graph_break(False):
                    dynamo.graph_break()
                return y if torch.compiler.is_compiling() else x
            assert torch.equal(f(X), X + 1)
            assert f.stats["breaks"] == 2
            torch._dynamo.reset(); torch.compiler.reset()
            assert torch.compiler.error_on_graph_break is torch._dynamo.error_on_graph_break
            print(torch._dynamo.explain(f)(X).graph_break_count, "torch._dynamo.convert_frame" in sys.modules)
            """
        )
        self.assertEqual(out, "2 False")

    def test_the_real_module_loads_for_other_names_and_ours_stay(self):
        out = self.run_code(
            """
            assert torch._dynamo.convert_frame.__name__ == "torch._dynamo.convert_frame"
            import torch._dynamo.exc
            from breakline import api, markers
            assert torch._dynamo.graph_break is markers.graph_break and torch.compile.__module__.startswith("breakline")
            assert torch.compiler.disable is markers.disable
            f = torch.compile(lambda x: (torch._dynamo.graph_break(), x + 1)[1], fullgraph=True)
            try:
                f(X)
            except torch._dynamo.exc.Unsupported as error:
                print(type(error).__module__, issubclass(type(error), torch._dynamo.exc.TorchDynamoException))
            """
        )
        self.assertEqual(out, "breakline.errors True")

    def test_submodules_are_imported_first(self):
        for name in ("decorators", "eval_frame", "utils"):
            out = self.run_code(
                f"""
                import torch._dynamo.{name} as first
                from torch._dynamo.{name} import __name__ as named
                from breakline import markers
                same = first is sys.modules["torch._dynamo.{name}"] is getattr(standin.real_dynamo(), "{name}")
                print(named, same, first.__spec__.origin == first.__file__, torch._dynamo.graph_break is markers.graph_break)
                """
            )
            self.assertEqual(out, f"torch._dynamo.{name} True True True")

    def test_modules_compile_in_place_and_optimizers_work(self):
        out = self.run_code(
            """
            net = torch.nn.Linear(2, 2)
            net.compile()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
            before = net.weight.detach().clone()
            for _ in range(2):
                optimizer.zero_grad()
                net(X).sum().backward()
                optimizer.step()
            wrapped = torch.compile(net)
            assert isinstance(wrapped, torch._dynamo.OptimizedModule)
            print(bool((net.weight != before).any()), "torch._dynamo.convert_frame" in sys.modules)
            """
        )
        self.assertEqual(out, "True False")

    def test_unknown_keywords_fail_as_in_pytorch(self):
        out = self.run_code(
            """
            try:
                torch.compile(lambda x: x, error_on_graph_break=True)
            except TypeError as error:
                print(error)
            """
        )
        self.assertEqual(out, "compile() got an unexpected keyword argument 'error_on_graph_break'")

    def test_settings_reach_the_real_config(self):
        out = self.run_code(
            """
            import torch._dynamo.config as config
            assert config is torch._dynamo.config
            config.recompile_limit = 5
            assert config.recompile_limit == 5 and config.trace_numpy is True
            light = "torch._dynamo.convert_frame" not in sys.modules
            assert config.fake_tensor_cache_enabled in (True, False) if hasattr(config, "fake_tensor_cache_enabled") else True
            config.dynamic_shapes  # a name that the real module alone has
            import torch._dynamo.config as again
            with config.patch(verbose=True):
                assert again.verbose
            with config.patch("suppress_errors", True), config.patch({"disable": True}, dynamic_shapes=False):
                assert again.suppress_errors and again.disable and not again.dynamic_shapes
            assert not again.suppress_errors and not again.disable
            from breakline import standin
            print(light, again is config, standin._real.config.recompile_limit, standin._real.config.verbose)
            """
        )
        self.assertEqual(out, "True True 5 False")

    def test_export_means_one_graph(self):
        out = self.run_code(
            """
            def f(x):
                with torch._dynamo.error_on_graph_break(False):
                    torch._dynamo.graph_break()
                return x + 1
            try:
                torch._dynamo.export(f)(X)
            except torch._dynamo.exc.Unsupported as error:
                print(error.gb_type)
            """
        )
        self.assertEqual(out, "Call to `torch._dynamo.graph_break()`")

    def test_a_setting_is_patched_by_name_and_value(self):
        out = self.run_code(
            """
            config = torch._dynamo.config
            @config.patch("specialize_float", True)
            def by_name():
                return config.specialize_float
            with config.patch({"specialize_int": True}), config.patch(verbose=True):
                print(by_name(), config.specialize_int, config.verbose)
            print(config.specialize_float, config.specialize_int, config.verbose)
            """
        )
        self.assertEqual(out, "True True True\nFalse False False")

    def test_branches_with_effects_run_as_plain_python(self):
        out = self.run_code(
            """
            class Counting(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.register_buffer("seen", torch.zeros(2))
                def forward(self, flag, x):
                    def noted(x):
                        self.seen.add_(1)
                        return x * 2 + self.seen
                    return torch.cond(flag, noted, noted, (x,))
            plain, compiled = Counting(), Counting()
            call = torch.compile(compiled, backend="eager")
            with torch.no_grad():
                for flag in (True, False, True):
                    flag = torch.tensor(flag)
                    assert torch.equal(plain(flag, X), call(flag, X)) and torch.equal(plain.seen, compiled.seen)
            print(compiled.seen.tolist())
            """
        )
        self.assertEqual(out, "[3.0, 3.0]")

    def test_stance(self):
        out = self.run_code(
            """
            calls = []
            def f(x):
                calls.append(torch.compiler.is_compiling())
                return x + 1
            c = torch.compile(f)
            with torch.compiler.set_stance("force_eager"):
                c(X)
            c(X)
            print(calls)
            """
        )
        self.assertEqual(out, "[False, True]")

    def test_a_function_that_stands_for_a_native_one(self):
        out = self.run_code(
            """
            import operator
            @torch.compiler.substitute_in_graph(operator.length_hint)
            def length_hint(obj, default=0, /):
                return len(obj) if hasattr(obj, "__len__") else default
            def f(x):
                return x + operator.length_hint([1, 2, 3])
            print(torch.compile(f, fullgraph=True)(X).tolist(), length_hint([1, 2]))
            for wrong in (lambda: torch._dynamo.substitute_in_graph(operator.length_hint)(lambda other: 0), lambda: torch._dynamo.substitute_in_graph(3)):
                try:
                    wrong()
                except TypeError as error:
                    print(str(error).split(" ")[0])
            """
        )
        self.assertEqual(out, "[4.0, 1.0] 2\nSignature\nsubstitute_in_graph")

    def test_disallowed_functions(self):
        out = self.run_code(
            """
            def f(x):
                return torch.sub(x + 1, 1) * 2
            torch._dynamo.disallow_in_graph(torch.sub)
            apart = torch.compile(f, backend="eager")
            print(torch.equal(apart(X), f(X)), apart.stats["breaks"])
            torch._dynamo.allow_in_graph(torch.sub)
            whole = torch.compile(f, fullgraph=True, backend="eager")
            print(torch.equal(whole(X), f(X)), whole.stats["graphs"])
            try:
                torch._dynamo.disallow_in_graph(f)
            except RuntimeError as error:
                print("expected to be used on an already allowed callable" in str(error))
            """
        )
        self.assertEqual(out, "True 1\nTrue 1\nTrue")

    def test_functions_that_are_traced_loosely(self):
        out = self.run_code(
            """
            def shifted(x, parts, net):
                torch._dynamo.graph_break()
                return net(x) * parts["scale"]
            loose = torch._dynamo.nonstrict_trace(shifted)
            net = torch.nn.Linear(2, 2)
            def f(x, call):
                return call(x + 1, {"scale": x}, net) - 1
            print(torch.equal(torch.compile(f, fullgraph=True, backend="eager")(X, loose), f(X, shifted)))
            broken = torch.compile(f, backend="eager")
            broken(X, shifted)
            print(broken.stats["breaks"])
            """
        )
        self.assertEqual(out, "True\n1")

    def test_leaf_functions_run_once(self):
        out = self.run_code(
            """
            from torch._dynamo.decorators import leaf_function
            @leaf_function
            def say(x):
                print("ran")
                return (x * 2,)
            @say.register_fake
            def fake(x):
                return (x,)
            f = torch.compile(lambda x: say(x + 1)[0] - 1, backend="eager")
            print(f(X).tolist(), f(X).tolist())
            """
        )
        self.assertEqual(out, "ran\nran\n[3.0, -3.0] [3.0, -3.0]")

    def test_results_that_are_said_to_be_fixed(self):
        out = self.run_code(
            """
            @torch._dynamo.assume_constant_result
            def is_positive(t):
                return t[0].item() > 0
            class Net(torch.nn.Module):
                @property
                def scale(self):
                    return len(list(self.children())) + 3
                def forward(self, x):
                    return x * self.scale if is_positive(x) else x
            torch._dynamo.assume_constant_result(Net.scale.fget)
            print(torch.compile(Net(), fullgraph=True, backend="eager")(X).tolist())
            """
        )
        self.assertEqual(out, "[3.0, -6.0]")

    def test_forms_of_settings_and_marks(self):
        out = self.run_code(
            """
            config = torch._dynamo.config
            with config.patch("verbose", True):
                print(config.verbose)
            with config.patch({"verbose": True}, suppress_errors=True):
                print(config.verbose, config.suppress_errors)
            print(config.verbose, config.suppress_errors)
            for wrong in (dict(recompile_limit=1), dict(verbose=[])):
                try:
                    torch._dynamo.patch_dynamo_config(**wrong)
                except ValueError as error:
                    print(str(error).rpartition(" ")[0])
            @torch._dynamo.mark_static
            class Scaled(torch.nn.Module):
                def forward(self, x):
                    return x * 3
            torch._dynamo.mark_static_address(X)
            print(torch.compile(Scaled(), backend="eager")(X).tolist())
            try:
                torch.compiler.set_stance("force_eager", force_backend="eager")
            except RuntimeError as error:
                print("force_backend" in str(error))
            """
        )
        self.assertEqual(out, "True\nTrue True\nFalse False\npatch_dynamo_config does not support patching config\n"
                         "patch_dynamo_config does not support patching config verbose with non-safe-constant value\n[3.0, -6.0]\nTrue")


if __name__ == "__main__":
    unittest.main()
