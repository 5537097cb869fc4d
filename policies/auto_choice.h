// SPDX-License-Identifier: Apache-2.0
// `policy = auto`: looks at what was found and measured, chooses, and says
// why in one line (design 3.13).
//
// For file trees today every choice is `native`: the policies that exist
// shuffle what a reader gets in listing or name order, but do not make a
// framework's own random reads cheaper, so moving content under names
// unasked would risk something for nothing. The line says what was found,
// which gain is (not) to be expected, and what can be asked for.
//
// A pure function; any thread may call.
#ifndef SHUFFLEFS_POLICIES_AUTO_CHOICE_H_
#define SHUFFLEFS_POLICIES_AUTO_CHOICE_H_

#include "core/policy.h"

namespace shufflefs {

// Matches AutoChooser.
AutoChoice ChooseAuto(const DatasetFacts& facts);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_AUTO_CHOICE_H_
