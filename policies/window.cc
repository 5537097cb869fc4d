// SPDX-License-Identifier: Apache-2.0
#include "policies/window.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/base/lazy.h"
#include "core/random/random.h"
#include "policies/basic_orders.h"

namespace shufflefs {
namespace {

constexpr PolicyOption kWindowKeys[] = {
    {.key = "window.samples",
     .default_text = "10000",
     .values = "a number of samples from 1 to 1099511627776",
     .help = "samples in the shuffle queue of the window policy",
     .initial = 10000,
     .min = 1,
     .max = uint64_t{1} << 40,
     .binds = true,
     .place = 5},
};

// A table of the whole epoch. Rep holds any sample.
template <typename Rep>
class QueueOrder : public Order {
 public:
  QueueOrder(uint64_t size, uint64_t window, RandomKey key)
      : size_(size), window_(std::min(size, window)), key_(key) {}

  uint64_t size() const override { return size_; }
  uint64_t SampleAt(uint64_t position) const override {
    return Whole().sample_at[position];
  }
  uint64_t PositionOf(uint64_t sample) const override {
    return Whole().position_of[sample];
  }

 private:
  struct Table {
    std::vector<Rep> sample_at;
    std::vector<Rep> position_of;
  };

  const Table& Whole() const {
    return table_.Get([this] { return Run(); });
  }

  Table Run() const {
    Table table{.sample_at = std::vector<Rep>(size_),
                .position_of = std::vector<Rep>(size_)};
    Rng rng(key_);
    std::vector<Rep> queue(window_);
    for (uint64_t i = 0; i < window_; ++i) queue[i] = static_cast<Rep>(i);
    uint64_t next = window_;
    for (uint64_t position = 0; position < size_; ++position) {
      const uint64_t drawn = rng.Bounded(queue.size());
      const Rep sample = queue[drawn];
      table.sample_at[position] = sample;
      table.position_of[sample] = static_cast<Rep>(position);
      if (next < size_) {
        queue[drawn] = static_cast<Rep>(next++);
      } else {
        queue[drawn] = queue.back();
        queue.pop_back();
      }
    }
    return table;
  }

  // Constant after construction.
  const uint64_t size_;
  const uint64_t window_;
  const RandomKey key_;
  // Self-synchronised.
  const Lazy<Table> table_;
};

}  // namespace

constinit const PolicyEntry kWindowEntry = {
    .name = "window",
    .help = "baseline: a shuffle buffer over the order of the source",
    .keys = kWindowKeys,
    .keys_rank = PolicyEntry::kBaselineRank,
    .make = [](const PolicyOptions& options,
               const StagedView*) -> std::unique_ptr<const Policy> {
      return std::make_unique<WindowPolicy>(options.number(kWindowKeys[0]));
    },
};

std::unique_ptr<const Order> WindowPolicy::MakeOrder(const Stratum& stratum,
                                                     Seed seed,
                                                     Epoch epoch) const {
  const RandomKey key =
      DeriveKey(seed, epoch, stratum.key, Purpose::kShuffleQueue);
  if (stratum.size <= std::numeric_limits<uint32_t>::max()) {
    return std::make_unique<QueueOrder<uint32_t>>(stratum.size, window_, key);
  }
  return std::make_unique<QueueOrder<uint64_t>>(stratum.size, window_, key);
}

std::unique_ptr<const Order> WindowPolicy::MakeListing(const Stratum& stratum,
                                                       Seed seed,
                                                       Epoch epoch) const {
  if (stratum.size == 0) return std::make_unique<IdentityOrder>(0);
  Rng rng(DeriveKey(seed, epoch, stratum.key, Purpose::kRotation));
  return std::make_unique<RotationOrder>(stratum.size,
                                         rng.Bounded(stratum.size));
}

}  // namespace shufflefs
