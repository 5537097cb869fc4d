// SPDX-License-Identifier: Apache-2.0
// `policy = auto`: asks the entry of each policy how well it suits what was
// found and measured (policies/auto/suitability.h), takes the best, and says
// why in one line.
//
// `brand` where it is safe and pays: proven class folders with a validation
// split of their own beside them (without one a client may split by name),
// larger than memory, on a source that seeks or has a high latency, where the
// estimate of policies/auto/gain_estimate.h is worth it, and no key forbids it.
// An epoch that one of them began is finished under it, even if what is
// measured says something else now: free memory and devices differ from day to
// day. Else, where most of it are container files whose records carry their
// labels and which are larger than memory: `reimu` on a source that seeks or
// has a high latency, `lirs` on flash. Names keep their files, and each file
// its own records, so neither labels by name nor a split by name come apart.
// Else, where names keep their samples (they may not move, or a client may
// split by name): `clairvoyant`, if it is at least 1000 files, larger than
// memory, on such a source, no key leaves it no room, and the estimate does
// not speak against it.
// Everything else is `native`. The line says what was found, which gain is
// (not) to be expected, and what can be asked for.
//
// A pure function; any thread may call.
#ifndef SHUFFLEFS_POLICIES_AUTO_AUTO_CHOICE_H_
#define SHUFFLEFS_POLICIES_AUTO_AUTO_CHOICE_H_

#include "core/policy/policy.h"

namespace shufflefs {

AutoChoice ChooseAuto(const DatasetFacts& facts);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_AUTO_AUTO_CHOICE_H_
