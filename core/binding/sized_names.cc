// SPDX-License-Identifier: Apache-2.0
#include "core/binding/sized_names.h"

#include <algorithm>

namespace shufflefs {

void SizedNames::NoteLookup(SampleId sample, uint32_t reader) {
  size_t of_reader = 0;
  auto oldest = told_.end();
  for (auto it = told_.begin(); it != told_.end(); ++it) {
    if (it->reader != reader) continue;
    if (it->sample == sample) {
      ++it->times;
      std::rotate(it, it + 1, told_.end());  // it is the newest now
      return;
    }
    if (of_reader++ == 0) oldest = it;
  }
  const bool many = of_reader >= (reader == 0 ? kMostHidden : kMostOfReader);
  if (many || told_.size() >= kMost) {
    told_.erase(many ? oldest : told_.begin());
    dropped_ = true;
  }
  told_.push_back(Told{sample, reader});
}

std::vector<SizedNames::Told>::iterator SizedNames::Find(SampleId sample,
                                                         uint32_t reader) {
  return std::find_if(told_.begin(), told_.end(), [&](const Told& told) {
    return told.reader == reader && told.sample == sample;
  });
}

uint32_t SizedNames::TakeOpen(SampleId sample, uint32_t reader) {
  const auto found = Find(sample, reader);
  if (found == told_.end()) return 0;
  const uint32_t times = found->times;
  told_.erase(found);
  return times;
}

void SizedNames::TakeOne(SampleId sample, uint32_t reader) {
  if (dropped_) return;
  const auto found = Find(sample, reader);
  if (found != told_.end() && --found->times == 0) told_.erase(found);
}

void SizedNames::AppendTo(std::vector<SampleId>& samples) const {
  for (const Told& told : told_) samples.push_back(told.sample);
}

void SizedNames::Clear() {
  told_.clear();
  dropped_ = false;
}

}  // namespace shufflefs
