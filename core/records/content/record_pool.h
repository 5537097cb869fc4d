// SPDX-License-Identifier: Apache-2.0
// The memory of shuffled container files: holds parts of them, fetched as
// readers come to them and ahead of those who read on, and answers reads from
// these. What is too large for the memory, or finds none, is read by itself.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_POOL_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_POOL_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/base/types.h"
#include "core/base/worker.h"
#include "core/pool/buffer_pool.h"
#include "core/pool/paged_bytes.h"
#include "core/pool/pool_memory.h"
#include "core/pool/sample_memory.h"
#include "core/pool/sample_source.h"
#include "core/records/content/gathered_part.h"
#include "core/records/content/kept_plans.h"
#include "core/records/content/part_reads.h"
#include "core/records/content/record_readers.h"
#include "core/records/content/record_seams.h"
#include "core/records/order/shuffled_file.h"

namespace shufflefs {

// A container as one epoch shows it.
struct RecordFile {
  uint64_t id = 0;  // of no other RecordFile of the pool
  EntryId file;
  std::shared_ptr<const PartedFile> content;
  // The members of its family, by PartCopy::file; null: it has none.
  std::shared_ptr<const std::vector<EntryId>> family;
  // Of RecordPool::Forget: from then on nothing of it is kept in the pool.
  mutable std::atomic<bool> forgotten{false};

  EntryId source(uint64_t member) const {
    return family == nullptr ? file : (*family)[member];
  }
};

// Thread-safe. Nothing waits for a device. May go while reads are under way,
// on any thread.
class RecordPool : public std::enable_shared_from_this<RecordPool> {
 public:
  // For what is under way, what is read by itself, and some parts.
  static constexpr uint64_t kLeastMemory = 14 << 20;

  struct Parts {
    std::unique_ptr<SampleSource> source;
    // Guarantees at least kLeastMemory. Not counted are the copy that is made
    // of small records for an answer, up to 1 MiB each, and plans: of parts
    // that are on their way, and up to 16 MiB of those that are read alone.
    PoolMemory memory;
    std::string how;              // of the device, for `status`
    StallClock* stall = nullptr;  // outlives the pool; may be null
    // Plans parts, and takes what comes of them from the cache; outlives the
    // pool. Null: who reads does. Once it is stopped reads are Cancelled, but
    // for those of parts that are here.
    Worker* worker = nullptr;
  };
  static absl::StatusOr<std::shared_ptr<RecordPool>> Make(Parts parts);

  // A part of more bytes is not held: what is asked for of it is read alone.
  uint64_t largest_part() const;
  // A file of no more bytes is best read as a whole.
  uint64_t whole_bytes() const;
  // A new RecordFile::id.
  uint64_t NewId();
  // As SampleMemory::Read.
  void Read(const std::shared_ptr<const RecordFile>& file, uint64_t offset,
            uint64_t length, SampleMemory::ReadDone done);
  // Nobody reads the files any more, as far as is known. Who does all the same
  // is answered by reads of just what he asks for.
  void Forget(absl::Span<const std::shared_ptr<const RecordFile>> files);
  SupplyStatus status() const;

 private:
  using PartKey = std::pair<uint64_t, uint64_t>;  // RecordFile::id, part
  struct Request;
  // A part in memory or on its way; or, without a place in held_, the bytes of
  // one read.
  struct Held {
    std::shared_ptr<const RecordFile> file;  // null: the bytes of one read
    uint64_t part = 0;
    std::shared_ptr<const RecordFile> source;
    std::shared_ptr<MemoryBlock> memory;
    // Behind these: plan.kept, or what a gathered part takes besides.
    std::shared_ptr<MemoryBlock> behind;
    PagedBytes bytes_at;  // of both
    PartPlan plan;        // from before the first read is sent to the last
    // Null: the bytes of the part lie one behind the other.
    std::unique_ptr<const GatheredPart> gathered;
    uint64_t bytes = 0;
    uint64_t reads_left = 0;
    uint64_t delivered = 0;
    bool ahead = false;  // nobody came to it yet
    uint64_t since = 0;  // clock_ when it was begun or read last
    bool here = false;
    absl::Status status;
    std::vector<std::shared_ptr<Request>> waiters;
  };
  // What a request takes from, and where in the file that begins.
  struct Piece {
    uint64_t begin = 0;
    std::shared_ptr<Held> held;
  };
  struct Request {
    std::shared_ptr<const RecordFile> file;
    uint64_t offset = 0;
    uint64_t length = 0;
    SampleMemory::ReadDone done;
    std::vector<Piece> pieces;
    uint64_t missing = 0;
    bool waited = false;
  };
  // One read of the source that waits until others have ended.
  struct Fetch {
    std::shared_ptr<Held> held;
    PartRead read;
    uint64_t to = 0;  // of the memory of a gathered part
  };
  // A part that has bytes.
  struct Wanted {
    uint64_t part = 0;
    uint64_t begin = 0;
    uint64_t bytes = 0;
  };
  // Of parts that are here: those that were read, the one read longest ago
  // first, then those ahead of readers, the one begun longest ago first.
  struct Age {
    bool ahead = false;
    uint64_t since = 0;
    PartKey key;
    friend auto operator<=>(const Age&, const Age&) = default;
  };

