// SPDX-License-Identifier: Apache-2.0
// RecordProducer fetches parts of shuffled container files into memory, when
// readers come to them and ahead of sequential readers. It answers reads from
// these parts. If a part is too large or finds no room, only the bytes asked
// for are read.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_PRODUCER_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_PRODUCER_H_

#include <atomic>
#include <cstdint>
#include <memory>
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
#include "core/catalogue/catalogue.h"
#include "core/io/io_buf.h"
#include "core/pool/content_provider.h"
#include "core/pool/device_lanes.h"
#include "core/pool/fetcher.h"
#include "core/pool/memory/buffer_pool.h"
#include "core/pool/memory/extents.h"
#include "core/pool/pool_memory.h"
#include "core/pool/sample_source.h"
#include "core/records/content/gather_list.h"
#include "core/records/content/kept_plans.h"
#include "core/records/content/part_ages.h"
#include "core/records/content/part_reads.h"
#include "core/records/content/record_readers.h"
#include "core/records/content/record_shares.h"
#include "core/records/content/straddling_record_cache.h"
#include "core/records/order/shuffled_file.h"

namespace shufflefs {

// A part of a container that has bytes.
struct WantedPart {
  uint64_t part = 0;
  uint64_t begin = 0;
  uint64_t bytes = 0;
};

// A container as one epoch shows it.
struct RecordFile {
  uint64_t id = 0;  // unique in the pool
  EntryId file;
  std::shared_ptr<const PartedFile> content;
  // The members of its family, by PartCopy::file. Null if it has none.
  std::shared_ptr<const std::vector<EntryId>> family;
  // Set by RecordProducer::Forget. From then on the pool keeps nothing of it.
  mutable std::atomic<bool> forgotten{false};

  EntryId source(uint64_t member) const {
    return family == nullptr ? file : (*family)[member];
  }
};

// Thread-safe. No call waits for a device. May be destroyed on any thread, also
// while reads are under way.
class RecordProducer : public std::enable_shared_from_this<RecordProducer> {
 public:
  // Room for reads under way, lone reads and some parts.
  static constexpr uint64_t kLeastMemory = 14 << 20;

  struct Parts {
    std::unique_ptr<SampleSource> source;
    // Guarantees at least kLeastMemory. Two things are not counted: the copies
    // of small records for an answer, up to 1 MiB each, and plans. These are
    // plans of parts on their way, and up to 16 MiB of plans of parts that are
    // read alone.
    PoolMemory memory;
    std::string how;              // describes the device, for `status`
    StallClock* stall = nullptr;  // outlives the pool; may be null
    // Plans parts, and copies what the page cache has of them. Outlives the
    // pool. Null: the reader's thread does this. Once it is stopped, reads are
    // Cancelled unless their parts are here.
    Worker* worker = nullptr;
    // Tells the devices of files, which have buffers of their own. Null: all
    // files are on one device.
    std::shared_ptr<const Catalogue> catalogue = nullptr;
  };
  static absl::StatusOr<std::shared_ptr<RecordProducer>> Make(Parts parts);

  // A larger part is not held. Reads of it are done alone.
  uint64_t largest_part() const;
  // A file that is no larger is best read as a whole.
  uint64_t whole_bytes() const;
  // Returns a new RecordFile::id.
  uint64_t NewId();
  // Works as ContentProvider::Read.
  void Read(const std::shared_ptr<const RecordFile>& file, uint64_t offset,
            uint64_t length, ContentProvider::ReadDone done);
  // Forgets files that, as far as is known, nobody reads any more. If somebody
  // does, only the bytes asked for are read.
  void Forget(absl::Span<const std::shared_ptr<const RecordFile>> files);
  ProducerStatus status() const;

 private:
  using PartKey = PartAges::Key;
  struct Request;
  // A part in memory or on its way. Without a place in held_, it is the bytes
  // of one read.
  struct Held : Extent<std::shared_ptr<Request>> {
    std::shared_ptr<const RecordFile> file;  // null: the bytes of one read
    uint64_t part = 0;
    std::shared_ptr<const RecordFile> source;
    // After `memory`: plan.kept, or the extra memory of a gathered part.
    std::shared_ptr<MemoryBlock> behind;
    IoBuf bytes_at;  // of both
    PartPlan plan;   // valid until the last read arrived
    // Null if the bytes of the part are in their order.
    std::unique_ptr<const GatherList> gathered;
    uint64_t reads_left = 0;
    bool ahead = false;  // no reader came to it yet
    uint64_t since = 0;  // clock_ at its begin or last read
    absl::Status status;
  };
  // A part that a request reads, and the offset in the file where it begins.
  struct Piece {
    uint64_t begin = 0;
    std::shared_ptr<Held> held;
  };
  struct Request {
    std::shared_ptr<const RecordFile> file;
    uint64_t offset = 0;
    uint64_t length = 0;
    ContentProvider::ReadDone done;
    std::vector<Piece> pieces;
    uint64_t missing = 0;
    bool waited = false;
  };
  // One read of the source.
  struct Fetch {
    std::shared_ptr<Held> held;
    PartRead read;
    uint64_t to = 0;  // offset in the memory of a gathered part
    // The destination of others, once there is room for the read.
    std::shared_ptr<MemoryBlock> staging{};
  };
  // A request of which only the bytes asked for are read.
  struct Alone {
    std::shared_ptr<Request> request;
    std::shared_ptr<MemoryBlock> memory{};  // once there is room
  };
  RecordProducer(Parts parts, RecordShares shares, DeviceLanes lanes);
  // Drops parts of about `bytes` bytes for other users of the pool.
  void GiveBack(uint64_t bytes);

