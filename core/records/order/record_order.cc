// SPDX-License-Identifier: Apache-2.0
#include "core/records/order/record_order.h"

#include <algorithm>
#include <utility>

#include "core/formats/record_math.h"
#include "core/records/order/block_order.h"
#include "core/records/order/free_order.h"
#include "core/records/order/repeat_order.h"

namespace shufflefs {
namespace {

// Size of a part if the policy does not define it. Large enough for the
// device's full speed, small enough that a reader does not wait long for it.
constexpr uint64_t kPartBytes = uint64_t{1} << 20;

// A sum of this many steps is quick: a step takes about 100 to 400 ns.
constexpr uint64_t kQuickSteps = uint64_t{1} << 15;
// From this many steps on, all parts are summed up at once.
constexpr uint64_t kFarSteps = uint64_t{1} << 18;

}  // namespace

uint64_t PartBytes(const RecordTable& table, uint64_t whole_bytes) {
  const uint64_t all = BytesOfAll(table);
  // With records of a few bytes the plan would be larger than they are.
  const bool whole =
      all <= whole_bytes && table.count() <= whole_bytes / kPlanBytes;
  return whole ? std::max(all, kPartBytes) : kPartBytes;
}

void RecordOrder::SumOne(uint64_t part) const {
  // Runs without the lock, so that a sum far ahead does not make callers wait
  // that need less.
  const Sums sums = SumsOf(part);
  MutexLock lock(mu_);
  if (begins_.size() != part + 1) return;
  begins_.push_back({begins_.back().bytes + sums.bytes,
                     begins_.back().records + sums.records});
}

std::vector<RecordOrder::Sums> RecordOrder::SumsOfAllParts() const {
  std::vector<Sums> sums(part_count());
  for (uint64_t p = 0; p < sums.size(); ++p) sums[p] = SumsOf(p);
  return sums;
}

void RecordOrder::SumTowards(uint64_t next, uint64_t parts) const {
  const uint64_t steps_of_a_part = DivideUp(steps(), part_count());
  if (parts <= part_count() / 8 || parts <= kFarSteps / steps_of_a_part) {
    return SumOne(next);
  }
  MutexLock all_lock(all_mu_);
  {
    MutexLock lock(mu_);
    if (begins_.size() > part_count()) return;  // another thread did
  }
  std::vector<Sums> begins = {Sums()};
  for (const Sums& part : SumsOfAllParts()) {
    begins.push_back({begins.back().bytes + part.bytes,
                      begins.back().records + part.records});
  }
  MutexLock lock(mu_);
  begins_ = std::move(begins);
}

RecordOrder::Sums RecordOrder::Before(uint64_t part) const {
  for (;;) {
    uint64_t next = 0;
    {
      MutexLock lock(mu_);
      if (part < begins_.size()) return begins_[part];
      next = begins_.size() - 1;
    }
    SumTowards(next, part - next);
  }
}

uint64_t RecordOrder::Find(uint64_t Sums::*what, uint64_t value) const {
  for (;;) {
    uint64_t next = 0;
    uint64_t parts = 0;
    {
      MutexLock lock(mu_);
      next = begins_.size() - 1;
      if (begins_.back().*what > value || next >= part_count()) {
        const auto behind = std::upper_bound(
            begins_.begin(), begins_.end(), value,
            [what](uint64_t at, const Sums& sums) { return at < sums.*what; });
        return static_cast<uint64_t>(behind - begins_.begin()) - 1;
      }
      // Estimated from the parts before.
      if (next > 0) {
        const uint64_t mean = begins_.back().*what / next;
        parts = (value - begins_.back().*what) / std::max<uint64_t>(mean, 1);
      }
    }
    SumTowards(next, parts);
  }
}

uint64_t RecordOrder::part_begin(uint64_t part) const {
  return Before(part).bytes;
}

uint64_t RecordOrder::part_first(uint64_t part) const {
  return Before(part).records;
}

uint64_t RecordOrder::PartAt(uint64_t offset) const {
  return Find(&Sums::bytes, offset);
}

uint64_t RecordOrder::PartOf(uint64_t position) const {
  return Find(&Sums::records, position);
}

std::vector<uint64_t> RecordOrder::Records(uint64_t part) const {
  const PartRecords of = RecordsOf(part);
  std::vector<uint64_t> records(of.positions.size());
  auto position = of.positions.begin();
  for (const PartRecords::Run& run : of.runs) {
    for (uint64_t r = run.first; r < run.last; ++r) records[*position++] = r;
  }
  return records;
}

bool RecordOrder::is_quick() const {
  const uint64_t steps_of_a_part = DivideUp(steps(), part_count());
  MutexLock lock(mu_);
  return (part_count() + 1 - begins_.size()) <= kQuickSteps / steps_of_a_part;
}

uint64_t RecordOrder::memory_bytes() const {
  MutexLock lock(mu_);
  return sizeof *this + begins_.capacity() * sizeof(Sums);
}

std::unique_ptr<const RecordOrder> MakeRecordOrder(
    const Policy& policy, const RecordTable& table,
    const RecordOrderOptions& options) {
  if (!policy.shuffles_records()) return nullptr;
  const uint64_t part_bytes = PartBytes(table, options.whole_bytes);
  RecordBlocks blocks = policy.record_blocks();
  const RecordRepeats repeats = policy.record_repeats(options.epoch);
  if (options.may_repeat && repeats.repeats()) {
    return std::make_unique<RepeatOrder>(table, blocks, repeats, options);
  }
  if (blocks.bytes != 0) {
    if (options.records_are_blocks) blocks.bytes = 1;
    return std::make_unique<BlockOrder>(table, blocks, options, part_bytes);
  }
  return std::make_unique<FreeOrder>(
      table,
      policy.MakeOrder(Stratum{options.key, table.count(), nullptr},
                       options.seed, options.epoch),
      part_bytes);
}

}  // namespace shufflefs
