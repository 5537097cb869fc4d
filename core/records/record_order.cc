// SPDX-License-Identifier: Apache-2.0
#include "core/records/record_order.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/parallel.h"
#include "core/permutation.h"

namespace shufflefs {
namespace {

// A part is about so long where the policy does not say: enough for a device
// to be read at its speed, so little that a reader does not wait long for it.
constexpr uint64_t kPartBytes = uint64_t{1} << 20;

// Of a sum: a step takes some 100 to 400 ns.
constexpr uint64_t kQuickSteps = uint64_t{1} << 15;
// From so many on they are all summed up at once.
constexpr uint64_t kFarSteps = uint64_t{1} << 18;

uint64_t DivideUp(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

uint64_t BytesOfAll(const RecordTable& table) {
  return table.begin(table.count()) - table.begin(0);
}

// Of a record in the plan of a part (core/records/shuffled_file.h).
constexpr uint64_t kPlanBytes = 32;

// Bytes of a part where the policy does not say.
uint64_t PartBytes(const RecordTable& table, uint64_t whole_bytes) {
  const uint64_t all = BytesOfAll(table);
  // Of records of a few bytes the plan would be larger than they are.
  const bool whole =
      all <= whole_bytes && table.count() <= whole_bytes / kPlanBytes;
  return whole ? std::max(all, kPartBytes) : kPartBytes;
}

// Any order of all records, cut into equal numbers of them.
class FreeOrder : public RecordOrder {
 public:
  FreeOrder(const RecordTable& table, std::unique_ptr<const Order> order,
            uint64_t part_bytes)
      : table_(table), order_(std::move(order)) {
    const uint64_t parts =
        std::max<uint64_t>(DivideUp(BytesOfAll(table), part_bytes), 1);
    per_part_ = std::max<uint64_t>(DivideUp(table.count(), parts), 1);
  }

  uint64_t part_count() const override {
    return DivideUp(table_.count(), per_part_);
  }
  std::vector<uint64_t> Records(uint64_t part) const override {
    const uint64_t last = std::min((part + 1) * per_part_, table_.count());
    std::vector<uint64_t> records;
    records.reserve(per_part_);
    for (uint64_t at = part * per_part_; at < last; ++at) {
      records.push_back(order_->SampleAt(at));
    }
    return records;
  }

 protected:
  Sums SumsOf(uint64_t part) const override {
    const uint64_t count = CountOf(part);
    if (table_.record_bytes() != 0) {
      return Sums{count * table_.record_bytes(), count};
    }
    Sums sums{0, count};
    for (const uint64_t record : Records(part)) {
      sums.bytes += table_.bytes(record);
    }
    return sums;
  }
  // Through the file and not through the order: the table is read from end to
  // end, where the order would have it looked up at random.
  std::vector<Sums> SumsOfAllParts() const override {
    if (table_.record_bytes() != 0) return RecordOrder::SumsOfAllParts();
    Mutex mu;
    std::vector<Sums> all(part_count());
    for (uint64_t p = 0; p < all.size(); ++p) all[p].records = CountOf(p);
    ParallelOptions parallel;
    parallel.threads = static_cast<int>(std::thread::hardware_concurrency());
    parallel.chunk = kChunk;
    parallel.name = "order";
    ParallelFor(table_.count(), parallel, [&](uint64_t begin, uint64_t end) {
      const std::vector<uint64_t> some = BytesByPart(begin, end);
      MutexLock lock(mu);
      for (uint64_t p = 0; p < all.size(); ++p) all[p].bytes += some[p];
      return true;
    });
    return all;
  }
  uint64_t steps() const override {
    return table_.record_bytes() != 0 ? part_count() : table_.count();
  }

 private:
  static constexpr uint64_t kChunk = uint64_t{1} << 20;  // records

  uint64_t CountOf(uint64_t part) const {
    const uint64_t first = part * per_part_;
    return std::min(first + per_part_, table_.count()) - first;
  }

  // Of records [begin, end): how much of them comes in each part.
  std::vector<uint64_t> BytesByPart(uint64_t begin, uint64_t end) const {
    std::vector<uint64_t> bytes(part_count());
    std::vector<uint64_t> begins;
    for (uint64_t first = begin; first < end; first += begins.size() - 1) {
      begins.resize(std::min<uint64_t>(end - first, 4096) + 1);
      table_.Begins(first, absl::MakeSpan(begins));
      for (uint64_t k = 0; k + 1 < begins.size(); ++k) {
        bytes[order_->PositionOf(first + k) / per_part_] +=
            begins[k + 1] - begins[k];
      }
    }
    return bytes;
  }

  // Constant after construction.
  const RecordTable& table_;
  const std::unique_ptr<const Order> order_;
  uint64_t per_part_ = 1;  // records
};

// Blocks in a random order; the records of a window of them are mixed. Block b
// holds the records that begin in the b-th block_bytes bytes behind the
// container's head. With B blocks, P = Permutation(B, kBlockOrder), window w
// is the blocks P(w*W), …, laid end to end; if they hold m records, the t-th
// that comes is the Q(t)-th of these, Q = Permutation(m, SubKey(kInsideBlock,
// w)). REIMU's block shuffle with a shuffle of rows in memory; for W = 1 and
// pages of the device, LIRS' page-aware shuffling. The blocks may be of another
// container, with as many records: the order is that one's.
class BlockOrder : public RecordOrder {
 public:
  BlockOrder(const RecordTable& table, RecordBlocks blocks,
             const RecordOrderOptions& options)
      : table_(table),
        by_(options.order_by == nullptr ? table : *options.order_by),
        blocks_(blocks),
        first_byte_(by_.begin(0)),
        order_(DivideUp(BytesOfAll(by_), blocks.bytes),
               DeriveKey(options.seed, options.epoch, options.key,
                         Purpose::kBlockOrder)),
        inside_(DeriveKey(options.seed, options.epoch, options.key,
                          Purpose::kInsideBlock)),
        per_part_(WindowsPerPart(PartBytes(table, options.whole_bytes))) {}

  uint64_t part_count() const override {
    return DivideUp(order_.size(), per_part_ * blocks_.window);
  }

  std::vector<uint64_t> Records(uint64_t part) const override {
    std::vector<uint64_t> records;
    const uint64_t windows = DivideUp(order_.size(), blocks_.window);
    const uint64_t last = std::min((part + 1) * per_part_, windows);
    for (uint64_t w = part * per_part_; w < last; ++w) {
      AppendWindow(w, &records);
    }
    return records;
  }

 protected:
  Sums SumsOf(uint64_t part) const override {
    const uint64_t per_part = per_part_ * blocks_.window;
    const uint64_t last = std::min((part + 1) * per_part, order_.size());
    Sums sums;
    for (uint64_t slot = part * per_part; slot < last; ++slot) {
      const Run run = RunOf(order_(slot));
      sums.bytes += table_.begin(run.last) - table_.begin(run.first);
      sums.records += run.last - run.first;
    }
    return sums;
  }
  uint64_t steps() const override { return order_.size(); }

 private:
  struct Run {  // records [first, last)
    uint64_t first = 0;
    uint64_t last = 0;
  };

  uint64_t WindowsPerPart(uint64_t part_bytes) const {
    uint64_t block_bytes = blocks_.bytes;
    if (&by_ != &table_)
      block_bytes = DivideUp(BytesOfAll(table_), order_.size());
    const uint64_t blocks = DivideUp(part_bytes, block_bytes);
    return std::max<uint64_t>(DivideUp(blocks, blocks_.window), 1);
  }

  Run RunOf(uint64_t block) const {
    const uint64_t at = first_byte_ + block * blocks_.bytes;
    return {by_.FirstFrom(at), by_.FirstFrom(at + blocks_.bytes)};
  }

  void AppendWindow(uint64_t window, std::vector<uint64_t>* records) const {
    const uint64_t last =
        std::min((window + 1) * blocks_.window, order_.size());
    std::vector<uint64_t> inside;
    for (uint64_t slot = window * blocks_.window; slot < last; ++slot) {
      const Run run = RunOf(order_(slot));
      for (uint64_t r = run.first; r < run.last; ++r) inside.push_back(r);
    }
    const Permutation mix(inside.size(), SubKey(inside_, window));
    for (uint64_t t = 0; t < inside.size(); ++t) {
      records->push_back(inside[mix(t)]);
    }
  }

  // Constant after construction.
  const RecordTable& table_;
  const RecordTable& by_;
  const RecordBlocks blocks_;
  const uint64_t first_byte_;
  const Permutation order_;
  const RandomKey inside_;
  const uint64_t per_part_;  // windows
};

}  // namespace

void RecordOrder::SumOne(uint64_t part) const {
  // Without the lock: who sums up to a part far ahead keeps nobody waiting who
  // needs less.
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
    if (begins_.size() > part_count()) return;  // somebody else did
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
      // About as far as the parts before let expect.
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
  RecordBlocks blocks = policy.record_blocks();
  if (blocks.bytes != 0) {
    if (options.records_are_blocks) blocks.bytes = 1;
    return std::make_unique<BlockOrder>(table, blocks, options);
  }
  return std::make_unique<FreeOrder>(
      table,
      policy.MakeOrder(Stratum{options.key, table.count(), nullptr},
                       options.seed, options.epoch),
      PartBytes(table, options.whole_bytes));
}

}  // namespace shufflefs
