// SPDX-License-Identifier: Apache-2.0
#include "core/records/order/source_order.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/formats/record_math.h"

namespace shufflefs {
namespace {

constexpr uint64_t kSourcePart = uint64_t{1} << 20;

class SourceOrder : public RecordOrder {
 public:
  explicit SourceOrder(const RecordTable& table) : table_(table) {
    const uint64_t mean =
        std::max<uint64_t>(BytesOfAll(table) / table.count(), 1);
    per_part_ = std::max<uint64_t>(kSourcePart / mean, 1);
  }

  uint64_t part_count() const override {
    return DivideUp(table_.count(), per_part_);
  }
  PartRecords RecordsOf(uint64_t part) const override {
    PartRecords records;
    records.runs.push_back({part * per_part_, LastOf(part)});
    records.positions.resize(records.runs.front().size());
    std::iota(records.positions.begin(), records.positions.end(), 0);
    return records;
  }

 protected:
  Sums SumsOf(uint64_t part) const override {
    const uint64_t first = part * per_part_;
    const uint64_t last = LastOf(part);
    return Sums{table_.begin(last) - table_.begin(first), last - first};
  }
  uint64_t steps() const override { return part_count(); }

 private:
  // The end of the part's records.
  uint64_t LastOf(uint64_t part) const {
    return std::min((part + 1) * per_part_, table_.count());
  }

  // Constant after construction.
  const RecordTable& table_;
  uint64_t per_part_ = 1;  // records
};

}  // namespace

std::unique_ptr<const RecordOrder> MakeSourceOrder(const RecordTable& table) {
  return std::make_unique<SourceOrder>(table);
}

}  // namespace shufflefs
