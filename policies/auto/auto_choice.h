// SPDX-License-Identifier: Apache-2.0
// `policy = auto`: asks each policy's entry how well it suits what was found
// and measured (core/policy/policy_advice.h), takes the best, and gives the
// reason in one line. What the entries of this program say, in this order:
// * `brand` if it is safe and pays. This needs proven class folders with a
//   separate validation split beside them (without one a client may split by
//   name), larger than memory, on a source that seeks or has a high latency.
//   The estimate of policies/auto/gain_estimate.h must be worth it, and no key
//   may forbid it.
// * If most of the dataset is container files whose records carry their labels,
//   larger than memory: `reimu` on a source that seeks or has a high latency,
//   `lirs` on flash. Names keep their files, and each file its own records. So
//   labels by name and splits by name stay right.
// * If names keep their samples (they may not move, or a client may split by
//   name): `clairvoyant`. This needs at least 1000 files, larger than memory,
//   on such a source. No key may exclude it, and the estimate must not speak
//   against it.
// * `native` for everything else.
//
// An epoch that `brand`, `reimu` or `lirs` began is finished under that policy
// while this is safe, even if it would not be chosen now. Free memory and
// devices vary from day to day.
//
// The line says what was found, which gain is (not) to be expected, and what
// the user can ask for.
//
// A pure function; any thread may call.
#ifndef SHUFFLEFS_POLICIES_AUTO_AUTO_CHOICE_H_
#define SHUFFLEFS_POLICIES_AUTO_AUTO_CHOICE_H_

#include "core/policy/policy.h"

namespace shufflefs {

AutoChoice ChooseAuto(const DatasetFacts& facts);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_AUTO_AUTO_CHOICE_H_
