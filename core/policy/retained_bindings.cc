// SPDX-License-Identifier: Apache-2.0
#include "core/policy/retained_bindings.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace shufflefs {

absl::StatusOr<RetainedBindings> RetainedBindings::Make(
    std::vector<NameBinding> pairs) {
  return Make(std::move(pairs), /*repeats=*/false);
}

absl::StatusOr<RetainedBindings> RetainedBindings::MakeRepeating(
    std::vector<NameBinding> pairs) {
  return Make(std::move(pairs), /*repeats=*/true);
}

absl::StatusOr<RetainedBindings> RetainedBindings::Make(
    std::vector<NameBinding> pairs, bool repeats) {
  RetainedBindings retained;
  retained.sample_of_.reserve(pairs.size());
  retained.name_of_.reserve(pairs.size());
  for (const NameBinding& pair : pairs) {
    if (!retained.sample_of_.emplace(pair.name, pair.sample).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("name ", pair.name, " is retained twice"));
    }
    const auto [named, first] =
        retained.name_of_.emplace(pair.sample, pair.name);
    if (first) continue;
    if (!repeats) {
      return absl::InvalidArgumentError(
          absl::StrCat("sample ", pair.sample, " is retained twice"));
    }
    named->second = pair.name;
  }
  retained.pairs_ = std::move(pairs);
  return retained;
}

std::vector<NameBinding> RetainedBindings::FirstOfEach(
    std::vector<NameBinding> pairs) {
  absl::flat_hash_set<uint64_t> samples;
  pairs.erase(std::remove_if(pairs.begin(), pairs.end(),
                             [&](const NameBinding& pair) {
                               return !samples.insert(pair.sample).second;
                             }),
              pairs.end());
  return pairs;
}

}  // namespace shufflefs
