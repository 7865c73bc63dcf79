# SPDX-License-Identifier: GPL-3.0-or-later
"""Every text of the window stands in the Chinese translation, finished, with the same place holders, and nothing else does."""

import os
import re
import sys
import xml.etree.ElementTree as ElementTree

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
# Words that are the same in both languages.
SAME = {"Breakline Studio[*]", "%1[*] – Breakline Studio", "no_grad", "python %1", "torch %1"}

LITERAL = r'"(?:[^"\\]|\\.)*"'
STRINGS = re.compile(LITERAL)
CALL = re.compile(
    rf'(?:\b(?P<class>\w+)::)?\btr\(\s*(?P<text>{LITERAL}(?:\s*{LITERAL})*)'
    rf'|\b(?:translate|QT_TRANSLATE_NOOP)\(\s*(?P<context>{LITERAL})\s*,\s*(?P<said>{LITERAL}(?:\s*{LITERAL})*)'
)
# A definition at the start of a line: `void Window::show(` names the context of the calls below it.
DEFINITION = re.compile(r"^(?!\s)[\w:<>,&*\s~]*?\b(\w+)::~?\w+\(|^class (\w+)\b[^;]*\{", re.MULTILINE)


def joined(literals):
    text = "".join(item[1:-1] for item in STRINGS.findall(literals))
    return text.replace('\\"', '"').replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")


def texts_of(path, namespace_context):
    """(context, source, line) of each translatable text."""
    with open(path, encoding="utf-8") as file:
        code = file.read()
    definitions = [(match.start(), match[1] or match[2]) for match in DEFINITION.finditer(code)]
    for match in CALL.finditer(code):
        line = code.count("\n", 0, match.start()) + 1
        if match["context"]:
            yield joined(match["context"]), joined(match["said"]), line
            continue
        local = namespace_context.get(os.path.basename(path))
        owners = [name for start, name in definitions if start <= match.start()]
        owner = match["class"] or (None if local else owners[-1] if owners else "?")
        yield (f"breakline::ui::{owner}" if owner else local), joined(match["text"]), line


def main():
    # A file whose local tr() has a context of its own.
    own_context = {}
    found = {}
    for folder, _, names in os.walk(os.path.join(ROOT, "ui")):
        for name in sorted(names):
            if not name.endswith((".cpp", ".h")):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                local = re.search(r'QString tr\(const char\* text\) \{ return QCoreApplication::translate\("(\w+)"', file.read())
            if local:
                own_context[name] = local[1]
            for context, source, line in texts_of(path, own_context):
                if re.search(r"[A-Za-z]{2}", source):
                    found.setdefault((context, source), f"{os.path.relpath(path, ROOT)}:{line}")
    assert len(found) > 200, f"only {len(found)} texts found: the search for them is broken"

    tree = ElementTree.parse(os.path.join(ROOT, "resources", "translations", "breakline_zh_CN.ts"))
    translated, faults = {}, []
    for context in tree.iter("context"):
        for message in context.iter("message"):
            key = context.findtext("name"), message.findtext("source")
            translation = message.find("translation")
            translated[key] = translation.text or ""
            if translation.get("type"):
                faults.append(f"{key}: the translation is {translation.get('type')}")
    for (context, source), place in found.items():
        chinese = translated.get((context, source))
        if chinese is None:
            faults.append(f"{place}: no translation in {context}: {source!r}")
        elif not re.search(r"[\u4e00-\u9fff]", chinese) and source not in SAME:
            faults.append(f"{place}: not Chinese: {source!r} → {chinese!r}")
        elif sorted(re.findall(r"%\d", source)) != sorted(re.findall(r"%\d", chinese)):
            faults.append(f"{place}: other place holders: {source!r} → {chinese!r}")
    sources = {source for _, source in found}
    for context, source in translated:
        if source not in sources and re.search(r"[A-Za-z]{2}", source):
            faults.append(f"no text of the window any more: {context}: {source!r}")
    for fault in faults:
        print(fault)
    print(f"{len(found)} texts, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
