# SPDX-License-Identifier: GPL-3.0-or-later
"""Own twins of the documentation page on toggling error_on_graph_break: the same situations, other code.

Each program leaves its result in `result`, or the text of the exception in `error`.
"""

TWINS = {
    "callee_decorated_allow": '''
@torch._dynamo.error_on_graph_break(False)
def hard_to_fix(t):
    scaled = t * 3
    torch._dynamo.graph_break()
    return scaled - 2

def helper(t):
    return hard_to_fix(t)

@torch._dynamo.error_on_graph_break(True)
@torch.compile
def step(t):
    return helper(t)

result = step(torch.randn(4))
''',
    "with_allow_inside_strict": '''
@torch._dynamo.error_on_graph_break(True)
@torch.compile
def step(t):
    t = t.sigmoid()
    with torch._dynamo.error_on_graph_break(False):
        torch._dynamo.graph_break()
    return t * t

result = step(torch.randn(4))
''',
    "patched_bound_method": '''
class Vendor(torch.nn.Module):
    def forward(self, t):
        t = t - 7
        torch._dynamo.graph_break()
        return t.relu()

vendor = Vendor()
vendor.forward = torch._dynamo.error_on_graph_break(False)(vendor.forward)

@torch._dynamo.error_on_graph_break(True)
@torch.compile
def step(t):
    return vendor.forward(t)

result = step(torch.randn(4))
''',
    "patched_module_called": '''
class Vendor(torch.nn.Module):
    def forward(self, t):
        t = t - 7
        torch._dynamo.graph_break()
        return t.relu()

vendor = Vendor()
vendor.forward = torch._dynamo.error_on_graph_break(False)(vendor.forward)

@torch._dynamo.error_on_graph_break(True)
@torch.compile
def step(t):
    return vendor(t)

result = step(torch.randn(4))
''',
    "strict_callee_after_break": '''
@torch._dynamo.error_on_graph_break(True)
def strict(t):
    t = t + 10
    torch._dynamo.graph_break()
    return t.exp()

def helper(t):
    return strict(t)

@torch.compile
def step(t):
    t = t * 2
    torch._dynamo.graph_break()
    return helper(t)

try:
    result = step(torch.randn(4))
except Exception as e:
    error = str(e)
''',
    "allow_covers_calls": '''
def leaf(t):
    t = t / 3
    torch._dynamo.graph_break()
    return t + 1

def helper(t):
    with torch._dynamo.error_on_graph_break(False):
        return leaf(t)

@torch._dynamo.error_on_graph_break(True)
@torch.compile
def step(t):
    return helper(t)

result = step(torch.randn(4))
''',
    "innermost_region_wins": '''
def leaf(t):
    t = t / 3
    with torch._dynamo.error_on_graph_break(False):
        torch._dynamo.graph_break()
    return t + 1

def helper(t):
    with torch._dynamo.error_on_graph_break(True):
        return leaf(t)

@torch.compile
def step(t):
    return helper(t)

result = step(torch.randn(4))
''',
    "innermost_strict_region": '''
def leaf(t):
    t = t / 3
    with torch._dynamo.error_on_graph_break(True):
        torch._dynamo.graph_break()
    return t + 1

def helper(t):
    with torch._dynamo.error_on_graph_break(False):
        return leaf(t)

@torch.compile
def step(t):
    return helper(t) * 2

try:
    result = step(torch.randn(4))
except Exception as e:
    error = str(e)
''',
    "fullgraph_beats_allow": '''
@torch._dynamo.error_on_graph_break(False)
def leaf(t):
    t = t.cos()
    torch._dynamo.graph_break()
    return t + 1

@torch.compile(fullgraph=True)
def step(t):
    return leaf(t)

try:
    result = step(torch.randn(4))
except Exception as e:
    error = str(e)
''',
    "fullgraph_over_inner_compile": '''
@torch.compile(fullgraph=False)
def leaf(t):
    t = t.cos()
    torch._dynamo.graph_break()
    return t + 1

@torch.compile(fullgraph=True)
def step(t):
    return leaf(t)

try:
    result = step(torch.randn(4))
except Exception as e:
    error = str(e)
''',
    "inner_fullgraph": '''
@torch.compile(fullgraph=True)
def leaf(t):
    t = t.cos()
    torch._dynamo.graph_break()
    return t + 1

@torch.compile(fullgraph=False)
def step(t):
    return leaf(t)

try:
    result = step(torch.randn(4))
except Exception as e:
    error = str(e)
''',
    "fullgraph_without_break": '''
@torch._dynamo.error_on_graph_break(True)
@torch.compile(fullgraph=True)
def step(t):
    with torch._dynamo.error_on_graph_break(False):
        return t.tanh() + 1

result = step(torch.randn(4))
''',
    "data_dependent_strict": '''
@torch._dynamo.error_on_graph_break(True)
@torch.compile
def step(t):
    t = t + 1
    if t.sum() > 0:
        return t
    return -t

try:
    result = step(torch.randn(4))
except Exception as e:
    error = str(e)
''',
    "fullgraph_message": '''
@torch.compile(fullgraph=True)
def step(t):
    t = t + 1
    torch._dynamo.graph_break(msg="look here")
    return -t

try:
    result = step(torch.randn(4))
except Exception as e:
    error = str(e)
''',
}


def page_programs(text):
    """The programs of the page's text as they stand, in order. The last expression's value lands in `result`, a printed
    exception in `error`."""
    programs, buffer, active = [], [], False
    for line in text.splitlines():
        if not active and (line.startswith(("@torch.", "class ", "def "))):
            active, buffer = True, []
        if not active:
            continue
        if line == "fn(torch.randn(3))":
            buffer.append("result = fn(torch.randn(3))")
        elif line.strip() == "fn(torch.randn(3))" and buffer and buffer[-1].startswith("try:"):
            buffer.append("    result = fn(torch.randn(3))")
            continue
        elif line.strip() == "print(e)":
            buffer.append("    error = str(e)")
        else:
            buffer.append(line)
            continue
        programs.append("\n".join(buffer) + "\n")
        active = False
    return programs
