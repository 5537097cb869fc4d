// SPDX-License-Identifier: Apache-2.0
#include "policies/brand/nodes/brand_model.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/status.h"
#include "core/config/value_text.h"
#include "policies/brand/brand.h"
#include "policies/brand/location_binder.h"
#include "policies/brand/nodes/simulated_nodes.h"

namespace shufflefs {
namespace {

constexpr uint64_t kMostNodes = 1024;

absl::StatusOr<LocationBinder::Refill> ParseRefill(const std::string& word) {
  if (word == "none") return LocationBinder::Refill::kNone;
  if (word == "random") return LocationBinder::Refill::kRandom;
  if (word == "fill-rate") return LocationBinder::Refill::kFillRate;
  return absl::InvalidArgumentError(
      absl::StrCat("--refill ", word, ": must be none, random or fill-rate"));
}

}  // namespace

absl::StatusOr<ModelReport> SimulateBrandNodes(const ModelRequest& request,
                                               const ModelData& data) {
  const absl::optional<uint64_t> nodes = ParseNumber(request.option("--nodes"));
  if (!nodes || *nodes < 1 || *nodes > kMostNodes) {
    return absl::InvalidArgumentError(
        absl::StrCat("--nodes: must be from 1 to ", kMostNodes));
  }
  if (!request.option("--refill").empty()) {
    return absl::InvalidArgumentError(
        "--nodes shows all that --refill can be: leave one of them out");
  }
  const auto count = static_cast<uint32_t>(*nodes);
  ASSIGN_OR_RETURN(const SimulatedNodes found,
                   SimulateNodes(request, data, count));
  ASSIGN_OR_RETURN(const SimulatedPeers peers,
                   SimulatePeers(request, data, count));
  nlohmann::ordered_json json = SimulatedNodesJson(found);
  json["peers"] = SimulatedPeersJson(peers);
  return ModelReport{
      absl::StrCat(SimulatedPeersText(peers), "\n", SimulatedNodesText(found)),
      json.dump()};
}

absl::StatusOr<std::unique_ptr<Binder>> MakeRefilledBinder(
    const ModelRequest& request, const BinderInput& input) {
  ASSIGN_OR_RETURN(const LocationBinder::Refill refill,
                   ParseRefill(request.option("--refill")));
  if (BrandOptions::Of(request.keys).binding !=
      BrandOptions::Binding::kLocation) {
    return absl::InvalidArgumentError("--refill is for brand.binding=location");
  }
  return std::unique_ptr<Binder>(
      std::make_unique<LocationBinder>(input, refill));
}

}  // namespace shufflefs