  // Finds or begins the parts of a request. Appends those to plan to `begun`.
  // Returns false if there is no memory for all of them.
  bool Take(const std::shared_ptr<Request>& request,
            const std::vector<WantedPart>& wanted,
            std::vector<std::shared_ptr<Held>>& begun)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Begins a part. Returns null if there is no memory for it, or if the file
  // was forgotten.
  std::shared_ptr<Held> Begin(const std::shared_ptr<const RecordFile>& file,
                              const WantedPart& wanted, PartNeed need)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::unique_ptr<MemoryBlock> Allocate(uint64_t bytes, PartNeed need)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Drops a part that is here. Returns false if none can be dropped.
  bool DropOne(PartNeed need) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns whether a part of so many bytes may be fetched ahead of a reader.
  bool MayGoAhead(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The part can no longer be found. Whoever has it keeps it.
  void Drop(const Held& held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static PartKey KeyOf(const Held& held) { return {held.file->id, held.part}; }
  static PartAges::Age AgeOf(const Held& held);
  // Begins the parts after `part` that begin before byte `until`, while there
  // is memory.
  void GoAhead(const std::shared_ptr<const RecordFile>& file, uint64_t part,
               uint64_t until);

  void Plan(const std::shared_ptr<Held>& held, bool urgent);
  void PostPlans(std::vector<std::shared_ptr<Held>> begun, bool urgent);
  // Gives the job to the worker.
  void Post(Worker::Job job, bool urgent);
  // Plans a part, and gets room for what comes with it.
  std::vector<PartRead> PlanOne(Held& held);
  // Makes a part gathered if this takes little more than its bytes. Returns
  // whether it did.
  bool Gathers(Held& held, const std::vector<PartRead>& reads);
  // Gets room for plan.kept of a part. Returns false if there is none.
  bool AppendKept(Held& held);
  void KeepStraddling(const Held& held, const PartPlan& plan);
  // Queues the reads of a planned part.
  void Queue(const std::shared_ptr<Held>& held,
             const std::vector<PartRead>& reads, bool urgent);
  // Gets room for a read of a lane, and memory if it is not gathered. Returns
  // false if there is none.
  bool TakeRoom(size_t lane, Fetch& fetch);
  // Sends reads that have room to the source.
  void Send(std::vector<Fetch> fetches);
  size_t LaneOf(const Held& held, const PartRead& read) const {
    return LaneOf(held.source->source(read.file));
  }
  size_t LaneOf(EntryId file) const {
    return lanes_.count() == 1 ? 0 : lanes_.Of(catalogue_->device(file));
  }
  void Arrived(Fetch& fetch, const absl::Status& status);
  // One of its reads has ended, or its planning has.
  void OneLess(const std::shared_ptr<Held>& held, const absl::Status& status);
  void Answer(const std::shared_ptr<Request>& request);
  // Records what was delivered.
  void NoteDelivered(const Request& request);
  // Reads only the bytes asked for.
  void ReadAlone(const std::shared_ptr<Request>& request);
  // REQUIRES: it has memory.
  void BeginAlone(Alone alone);

  // Constant after construction.
  const std::string how_;
  const uint64_t memory_bytes_;  // guaranteed
  const uint64_t pool_bytes_;    // of these, for parts while pieces are few
  StallClock* const stall_;
  Worker* const worker_;
  const std::shared_ptr<const Catalogue> catalogue_;
  const DeviceLanes lanes_;
  // Self-synchronised.
  const std::shared_ptr<SampleSource> source_;
  const std::unique_ptr<PoolShare> pool_;
  KeptPlans plans_;
  StraddlingRecordCache straddling_;
  const RecordShares shares_;                     // the others
  std::vector<std::atomic<uint64_t>> gathering_;  // bytes under way, by lane
  Fetcher<Fetch> fetcher_;
  Fetcher<Alone> alone_;

  mutable Mutex mu_;
  ExtentTable<PartKey, Held> held_ ABSL_GUARDED_BY(mu_);
  PartAges ages_ ABSL_GUARDED_BY(mu_);  // of parts that are here
  absl::flat_hash_map<uint64_t, RecordReaders> readers_  // by RecordFile::id
      ABSL_GUARDED_BY(mu_);
  // Files that readers are in the middle of, and clock_ at their last read.
  absl::flat_hash_map<uint64_t, uint64_t> read_lately_ ABSL_GUARDED_BY(mu_);
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  // Bytes of all parts begun, and of all that was read alone.
  uint64_t clock_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t hits_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t misses_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t bypass_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_PRODUCER_H_
