// SPDX-License-Identifier: Apache-2.0
// Reads the instances of a TFRecord file one after the other, in the order of
// an epoch: those of Ke, Cheng, Yang, "LIRS", arXiv:1810.04509 (2018), which
// are those of the policy lirs over the same file, key, seed and epoch.
//
// Records that come within the same MiB or so of the order are read together,
// those that lie side by side by one read: so page order reads the records of a
// page at once, and every byte of the file once an epoch. It holds that MiB (or
// a page, or as many records as make a MiB on average, whichever is more).
#ifndef SHUFFLEFS_CORE_RECORDS_TFRECORD_API_TFRECORD_CURSOR_H_
#define SHUFFLEFS_CORE_RECORDS_TFRECORD_API_TFRECORD_CURSOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/types.h"
#include "core/policy/policy.h"
#include "core/records/order/record_order.h"
#include "core/records/tfrecord_api/tfrecord_file.h"

namespace shufflefs {

struct TfrecordOrder {
  enum class Unit {
    kNone,      // as they lie in the file
    kInstance,  // all instances, a full random shuffle
    kPage,      // the pages in random order, the instances of each mixed
  };
  Unit unit = Unit::kInstance;
  // A record belongs to the page in which it begins. Any number but 0.
  uint64_t page_bytes = 4096;
  Seed seed{};
  // Stable name of the file; files of the same key and number of instances are
  // ordered alike by kInstance.
  uint64_t key = 0;
};

struct TfrecordInstance {
  uint64_t id = 0;         // its number in the file
  absl::string_view data;  // valid until the cursor is called again
};

// One thread at a time.
class TfrecordCursor {
 public:
  // At the start of epoch 0. InvalidArgument for pages of no bytes.
  [[nodiscard]] static absl::StatusOr<TfrecordCursor> Make(
      std::shared_ptr<const TfrecordFile> file, const TfrecordOrder& order);
  TfrecordCursor(TfrecordCursor&&) = default;

  // Goes to the start of that epoch. Reads nothing.
  void Start(Epoch epoch);

  // The next instance, both checksums of which were compared. Blocks for the
  // device. OutOfRange when the epoch is over; the others are those of
  // TfrecordFile::Read: the call after DataLoss of a record goes on behind it,
  // and after a read that failed behind what was to be read together.
  absl::StatusOr<TfrecordInstance> Next();

 private:
  struct Held {  // a record of the part that was read
    uint64_t id = 0;
    uint64_t at = 0;  // in buffer_
  };

  TfrecordCursor(std::shared_ptr<const TfrecordFile> file,
                 const TfrecordOrder& order);
  // The records of a part, in the order in which they come.
  std::vector<uint64_t> RecordsOf(uint64_t part) const;
  absl::Status ReadPart(uint64_t part);

  // Constant after construction.
  std::shared_ptr<const TfrecordFile> file_;
  TfrecordOrder order_;
  std::unique_ptr<const Policy> policy_;

  // Of the epoch; null for kNone, where a part is `per_part_` records.
  std::unique_ptr<const RecordOrder> records_;
  uint64_t per_part_ = 1;
  uint64_t part_count_ = 0;
  uint64_t part_ = 0;  // that is read next
  std::vector<Held> held_;
  size_t next_ = 0;  // of held_
  std::string buffer_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_TFRECORD_API_TFRECORD_CURSOR_H_
