// SPDX-License-Identifier: Apache-2.0
#include "policies/static_policy.h"

namespace shufflefs {

constinit const PolicyEntry kStaticEntry = {
    .name = "static",
    .help = "baseline: a cache of what is read first",
    .make = [](const PolicyOptions&,
               const StagedView*) -> std::unique_ptr<const Policy> {
      return std::make_unique<StaticPolicy>();
    },
    .not_simulated = "not graded, because your program decides the order",
};

}  // namespace shufflefs
