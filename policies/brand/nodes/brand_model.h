// SPDX-License-Identifier: Apache-2.0
// What `shufflectl simulate brand` has of its own: several nodes, and the rule
// by which the location binding chooses what to load. See
// core/policy/policy_model.h.
#ifndef SHUFFLEFS_POLICIES_BRAND_NODES_BRAND_MODEL_H_
#define SHUFFLEFS_POLICIES_BRAND_NODES_BRAND_MODEL_H_

#include <memory>

#include "core/policy/policy_model.h"

namespace shufflefs {

inline constexpr ModelOption kBrandModelOptions[] = {
    {.name = "--refill",
     .type = "HOW",
     .help = "rule by which brand.binding=location chooses what to load: none, "
             "random or fill-rate (default: fill-rate)",
     .use = ModelOption::Use::kBinder},
    {.name = "--nodes",
     .type = "N",
     .help = "what brand costs on N nodes that are peers; and misses and "
             "requests of the paper's protocol",
     .use = ModelOption::Use::kOverData},
};

absl::StatusOr<ModelReport> SimulateBrandNodes(const ModelRequest& request,
                                               const ModelData& data);
absl::StatusOr<std::unique_ptr<Binder>> MakeRefilledBinder(
    const ModelRequest& request, const BinderInput& input);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_BRAND_NODES_BRAND_MODEL_H_
