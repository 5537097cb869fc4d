// SPDX-License-Identifier: Apache-2.0
#include "core/tiers/tier_wishes.h"

#include <utility>

namespace shufflefs {
namespace {

std::shared_ptr<const std::vector<EntryId>> FilesOf(const Catalogue& catalogue,
                                                    const StagingPlan& plan,
                                                    uint64_t set) {
  std::vector<EntryId> files = plan.FilesOf(set);
  std::erase_if(files, [&catalogue](EntryId file) {
    return file.value() >= catalogue.entry_count() ||
           catalogue.kind(file) != EntryKind::kFile ||
           catalogue.attributes(file).size == 0;
  });
  return std::make_shared<const std::vector<EntryId>>(std::move(files));
}

}  // namespace

TierWishes::TierWishes(const Catalogue& catalogue, const StagingPlan& plan,
                       const std::vector<uint64_t>& sets,
                       const TierWishes* before)
    : wanted_(catalogue.entry_count()), first_(catalogue.entry_count()) {
  for (const uint64_t number : sets) {
    Set set;
    set.number = number;
    if (before != nullptr) {
      for (const Set& known : before->sets_) {
        if (known.number == number) set.files = known.files;
      }
    }
    if (set.files == nullptr) set.files = FilesOf(catalogue, plan, number);
    for (const EntryId file : *set.files) {
      wanted_[file.value()] = true;
      if (sets_.empty()) first_[file.value()] = true;
    }
    sets_.push_back(std::move(set));
  }
}

std::vector<uint64_t> TierWishes::numbers() const {
  std::vector<uint64_t> numbers;
  for (const Set& set : sets_) numbers.push_back(set.number);
  return numbers;
}

}  // namespace shufflefs
