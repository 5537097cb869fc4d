// SPDX-License-Identifier: Apache-2.0
// The analytical model of MET as text and as JSON. Pure.
#ifndef SHUFFLEFS_POLICIES_MET_MODEL_MET_MODEL_TEXT_H_
#define SHUFFLEFS_POLICIES_MET_MODEL_MET_MODEL_TEXT_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "policies/met/met_model.h"

namespace shufflefs {

struct MetQuestion {
  MetTiers tiers;
  double dataset_bytes = 0;
  // One per mini-epoch; empty: no trace is requested.
  std::vector<uint64_t> repeats;
};

// Factors from 1 to 128, and the results of the trace.
std::string MetModelText(const MetQuestion& question);
nlohmann::ordered_json MetModelObject(const MetQuestion& question);

}  // namespace shufflefs

#endif  // SHUFFLEFS_POLICIES_MET_MODEL_MET_MODEL_TEXT_H_
