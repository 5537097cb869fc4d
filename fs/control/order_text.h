// SPDX-License-Identifier: Apache-2.0
// The text of the control file `order`.
#ifndef SHUFFLEFS_FS_CONTROL_ORDER_TEXT_H_
#define SHUFFLEFS_FS_CONTROL_ORDER_TEXT_H_

#include <string>

#include "core/binding/binding.h"
#include "core/binding/ranked_names.h"

namespace shufflefs {

// One line `rank TAB name TAB sample` per file, in the plan's order of samples:
// the file `sample` is shown under `name`. Paths are relative to the source;
// tab, newline and backslash in them are written as \t, \n and \\. A sample of
// several files has one line per file. `ranked` gives the names of a ranked
// view, which show what they say; null for the tree layout. With names that are
// bound on demand, names that are not bound yet have no line.
std::string OrderText(const Binding& binding, const RankedNames* ranked);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_CONTROL_ORDER_TEXT_H_
