// SPDX-License-Identifier: Apache-2.0
// ShuffledFile is a container file with its records in another order: it says
// which bytes of the source are where. Bytes before the first record and after
// the last stay in place. Its size is that of the source. In a columnar
// container nothing moves except the entries of its footer.
//
// It may also be one container of a family, whose records come from all of
// them. Between its own head and tail it shows as many records as it has, the
// next ones of the family's order. Its size is the sum of these. The same holds
// if records come several times or not at all (repeat_order.h).
//
// The file is cut into parts, each read and held as a whole. Head and tail are
// cut into equal parts, the records as their order says. The footer list of a
// columnar container is cut into equal parts, too, which need no read. Readers
// of such a file read at random, so its parts are small.
#ifndef SHUFFLEFS_CORE_RECORDS_ORDER_SHUFFLED_FILE_H_
#define SHUFFLEFS_CORE_RECORDS_ORDER_SHUFFLED_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/types/optional.h"
#include "core/base/mutex.h"
#include "core/records/order/family_table.h"
#include "core/records/order/parted_file.h"
#include "core/records/order/record_order.h"
#include "core/records/order/repeat_order.h"

namespace shufflefs {

// `bytes` bytes of the source from `from` are at `to` of a part.
struct PartCopy {
  uint64_t from = 0;
  uint64_t bytes = 0;
  uint64_t to = 0;
  uint64_t file = 0;  // the member of the family that has the bytes
};

// Bytes at `to` of a part that are not from the source.
struct PartLiteral {
  uint64_t to = 0;
  std::string bytes;
};

// The content of a part.
struct PartPlan {
  uint64_t bytes = 0;
  std::vector<PartCopy> copies;    // sorted by `file` and `from`
  std::vector<uint64_t> newlines;  // positions in the part with an added '\n'
  std::vector<PartLiteral> literals;
  // Pieces of other parts' records that come with the reads of this one and
  // must be kept. They are among the copies. They are laid out after the part,
  // from the next page on.
  std::vector<PartCopy> kept;
  uint64_t kept_end = 0;  // where the last one ends; 0 if there are none
};

// Thread-safe, like RecordOrder.
class ShuffledFile : public PartedFile {
 public:
  // Longer pieces of records between blocks are not kept. They are mostly
  // outside the page that two blocks share.
  static constexpr uint64_t kLongestSeam = uint64_t{64} << 10;

  // `order` is of shape.records. Null if those are null.
  ShuffledFile(ContainerShape shape, std::unique_ptr<const RecordOrder> order);

  // Container number `member` of a family. `family->order` is not null.
  ShuffledFile(std::shared_ptr<const FamilyOrder> family, size_t member);

  // For a file of a family, this and all calls below sum up its order to where
  // the file ends.
  uint64_t bytes() const override;
  uint64_t part_count() const override;
  uint64_t part_begin(uint64_t part) const override;
  uint64_t PartAt(uint64_t offset) const override;
  PartPlan Plan(uint64_t part) const override;
  PartPlan PlanSeams(uint64_t part, const TakeSeam& take) const override;
  bool is_quick() const override;
  uint64_t mean_copy_bytes() const override;
  uint64_t AheadEnd(uint64_t offset, uint64_t run) const override;
  const ShuffledFile* repeating() const override {
    return repeats() == nullptr ? nullptr : this;
  }

  // Not null: the file shows these mini-epochs, or its share of its family's.
  const RepeatOrder* repeats() const {
    return order() == nullptr ? nullptr : order()->repeats();
  }
  // The parts of the order of which the file shows something, [first, last).
  struct OrderParts {
    uint64_t first = 0;
    uint64_t last = 0;
  };
  OrderParts ShownParts() const;
  // The part of the order at byte `offset`. Empty in head and tail. REQUIRES:
  // an order.
  absl::optional<uint64_t> OrderPartAt(uint64_t offset) const;
  // Where the records of a run are: sections of the files of the family.
  // PartCopy::to has no meaning here. Includes padding between records.
  // REQUIRES: an order.
  std::vector<PartCopy> PlacesOf(const PartRecords::Run& run) const;

 private:
  // The parts [first_part, last_part) of the order, of which the file shows the
  // bytes [begin, end) of the records in their order.
  struct Stretch {
    uint64_t first_part = 0;
    uint64_t last_part = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t parts() const { return last_part - first_part; }
    uint64_t bytes() const { return end - begin; }
  };
  struct Position {
    uint64_t part = 0;
    uint64_t byte = 0;
  };

  const ContainerShape& shape() const {
    return family_->table->member(member_);
  }
  const RecordOrder* order() const { return family_->order.get(); }
  // Null if records move.
  const ColumnarGroups* columnar() const { return shape().columnar.get(); }
  Stretch stretch() const ABSL_LOCKS_EXCLUDED(mu_);
  Stretch FindStretch() const;
  // Where the record at `position` of the order begins.
  Position PositionOf(uint64_t position) const;
  uint64_t TailBytes() const { return file_bytes_ - tail_begin_; }
  uint64_t EndOfMiniEpochs(uint64_t offset) const;
  // Where a part of the records begins, relative to them.
  uint64_t MiddleBegin(const Stretch& stretch, uint64_t part) const;
  PartPlan PlanRecords(const Stretch& stretch, uint64_t part,
                       const TakeSeam* take) const;
  // For a plan whose copies are the records of `runs`: takes the kept pieces of
  // them, and adds the pieces to keep.
  void MindSeams(const std::vector<PartRecords::Run>& runs,
                 const TakeSeam& take, PartPlan& plan) const;
  // Appends the copies of a run's records. Their destination is not set yet.
  void PlanRun(const PartRecords::Run& run, PartPlan& plan) const;
  void LendLineEnds(PartPlan& plan) const;
  // `take`: null if nothing is kept.
  PartPlan PlanPart(uint64_t part, const TakeSeam* take) const;
  PartPlan PlanPlain(uint64_t from, uint64_t bytes) const;
  PartPlan PlanFooter(const Stretch& stretch, uint64_t part) const;

  // Constant after construction.
  const std::shared_ptr<const FamilyOrder> family_;
  const size_t member_ = 0;
  const uint64_t plain_part_;  // bytes per part of head and tail
  uint64_t file_bytes_ = 0;    // of the source, like the next two
  uint64_t head_bytes_ = 0;    // before the first record
  uint64_t tail_begin_ = 0;    // end of the last record
  uint64_t head_parts_ = 0;
  uint64_t tail_parts_ = 0;

  mutable Mutex mu_;
  mutable absl::optional<Stretch> stretch_ ABSL_GUARDED_BY(mu_);
};

// Sorts copies into the order of a plan.
void SortCopies(std::vector<PartCopy>& copies);

// The part of a plan that makes the bytes [from, to) of the part.
PartPlan Clip(const PartPlan& plan, uint64_t from, uint64_t to);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_SHUFFLED_FILE_H_
