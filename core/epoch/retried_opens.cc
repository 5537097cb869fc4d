// SPDX-License-Identifier: Apache-2.0
#include "core/epoch/retried_opens.h"

namespace shufflefs {

void RetriedOpens::Add(uint32_t reader) {
  if (samples_.size() >= kMost) samples_.clear();
  samples_.emplace(reader, absl::nullopt);
}

void RetriedOpens::NoteLookup(SampleId sample, uint32_t reader) {
  const auto found = samples_.find(reader);
  if (found != samples_.end()) found->second = sample;
}

void RetriedOpens::AppendLookedUp(std::vector<SampleId>& samples) {
  for (auto& [reader, sample] : samples_) {
    if (sample) samples.push_back(*sample);
    sample.reset();
  }
}

}  // namespace shufflefs
