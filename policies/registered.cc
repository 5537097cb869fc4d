// SPDX-License-Identifier: Apache-2.0
// A separate file, so that a program may link another definition with other
// policies instead.
#include "policies/registry.h"

namespace shufflefs {

PolicyTable Policies() { return OwnPolicies(); }

}  // namespace shufflefs
