// SPDX-License-Identifier: Apache-2.0
// FreeOrder is any order of all records of a container, cut into parts with
// equal numbers of records.
#ifndef SHUFFLEFS_CORE_RECORDS_ORDER_FREE_ORDER_H_
#define SHUFFLEFS_CORE_RECORDS_ORDER_FREE_ORDER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/formats/record_table.h"
#include "core/policy/policy.h"
#include "core/records/order/record_order.h"

namespace shufflefs {

class FreeOrder : public RecordOrder {
 public:
  // Parts have about `part_bytes` bytes. The table outlives the order.
  FreeOrder(const RecordTable& table, std::unique_ptr<const Order> order,
            uint64_t part_bytes);

  uint64_t part_count() const override;
  PartRecords RecordsOf(uint64_t part) const override;

 protected:
  Sums SumsOf(uint64_t part) const override;
  std::vector<Sums> SumsOfAllParts() const override;
  uint64_t steps() const override;

 private:
  uint64_t CountOf(uint64_t part) const;
  PartRecords AllRecords() const;
  // For records [begin, end): how many of their bytes come in each part.
  std::vector<uint64_t> BytesByPart(uint64_t begin, uint64_t end) const;

  // Constant after construction.
  const RecordTable& table_;
  const std::unique_ptr<const Order> order_;
  uint64_t per_part_ = 1;  // records
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_FREE_ORDER_H_
