# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs of programs_forms.py, _classes.py, _functions.py, _modes.py, _regions.py and _settled.py, or with --users those of programs_users.py, eager against Breakline under both plans, with no more
places that break than each may have.

  test_forms.py [--only REGEX] [--users] [--places]
"""

import argparse
import re

from programs_classes import CLASSES
from programs_forms import FORMS
from programs_functions import FUNCTIONS
from programs_modes import MODES
from programs_regions import REGIONS
from programs_settled import SETTLED
from programs_users import STILL_BREAK, USERS
from test_programs import compare  # noqa: E402  (sets the path for what follows)

from harness import Tally, run_child  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--users", action="store_true", help="the programs of programs_users.py")
    parser.add_argument("--places", action="store_true", help="print where each breaks")
    given = parser.parse_args()
    import breakline  # noqa: F401  before the forks

    tally = Tally("forms of tensors")
    for name, (make, places) in (USERS if given.users else FORMS | CLASSES | FUNCTIONS | MODES | REGIONS | SETTLED).items():
        if not re.search(given.only, name):
            continue
        for plan in ("replay", "cpu"):
            answer = run_child(lambda: compare(make, plan), timeout=600)
            if isinstance(answer, dict):
                tally.check(f"{name}/{plan}", False, answer["crash"][-1500:])
                continue
            difference, breaks = answer
            tally.check(f"{name}/{plan}", not difference, difference[:1200])
            if given.places and plan == "replay" and breaks:
                print(f"  {name}: {sorted(set(breaks))}", flush=True)
            allowed = STILL_BREAK.get(name, places) if given.users else places
            tally.check(f"{name}/{plan}: places", len(set(breaks)) <= allowed, f"{sorted(set(breaks))}")
    tally.finish()


if __name__ == "__main__":
    main()
