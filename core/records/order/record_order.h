// SPDX-License-Identifier: Apache-2.0
// In which order the records of one container come in an epoch, part by part.
// A part is a stretch of the shuffled stretch of records that is fetched
// together and held in memory as a whole: a window of blocks, or some records
// of a full shuffle.
//
// An order costs next to nothing until it is asked where a part begins: then
// the bytes of all parts before it are summed up, once. Who reads from the
// start to the end pays for that bit by bit; for who jumps far into a full
// shuffle of records of many sizes, all of them are looked at by all cores
// (20 million: about a second on two).
#ifndef SHUFFLEFS_CORE_RECORDS_ORDER_RECORD_ORDER_H_
#define SHUFFLEFS_CORE_RECORDS_ORDER_RECORD_ORDER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/formats/record_table.h"
#include "core/policy/policy.h"
#include "core/random/random.h"

namespace shufflefs {

// The records of a part: where they lie, and as which they come.
struct PartRecords {
  struct Run {  // records [first, last), which is not empty
    uint64_t first = 0;
    uint64_t last = 0;
    // The bytes [from, to) of the file are read for these records only, once
    // an epoch: pieces of other records among them are to be kept. 0, 0: no.
    uint64_t from = 0;
    uint64_t to = 0;
    uint64_t size() const { return last - first; }
  };
  std::vector<Run> runs;  // ascending; none shares a record with another
  // Of each record of the runs, one run after the other: how many records of
  // the part come before it. A permutation of [0, positions.size()).
  std::vector<uint32_t> positions;
};

class RepeatOrder;  // core/records/order/repeat_order.h

// Thread-safe. No call waits for a device; who asks for a part far ahead waits
// for the sum, but not who asks for one that is known meanwhile.
class RecordOrder {
 public:
  virtual ~RecordOrder() = default;

  virtual uint64_t part_count() const = 0;
  // REQUIRES: part < part_count().
  virtual PartRecords RecordsOf(uint64_t part) const = 0;
  // The same, in the order in which they come.
  std::vector<uint64_t> Records(uint64_t part) const;

  // Bytes of all parts before `part`. REQUIRES: part <= part_count().
  uint64_t part_begin(uint64_t part) const;
  // The part that holds byte `offset` of the records as they come. REQUIRES:
  // it is less than part_begin(part_count()).
  uint64_t PartAt(uint64_t offset) const;
  // Records of all parts before `part`. REQUIRES: part <= part_count().
  uint64_t part_first(uint64_t part) const;
  // The part that holds the record that comes as number `position`. REQUIRES:
  // it is less than part_first(part_count()).
  uint64_t PartOf(uint64_t position) const;
  // Whether what is still to be summed up takes some milliseconds at most.
  virtual bool is_quick() const;
  // Not null: records come several times, or not at all. Else each comes once.
  virtual const RepeatOrder* repeats() const { return nullptr; }
  uint64_t memory_bytes() const;

 protected:
  struct Sums {
    uint64_t bytes = 0;
    uint64_t records = 0;
  };
  // Of one part.
  virtual Sums SumsOf(uint64_t part) const = 0;
  // Of each part: what is faster than asking for one after the other.
  virtual std::vector<Sums> SumsOfAllParts() const;
  // How many records or blocks are looked at to sum up all parts.
  virtual uint64_t steps() const = 0;

 private:
  Sums Before(uint64_t part) const ABSL_LOCKS_EXCLUDED(mu_);
  uint64_t Find(uint64_t Sums::*what, uint64_t value) const
      ABSL_LOCKS_EXCLUDED(mu_);
  // Takes note where the part behind `part` begins, if that comes next.
  void SumOne(uint64_t part) const ABSL_LOCKS_EXCLUDED(mu_);
  // Takes note of the next part or, where what is needed lies `parts` behind
  // it and that is far, of all.
  void SumTowards(uint64_t next, uint64_t parts) const
      ABSL_LOCKS_EXCLUDED(mu_, all_mu_);

  mutable Mutex all_mu_;  // held by who sums up all parts; taken first
  mutable Mutex mu_;
  // begins_[p]: where part p begins, as far as that was asked for.
  mutable std::vector<Sums> begins_ ABSL_GUARDED_BY(mu_) = {Sums()};
};

struct RecordOrderOptions {
  // The container's stable name. Containers of equal keys and counts are
  // permuted alike by policies without blocks.
  uint64_t key = 0;
  Seed seed;
  Epoch epoch;
  // A container of no more bytes is one part: it is read from end to end. The
  // order does not depend on it.
  uint64_t whole_bytes = 0;
  // Windows of more bytes, or of so many tiny records that their plan takes
  // more memory, are cut into parts of about so many; each needs reads from all
  // of the window. The order does not depend on it.
  uint64_t most_part_bytes = ~uint64_t{0};
  // Blocks are of this table, not of the container's own: what comes where
  // then follows from it. It has as many records. Outlives the order; null:
  // the container's own.
  const RecordTable* order_by = nullptr;
  // The table's offsets are those of a file: runs of blocks say which bytes are
  // theirs. Not where `order_by` is another table.
  bool of_a_file = false;
  // Each record is a block, whatever its bytes: a group of rows.
  bool records_are_blocks = false;
  // Where a policy shows parts of the records several times: false, and each
  // comes once in the epoch all the same.
  bool may_repeat = false;
  // Where the records of each file of several begin, the first at 0; empty:
  // they are of one.
  std::vector<uint64_t> strata;
};

// What `policy` makes of the records of a container in an epoch. Null where the
// policy leaves records where they are (Policy::shuffles_records). The policy
// and the table outlive the order.
std::unique_ptr<const RecordOrder> MakeRecordOrder(
    const Policy& policy, const RecordTable& table,
    const RecordOrderOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_RECORD_ORDER_H_
