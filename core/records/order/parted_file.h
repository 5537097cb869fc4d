// SPDX-License-Identifier: Apache-2.0
// PartedFile is a file of a view that is made part by part. Each part is held
// as a whole. RecordProducer answers reads of it.
#ifndef SHUFFLEFS_CORE_RECORDS_ORDER_PARTED_FILE_H_
#define SHUFFLEFS_CORE_RECORDS_ORDER_PARTED_FILE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/types/optional.h"

namespace shufflefs {

class ShuffledFile;
struct PartPlan;  // core/records/order/shuffled_file.h

// Takes the piece [from, from + bytes) of the source, part of a record, that
// was kept when another part was read. Empty if it was not kept.
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
  // The same for a caller that keeps pieces of records that come with other
  // parts.
  virtual PartPlan PlanSeams(uint64_t part, const TakeSeam& take) const = 0;
  // Returns whether every call takes at most a few milliseconds.
  virtual bool is_quick() const = 0;
  // The average bytes per copy of a plan; > 0.
  virtual uint64_t mean_copy_bytes() const = 0;
  // How far to fetch ahead of a reader that read `run` bytes sequentially, up
  // to byte `offset` of the file. REQUIRES: offset > 0.
  virtual uint64_t AheadEnd(uint64_t offset, uint64_t run) const = 0;
  // Not null: this file, which shows mini-epochs of records.
  virtual const ShuffledFile* repeating() const { return nullptr; }
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_PARTED_FILE_H_
