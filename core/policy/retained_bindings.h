// SPDX-License-Identifier: Apache-2.0
// RetainedBindings are the names that keep their sample over an epoch boundary,
// with the bijection that remains for the others.
//
// Let K be the retained names, T their samples and pi the epoch's own
// permutation. A name outside K shows pi(name). While a name of K has that
// sample, it shows what pi gives this name instead, and so on. This is the
// first-return map of pi if each sample of T is identified with its name. It is
// a bijection from the other names to the other samples of a group, and uniform
// if pi is. It takes 1 / (1 - |K| / group) steps on average, and never more
// than |K| + 1.
//
// Immutable after Make; any thread may call. Memory: 32 to 64 bytes per
// retained name.
#ifndef SHUFFLEFS_CORE_POLICY_RETAINED_BINDINGS_H_
#define SHUFFLEFS_CORE_POLICY_RETAINED_BINDINGS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

namespace shufflefs {

// A name and the sample that it shows.
struct NameBinding {
  uint64_t name = 0;
  uint64_t sample = 0;
  friend bool operator==(const NameBinding&, const NameBinding&) = default;
};

class RetainedBindings {
 public:
  RetainedBindings() = default;  // nothing retained: the plan itself

  // InvalidArgument if a name or a sample occurs twice. The retained samples of
  // a group must be as many as its retained names, as in any bijection.
  // Otherwise names of one group show samples of another.
  static absl::StatusOr<RetainedBindings> Make(std::vector<NameBinding> pairs);
  // The same if several names may show a sample (Binder::mini_epochs); the last
  // one is its name. InvalidArgument if a name occurs twice.
  static absl::StatusOr<RetainedBindings> MakeRepeating(
      std::vector<NameBinding> pairs);
  // Those of `pairs` whose sample does not occur in an earlier pair.
  static std::vector<NameBinding> FirstOfEach(std::vector<NameBinding> pairs);

  bool empty() const { return pairs_.empty(); }
  uint64_t size() const { return pairs_.size(); }
  // In the order given to Make.
  const std::vector<NameBinding>& pairs() const { return pairs_; }

  // The sample that `name` shows. `pi` is the plan's permutation.
  template <typename Pi>
  uint64_t Shown(uint64_t name, Pi&& pi) const {
    if (pairs_.empty()) return pi(name);
    const auto kept = sample_of_.find(name);
    if (kept != sample_of_.end()) return kept->second;
    uint64_t sample = pi(name);
    for (auto it = name_of_.find(sample); it != name_of_.end();
         it = name_of_.find(sample)) {
      sample = pi(it->second);
    }
    return sample;
  }

  // The name that shows `sample`. `inverse` is the plan's. This is Shown's
  // inverse if `inverse` is pi's.
  template <typename Inverse>
  uint64_t NameOf(uint64_t sample, Inverse&& inverse) const {
    if (pairs_.empty()) return inverse(sample);
    const auto kept = name_of_.find(sample);
    if (kept != name_of_.end()) return kept->second;
    uint64_t name = inverse(sample);
    for (auto it = sample_of_.find(name); it != sample_of_.end();
         it = sample_of_.find(name)) {
      name = inverse(it->second);
    }
    return name;
  }

 private:
  static absl::StatusOr<RetainedBindings> Make(std::vector<NameBinding> pairs,
                                               bool repeats);

  std::vector<NameBinding> pairs_;
  absl::flat_hash_map<uint64_t, uint64_t> sample_of_;  // name -> sample
  absl::flat_hash_map<uint64_t, uint64_t> name_of_;    // sample -> name
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POLICY_RETAINED_BINDINGS_H_