  struct Shares {
    std::unique_ptr<PoolShare> pool;
    std::unique_ptr<PoolShare> staging;
    std::unique_ptr<PoolShare> spare;
    std::unique_ptr<PoolShare> seams;
  };
  static absl::StatusOr<Shares> OpenShares(PoolMemory memory);
  RecordPool(Parts parts, Shares shares);
  // Drops parts of about `bytes` bytes for other users of the pool.
  void GiveBack(uint64_t bytes);

  // The parts of a read. Sums up where they begin.
  static std::vector<Wanted> PartsOf(const Request& request);
  // Finds or begins the parts of a request, and adds to `begun` those that are
  // to be planned; false without memory for all of them.
  bool Take(const std::shared_ptr<Request>& request,
            const std::vector<Wanted>& wanted,
            std::vector<std::shared_ptr<Held>>& begun)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Begins a part; null without memory for it, or of a file that was forgotten.
  // `urgent`: a reader waits.
  std::shared_ptr<Held> Begin(const std::shared_ptr<const RecordFile>& file,
                              const Wanted& wanted, bool urgent)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::unique_ptr<MemoryBlock> Allocate(uint64_t bytes, bool urgent)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Drops a part that is here; false if none can go.
  bool DropOne(bool urgent) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // No more to be found; who has it keeps it.
  void Drop(const Held& held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool IsFound(const Held& held) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static Age AgeOf(const Held& held);
  // Begins the parts behind `part` that begin before byte `until`, while there
  // is memory.
  void GoAhead(const std::shared_ptr<const RecordFile>& file, uint64_t part,
               uint64_t until);

  void Plan(const std::shared_ptr<Held>& held, bool urgent);
  void PostPlans(std::vector<std::shared_ptr<Held>> begun, bool urgent);
  // Has the worker do it.
  void Post(Worker::Job job, bool urgent);
  // Plans a part, and finds room for what comes with it.
  std::vector<PartRead> PlanOne(Held& held);
  // Has a part gathered, if that takes little more than its bytes.
  bool Gathers(Held& held, const std::vector<PartRead>& reads);
  // Room for what is to be kept of a part; false without.
  bool AppendKept(Held& held);
  void KeepSeams(const Held& held, const PartPlan& plan);
  // Reads of a part that is planned.
  void Queue(const std::shared_ptr<Held>& held,
             const std::vector<PartRead>& reads, bool urgent);
  void Pump();
  // The next read, and where it goes to; nothing while there is no room.
  absl::optional<FilePiece> NextPiece() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Arrived(const std::shared_ptr<Held>& held, const PartRead& read,
               std::shared_ptr<MemoryBlock> staging,
               const absl::Status& status);
  // One of its reads, or its planning, has ended.
  void OneLess(const std::shared_ptr<Held>& held, const absl::Status& status);
  void Answer(const std::shared_ptr<Request>& request);
  // Takes note of what was delivered.
  void NoteDelivered(const Request& request);
  // Reads just what was asked for.
  void ReadAlone(const std::shared_ptr<Request>& request);
  void PumpAlone();
  PartPlan PlanOf(const Request& request);
  std::shared_ptr<const PartPlan> PlanOfPart(const RecordFile& file,
                                             uint64_t part);

  // Constant after construction.
  const std::string how_;
  const uint64_t memory_bytes_;  // guaranteed
  const uint64_t pool_bytes_;    // of these for parts
  StallClock* const stall_;
  Worker* const worker_;
  // Self-synchronised.
  const std::shared_ptr<SampleSource> source_;
  const std::unique_ptr<PoolShare> pool_;
  const std::unique_ptr<PoolShare> staging_;
  const std::unique_ptr<PoolShare> spare_;  // of ReadAlone
  // The memory of seams_ is their own; nobody allocates from this share.
  const std::unique_ptr<PoolShare> reserved_;
  KeptPlans plans_;
  RecordSeams seams_;

  mutable Mutex mu_;
  absl::flat_hash_map<PartKey, std::shared_ptr<Held>> held_
      ABSL_GUARDED_BY(mu_);
  std::set<Age> ages_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<uint64_t, RecordReaders> readers_  // by RecordFile::id
      ABSL_GUARDED_BY(mu_);
  std::deque<Fetch> urgent_ ABSL_GUARDED_BY(mu_);
  std::deque<Fetch> queue_ ABSL_GUARDED_BY(mu_);
  bool pumping_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t gathering_ ABSL_GUARDED_BY(mu_) = 0;  // bytes of reads under way
  std::deque<std::shared_ptr<Request>> alone_ ABSL_GUARDED_BY(mu_);
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t clock_ ABSL_GUARDED_BY(mu_) = 0;  // bytes of the parts begun
  uint64_t hits_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t misses_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t bypass_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_POOL_H_
