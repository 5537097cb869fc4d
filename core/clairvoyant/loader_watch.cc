// SPDX-License-Identifier: Apache-2.0
#include "core/clairvoyant/loader_watch.h"

#include <algorithm>
#include <utility>

namespace shufflefs {

std::vector<LoaderWatch::Loader> LoaderWatch::Note(uint32_t loader,
                                                   const EpochOpens::Open& open,
                                                   bool expected) {
  auto at = std::find_if(
      loaders_.begin(), loaders_.end(),
      [&](const Loader& known) { return known.process == loader; });
  if (at == loaders_.end()) {
    loaders_.push_back({loader, 0, {}});
    at = loaders_.end() - 1;
  }
  at->opens.push_back(open);
  at->expected += expected ? 1 : 0;
  if (++opens_ < look_) return {};
  look_ = 2 * look_ > kMost ? kLook : 2 * look_;
  const bool anew = look_ == kLook;
  std::vector<Loader> busy = loaders_;
  std::erase_if(busy,
                [](const Loader& each) { return each.opens.size() < kEnough; });
  const bool apart =
      busy.size() > 1 &&
      std::any_of(busy.begin(), busy.end(),
                  [](const Loader& each) { return !each.is_followed(); });
  if (anew || apart) *this = {};
  return apart ? std::move(busy) : std::vector<Loader>();
}

}  // namespace shufflefs
