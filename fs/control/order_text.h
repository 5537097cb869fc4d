// SPDX-License-Identifier: Apache-2.0
// The text of the control file `order`.
#ifndef SHUFFLEFS_FS_CONTROL_ORDER_TEXT_H_
#define SHUFFLEFS_FS_CONTROL_ORDER_TEXT_H_

#include <string>

#include "core/binding/binding.h"
#include "core/binding/ranked_names.h"

namespace shufflefs {

// `rank TAB name TAB sample` a line, in the plan's order of samples: the file
// `sample` is shown under `name`. Paths are relative to the source; tab,
// newline and backslash in them stand as \t, \n and \\. Of a sample of
// several files each has its line. `ranked` gives the names of a ranked view,
// which show what they tell; null for the tree layout. Where names are bound
// as they are asked for, what is not bound yet has no line.
std::string OrderText(const Binding& binding, const RankedNames* ranked);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_CONTROL_ORDER_TEXT_H_
