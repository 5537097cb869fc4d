// SPDX-License-Identifier: Apache-2.0
// reverse: the source's order, from its end to its beginning.
#ifndef SHUFFLEFS_TESTS_EXAMPLES_REVERSE_POLICY_H_
#define SHUFFLEFS_TESTS_EXAMPLES_REVERSE_POLICY_H_
#include "core/policy/policy_entry.h"
namespace shufflefs {
extern const PolicyEntry kReverseEntry;
}  // namespace shufflefs
#endif  // SHUFFLEFS_TESTS_EXAMPLES_REVERSE_POLICY_H_
