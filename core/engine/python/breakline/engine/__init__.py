# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine process: speaks the protocol of core/protocol/README.md on its standard streams and runs the user's code."""
