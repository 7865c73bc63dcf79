# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m breakline.engine`."""

import sys

from .server import main

sys.exit(main())
