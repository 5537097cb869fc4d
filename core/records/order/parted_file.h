// SPDX-License-Identifier: Apache-2.0
// A file of a view that is made part by part, each held as a whole: what
// RecordPool answers reads of.
#ifndef SHUFFLEFS_CORE_RECORDS_ORDER_PARTED_FILE_H_
#define SHUFFLEFS_CORE_RECORDS_ORDER_PARTED_FILE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/types/optional.h"

namespace shufflefs {

class ShuffledFile;
struct PartPlan;  // core/records/order/shuffled_file.h

// A piece of a record, [from, from + bytes) of the source, that was kept when
// another part was read. Nothing: it was not.
using TakeSeam =
    std::function<absl::optional<std::string>(uint64_t from, uint64_t bytes)>;

// Thread-safe. No call waits for a device.
class PartedFile {
 public:
  virtual ~PartedFile() = default;

  virtual uint64_t bytes() const = 0;
  virtual uint64_t part_count() const = 0;
  // REQUIRES: part <= part_count().
  virtual uint64_t part_begin(uint64_t part) const = 0;
  // REQUIRES: offset < bytes().
  virtual uint64_t PartAt(uint64_t offset) const = 0;
  // REQUIRES: part < part_count().
  virtual PartPlan Plan(uint64_t part) const = 0;
  // The same for who keeps pieces of records that come with other parts.
  virtual PartPlan PlanSeams(uint64_t part, const TakeSeam& take) const = 0;
  // Whether no call takes longer than some milliseconds.
  virtual bool is_quick() const = 0;
  // Of a copy of a plan, on average; > 0.
  virtual uint64_t mean_copy_bytes() const = 0;
  // How far it is worth to fetch ahead of one who read `run` bytes one behind
  // the other, up to byte `offset` of the file. REQUIRES: offset > 0.
  virtual uint64_t AheadEnd(uint64_t offset, uint64_t run) const = 0;
  // Not null: this file, which shows mini-epochs of records.
  virtual const ShuffledFile* repeating() const { return nullptr; }
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_PARTED_FILE_H_
