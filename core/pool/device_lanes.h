// SPDX-License-Identifier: Apache-2.0
// Reads of each device wait in a lane of their own, so those of a device that
// hangs stop no others. DeviceLanes says which lane a device has. LaneQueue
// keeps what waits in them.
#ifndef SHUFFLEFS_CORE_POOL_DEVICE_LANES_H_
#define SHUFFLEFS_CORE_POOL_DEVICE_LANES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace shufflefs {

class DeviceLanes {
 public:
  // One lane.
  DeviceLanes() = default;
  // A lane for each device (Catalogue::file_devices), but at most `most` (at
  // least one). Further devices share the last.
  DeviceLanes(absl::Span<const uint32_t> devices, size_t most)
      : count_(std::clamp<size_t>(devices.size(), 1, most)) {
    for (size_t i = 0; i < devices.size(); ++i) {
      if (devices[i] >= lanes_.size()) lanes_.resize(devices[i] + 1);
      lanes_[devices[i]] = std::min(i, count_ - 1);
    }
  }

  size_t count() const { return count_; }
  size_t Of(uint32_t device) const {
    return device < lanes_.size() ? lanes_[device] : 0;
  }

 private:
  size_t count_ = 1;
  std::vector<size_t> lanes_;  // by device
};

// Not thread-safe.
template <typename Item>
class LaneQueue {
 public:
  explicit LaneQueue(size_t lanes) : lanes_(lanes) {}

  void Push(size_t lane, Item item, bool urgent = false) {
    (urgent ? lanes_[lane].urgent : lanes_[lane].others)
        .push_back(std::move(item));
  }
  void PushFirst(size_t lane, Item item, bool urgent) {
    (urgent ? lanes_[lane].urgent : lanes_[lane].others)
        .push_front(std::move(item));
  }

  // The item that waits first in a lane: an urgent one, if there is any.
  struct Offer {
    size_t lane = 0;
    Item* item = nullptr;  // null: none waits
  };
  // Offers count from 0, best first: urgent items before others, and lanes in
  // turn. An offer may be empty.
  size_t offers() const { return 2 * lanes_.size(); }
  Offer At(size_t offer) {
    const bool urgent = offer < lanes_.size();
    const size_t from = turn_ + (urgent ? offer : offer - lanes_.size());
    const size_t at = from < lanes_.size() ? from : from - lanes_.size();
    Lane& lane = lanes_[at];
    if (lane.urgent.empty() == urgent) return {at, nullptr};
    if (urgent) return {at, &lane.urgent.front()};
    return {at, lane.others.empty() ? nullptr : &lane.others.front()};
  }
  // Takes what At offers of the lane.
  Item Take(size_t lane) {
    std::deque<Item>& from =
        lanes_[lane].urgent.empty() ? lanes_[lane].others : lanes_[lane].urgent;
    Item item = std::move(from.front());
    from.pop_front();
    turn_ = lane + 1;
    return item;
  }
  // Takes all.
  std::vector<Item> Clear() {
    std::vector<Item> all;
    for (Lane& lane : lanes_) {
      for (auto* const from : {&lane.urgent, &lane.others}) {
        std::move(from->begin(), from->end(), std::back_inserter(all));
        from->clear();
      }
    }
    return all;
  }

 private:
  struct Lane {
    std::deque<Item> urgent;
    std::deque<Item> others;
  };
  std::vector<Lane> lanes_;
  size_t turn_ = 0;  // the lane that is next
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_POOL_DEVICE_LANES_H_
