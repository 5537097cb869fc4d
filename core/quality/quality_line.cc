// SPDX-License-Identifier: Apache-2.0
#include "core/quality/quality_line.h"

#include "core/quality/shuffle_quality.h"

namespace shufflefs {

std::string QualityLine(const Binding& binding) {
  const Plan& plan = binding.plan();
  if (plan.policy().consumption() == Consumption::kSource) return "";
  // The policy's order does not have each sample once.
  if (plan.policy().stages()) return "";
  const Grouping& grouping = plan.dataset().grouping();
  QualityInput input;
  input.order = &plan.view_order();
  input.source_size = grouping.sample_count();
  input.label = [&](uint64_t sample) {
    return grouping.group_of(SampleId(sample)).value();
  };
  input.seed = plan.seed();
  return GradeLine(MeasureShuffleQuality(input));
}

std::string QualityCache::Line(const std::shared_ptr<const Binding>& binding) {
  MutexLock lock(mu_);
  if (binding != binding_) {
    line_ = QualityLine(*binding);
    binding_ = binding;
  }
  return line_;
}

}  // namespace shufflefs
