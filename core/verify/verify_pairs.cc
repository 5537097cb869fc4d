// SPDX-License-Identifier: Apache-2.0
#include "core/verify/verify_pairs.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace shufflefs {
namespace {

constexpr size_t kNamed = 3;  // number of faults that are named

// Collects faults. Describes the first ones in words.
class Faults {
 public:
  explicit Faults(const Dataset* dataset) : dataset_(dataset) {}

  void Add(uint64_t of, absl::string_view kind,
           const std::vector<uint64_t>& others) {
    if (++count_ > kNamed) return;
    std::vector<std::string> paths;
    for (const uint64_t other : others) paths.push_back(Path(other));
    named_.push_back(
        absl::StrCat(Path(of), ": ", kind, " ", absl::StrJoin(paths, " and ")));
  }

  absl::Status status() const {
    if (count_ == 0) return absl::OkStatus();
    std::string text = absl::StrJoin(named_, "; ");
    if (count_ > kNamed) {
      absl::StrAppend(&text, "; and ", count_ - kNamed, " more");
    }
    return absl::DataLossError(text);
  }

 private:
  std::string Path(uint64_t sample) const {
    if (dataset_ == nullptr) return absl::StrCat("number ", sample);
    return dataset_->catalogue().path(
        dataset_->grouping().first_member(SampleId(sample)));
  }

  const Dataset* const dataset_;
  uint64_t count_ = 0;
  std::vector<std::string> named_;
};

// The path of the first sample that does not occur among the `number`s of
// `shown`. "" if all occur.
template <typename Number>
std::string FirstAbsent(const PackedPairs& shown, const Dataset& dataset,
                        Number&& number) {
  const Grouping& grouping = dataset.grouping();
  std::vector<bool> present(grouping.sample_count());
  for (uint64_t i = 0; i < shown.size(); ++i) present[number(shown[i])] = true;
  const auto absent = std::find(present.begin(), present.end(), false);
  if (absent == present.end()) return "";
  const SampleId first(static_cast<uint64_t>(absent - present.begin()));
  return dataset.catalogue().path(grouping.first_member(first));
}

}  // namespace

absl::Status ProvePairs(std::vector<NameBinding> pairs, const Dataset* dataset,
                        bool repeats) {
  Faults faults(dataset);
  std::sort(pairs.begin(), pairs.end(),
            [](const NameBinding& a, const NameBinding& b) {
              return std::tie(a.sample, a.name) < std::tie(b.sample, b.name);
            });
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  for (size_t i = 0; i < pairs.size(); ++i) {
    const NameBinding& pair = pairs[i];
    if (dataset != nullptr &&
        dataset->grouping().group_of(SampleId(pair.name)) !=
            dataset->grouping().group_of(SampleId(pair.sample))) {
      faults.Add(pair.name, "shows a sample of another group,", {pair.sample});
    }
    if (!repeats && i > 0 && pairs[i - 1].sample == pair.sample) {
      faults.Add(pair.sample, "is shown by two names,",
                 {pairs[i - 1].name, pair.name});
    }
  }
  std::sort(pairs.begin(), pairs.end(),
            [](const NameBinding& a, const NameBinding& b) {
              return std::tie(a.name, a.sample) < std::tie(b.name, b.sample);
            });
  for (size_t i = 1; i < pairs.size(); ++i) {
    if (pairs[i - 1].name != pairs[i].name) continue;
    faults.Add(pairs[i].name, "shows two samples,",
               {pairs[i - 1].sample, pairs[i].sample});
  }
  return faults.status();
}

LeftOut FirstLeftOut(const PackedPairs& shown, const Dataset& dataset) {
  return {FirstAbsent(shown, dataset,
                      [](const NameBinding& pair) { return pair.sample; }),
          FirstAbsent(shown, dataset,
                      [](const NameBinding& pair) { return pair.name; })};
}

}  // namespace shufflefs
