// SPDX-License-Identifier: Apache-2.0
// TfrecordCursor reads the instances of a TFRecord file one by one, in the
// order of an epoch. The orders are those of Ke, Cheng, Yang, "LIRS",
// arXiv:1810.04509 (2018). They equal those of the policy lirs for the same
// file, key, seed and epoch.
//
// Records that come within about the same MiB of the order are read together,
// and adjacent ones by one read. So page order reads the records of a page at
// once, and every byte of the file once per epoch. The cursor holds that MiB
// (or a page, or as many records as make a MiB on average, whichever is more).
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
    kNone,      // in file order
    kInstance,  // all instances, a full random shuffle
    kPage,      // the pages in random order, the instances of each mixed
  };
  Unit unit = Unit::kInstance;
  // A record belongs to the page that contains it, or of the two in which it
  // begins and ends to the one that comes later. Any number except 0.
  uint64_t page_bytes = 4096;
  Seed seed{};
  // Stable name of the file. With kInstance, files of equal key and number of
  // instances have the same order.
  uint64_t key = 0;
};

struct TfrecordInstance {
  uint64_t id = 0;         // its number in the file
  absl::string_view data;  // valid until the next call of the cursor
};

// One thread at a time.
class TfrecordCursor {
 public:
  // At the start of epoch 0. InvalidArgument for pages of 0 bytes.
  [[nodiscard]] static absl::StatusOr<TfrecordCursor> Make(
      std::shared_ptr<const TfrecordFile> file, const TfrecordOrder& order);
  TfrecordCursor(TfrecordCursor&&) = default;

  // Goes to the start of that epoch. Reads nothing.
  void Start(Epoch epoch);

  // The next instance. Both its checksums were verified. Blocks on the device.
  // OutOfRange at the end of the epoch. Other errors are those of
  // TfrecordFile::Read. After DataLoss of a record the next call continues
  // after it. After a failed read, it continues after what was to be read
  // together.
  absl::StatusOr<TfrecordInstance> Next();

 private:
  struct Held {  // a record of the current part
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

  // Of the epoch. Null for kNone: a part is then `per_part_` records.
  std::unique_ptr<const RecordOrder> records_;
  uint64_t per_part_ = 1;
  uint64_t part_count_ = 0;
  uint64_t part_ = 0;  // the next to read
  std::vector<Held> held_;
  size_t next_ = 0;  // of held_
  std::string buffer_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_TFRECORD_API_TFRECORD_CURSOR_H_
