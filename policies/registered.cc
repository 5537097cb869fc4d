// SPDX-License-Identifier: Apache-2.0
// By itself, so that a program may link another definition instead, with
// policies that are not this directory's.
#include "policies/registry.h"

namespace shufflefs {

PolicyTable Policies() { return OwnPolicies(); }

}  // namespace shufflefs
