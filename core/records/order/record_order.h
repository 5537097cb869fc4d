// SPDX-License-Identifier: Apache-2.0
// RecordOrder is the order of one container's records in an epoch, part by
// part. A part is a section of the shuffled records that is fetched together
// and held in memory as a whole: a window of blocks, or some records of a full
// shuffle.
//
// An order costs almost nothing until a caller asks where a part begins. Then
// the bytes of all parts before it are summed up, once. A sequential reader
// pays for that bit by bit. For a reader that jumps far into a full shuffle of
// records of different sizes, all cores visit all records (20 million: about a
// second on two cores).
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

// The records of a part: where they are in the source, and in which order they
// come.
struct PartRecords {
  struct Run {  // records [first, last), not empty
    uint64_t first = 0;
    uint64_t last = 0;
    // The bytes [from, to) of the file are read only for these records, once
    // per epoch. Pieces of other records among them must be kept. 0, 0: not so.
    uint64_t from = 0;
    uint64_t to = 0;
    uint64_t size() const { return last - first; }
  };
  std::vector<Run> runs;  // ascending; they do not overlap
  // For each record of the runs, run by run: the number of records of the part
  // that come before it. A permutation of [0, positions.size()).
  std::vector<uint32_t> positions;
};

class RepeatOrder;  // core/records/order/repeat_order.h

// Thread-safe. No call waits for a device. A caller that asks for a part far
// ahead waits for the sum. Callers that ask for known parts do not wait
// meanwhile.
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
  // The part with byte `offset` of the records in their order. REQUIRES: it is
  // less than part_begin(part_count()).
  uint64_t PartAt(uint64_t offset) const;
  // Records of all parts before `part`. REQUIRES: part <= part_count().
  uint64_t part_first(uint64_t part) const;
  // The part with the record at `position` of the order. REQUIRES: it is less
  // than part_first(part_count()).
  uint64_t PartOf(uint64_t position) const;
  // Returns whether the remaining sums take at most a few milliseconds.
  virtual bool is_quick() const;
  // Not null: records come several times, or not at all. Null: each comes once.
  virtual const RepeatOrder* repeats() const { return nullptr; }
  // More bytes than this are not fetched ahead of a reader.
  virtual uint64_t ahead_bytes() const { return ~uint64_t{0}; }
  uint64_t memory_bytes() const;

 protected:
  struct Sums {
    uint64_t bytes = 0;
    uint64_t records = 0;
  };
  // For one part.
  virtual Sums SumsOf(uint64_t part) const = 0;
  // For each part. Faster than one after the other.
  virtual std::vector<Sums> SumsOfAllParts() const;
  // The number of records or blocks that are visited to sum up all parts.
  virtual uint64_t steps() const = 0;

 private:
  Sums Before(uint64_t part) const ABSL_LOCKS_EXCLUDED(mu_);
  uint64_t Find(uint64_t Sums::*what, uint64_t value) const
      ABSL_LOCKS_EXCLUDED(mu_);
  // Stores the beginning of the part after `part`, if that is the next unknown
  // one.
  void SumOne(uint64_t part) const ABSL_LOCKS_EXCLUDED(mu_);
  // Stores the beginning of the next part. If the needed position is `parts`
  // parts behind it and that is far, stores those of all parts.
  void SumTowards(uint64_t next, uint64_t parts) const
      ABSL_LOCKS_EXCLUDED(mu_, all_mu_);

  mutable Mutex all_mu_;  // held while all parts are summed up; taken first
  mutable Mutex mu_;
  // begins_[p]: where part p begins, for the parts known so far.
  mutable std::vector<Sums> begins_ ABSL_GUARDED_BY(mu_) = {Sums()};
};

struct RecordOrderOptions {
  // The container's stable name. Policies without blocks permute containers
  // with equal keys and counts alike.
  uint64_t key = 0;
  Seed seed;
  Epoch epoch;
  // A container with at most this many bytes is one part: it is read
  // sequentially. The order does not depend on it.
  uint64_t whole_bytes = 0;
  // Larger windows are cut into parts of about this many bytes. So are windows
  // with so many tiny records that their plan takes more memory. Each such part
  // needs reads from all of the window. The order does not depend on it.
  uint64_t most_part_bytes = ~uint64_t{0};
  // Blocks are those of this table instead of the container's own. It has as
  // many records, and determines the order. Outlives the order. Null: the
  // container's own.
  const RecordTable* order_by = nullptr;
  // The table's offsets are those of a file: runs of blocks say which bytes are
  // theirs. False if `order_by` is another table.
  bool of_a_file = false;
  // Each record is a block, whatever its bytes: a group of rows.
  bool records_are_blocks = false;
  // False: each record comes once per epoch, even if the policy shows parts of
  // the records several times.
  bool may_repeat = false;
  // Where the records of each of several files begin, the first at 0. Empty:
  // there is one file.
  std::vector<uint64_t> strata;
};

// Bytes per part if the policy does not define them: all, if `whole_bytes` of
// RecordOrderOptions makes it one part.
uint64_t PartBytes(const RecordTable& table, uint64_t whole_bytes);

// The order that `policy` gives the records of a container in an epoch. Null if
// the policy does not move records (Policy::shuffles_records). The policy and
// the table outlive the order.
std::unique_ptr<const RecordOrder> MakeRecordOrder(
    const Policy& policy, const RecordTable& table,
    const RecordOrderOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_ORDER_RECORD_ORDER_H_
