// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/studio.h"

int main(int argc, char** argv) { return breakline::ui::run_studio(argc, argv); }
