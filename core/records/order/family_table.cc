// SPDX-License-Identifier: Apache-2.0
#include "core/records/order/family_table.h"

#include <algorithm>
#include <utility>

namespace shufflefs {

FamilyTable::FamilyTable(std::vector<ContainerShape> members)
    : members_(std::move(members)), firsts_({0}), bases_({0}) {
  for (const ContainerShape& member : members_) {
    const RecordTable& table = *member.records;
    firsts_.push_back(firsts_.back() + table.count());
    const uint64_t bytes = table.begin(table.count()) - table.begin(0);
    bases_.push_back(bases_.back() + bytes);
  }
}

size_t FamilyTable::MemberOf(uint64_t record) const {
  const auto behind = std::upper_bound(firsts_.begin(), firsts_.end(), record);
  return static_cast<size_t>(behind - firsts_.begin()) - 1;
}

uint64_t FamilyTable::begin(uint64_t record) const {
  if (record >= count()) return bases_.back();
  const size_t m = MemberOf(record);
  const RecordTable& table = *members_[m].records;
  return bases_[m] + table.begin(record - firsts_[m]) - table.begin(0);
}

uint64_t FamilyTable::FirstFrom(uint64_t offset) const {
  if (offset >= bases_.back()) return count();
  const auto behind = std::upper_bound(bases_.begin(), bases_.end(), offset);
  const size_t m = static_cast<size_t>(behind - bases_.begin()) - 1;
  const RecordTable& table = *members_[m].records;
  return firsts_[m] + table.FirstFrom(table.begin(0) + (offset - bases_[m]));
}

uint64_t FamilyTable::memory_bytes() const {
  uint64_t bytes = sizeof *this;
  for (const ContainerShape& member : members_) {
    bytes +=
        sizeof member + 2 * sizeof(uint64_t) + member.records->memory_bytes();
  }
  return bytes;
}

}  // namespace shufflefs
