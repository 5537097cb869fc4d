// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/record_producer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/io/read_queue.h"
#include "core/pool/bypass_reads.h"

namespace shufflefs {
namespace {

// For plans of parts that are read alone: half a million copies.
constexpr uint64_t kKeptPlanBytes = uint64_t{16} << 20;
// Fetched ahead of a reader. This much keeps any device busy.
constexpr uint64_t kAheadBytes = uint64_t{64} << 20;
// Records as long as this are read about as fast one by one. So they need not
// have the whole part in memory.
constexpr uint64_t kLeastAlone = uint64_t{64} << 10;
// In the second half of a part as large as this, the rest of it is not worth
// the whole: its reader read the first half alone, or came to it by a seek.
constexpr uint64_t kLargePart = uint64_t{8} << 20;
// The most parts fetched ahead. Parts without a byte count, too.
constexpr uint64_t kAheadParts = 4096;

// The parts of a read [offset, end). Sums up where they begin.
std::vector<WantedPart> PartsOf(const PartedFile& content, uint64_t offset,
                                uint64_t end) {
  std::vector<WantedPart> wanted;
  uint64_t part = content.PartAt(offset);
  uint64_t begin = content.part_begin(part);
  for (; begin < end; ++part) {
    const uint64_t next = content.part_begin(part + 1);
    if (next > begin) wanted.push_back({part, begin, next - begin});
    begin = next;
  }
  return wanted;
}

// The parts after `part` that begin before byte `until`: the next one, and more
// as long as they have at most `most` bytes together.
std::vector<WantedPart> PartsAhead(const PartedFile& content, uint64_t part,
                                   uint64_t until, uint64_t most) {
  // Plans take memory, too, until their bytes are here.
  most = std::min(kAheadBytes, most) /
         (1 + sizeof(PartCopy) / content.mean_copy_bytes());
  const uint64_t from = content.part_begin(part + 1);
  const uint64_t last = std::min(content.part_count(), part + 1 + kAheadParts);
  std::vector<WantedPart> wanted;
  uint64_t begin = from;
  for (uint64_t next = part + 1; next < last; ++next) {
    if (begin >= until) break;
    if (!wanted.empty() && begin - from >= most) break;
    const uint64_t end = content.part_begin(next + 1);
    if (end > begin) wanted.push_back({next, begin, end - begin});
    begin = end;
  }
  return wanted;
}

absl::Status TooLittle(uint64_t bytes) {
  return absl::InvalidArgumentError(
      absl::StrCat("memory: ", bytes, " bytes; to shuffle records at least ",
                   RecordProducer::kLeastMemory, " are needed"));
}

DeviceLanes LanesOf(const Catalogue* catalogue) {
  if (catalogue == nullptr) return DeviceLanes();
  return {catalogue->file_devices(), ReadQueue::kDevices};
}

absl::flat_hash_set<uint64_t> IdsOf(
    absl::Span<const std::shared_ptr<const RecordFile>> files) {
  absl::flat_hash_set<uint64_t> ids;
  for (const auto& file : files) ids.insert(file->id);
  return ids;
}

}  // namespace

absl::StatusOr<std::shared_ptr<RecordProducer>> RecordProducer::Make(
    Parts parts) {
  if (parts.memory.guarantee < kLeastMemory) {
    return TooLittle(parts.memory.guarantee);
  }
  DeviceLanes lanes = LanesOf(parts.catalogue.get());
  ASSIGN_OR_RETURN(RecordShares shares,
                   RecordShares::Open(parts.memory, lanes.count()));
  std::shared_ptr<RecordProducer> pool(new RecordProducer(
      std::move(parts), std::move(shares), std::move(lanes)));
  pool->pool_->Follow([weak = pool->weak_from_this()](uint64_t bytes) {
    if (const auto self = weak.lock()) self->GiveBack(bytes);
  });
  for (const auto& share : pool->straddling_.shares()) {
    share->Follow([weak = pool->weak_from_this()](uint64_t bytes) {
      if (const auto self = weak.lock()) self->straddling_.GiveBack(bytes);
    });
  }
  return pool;
}

RecordProducer::RecordProducer(Parts parts, RecordShares shares,
                               DeviceLanes lanes)
    : how_(std::move(parts.how)),
      memory_bytes_(parts.memory.guarantee),
      pool_bytes_(RecordBudget::Of(memory_bytes_).pool_bytes()),
      stall_(parts.stall),
      worker_(parts.worker),
      catalogue_(std::move(parts.catalogue)),
      lanes_(std::move(lanes)),
      source_(std::move(parts.source)),
      pool_(std::move(shares.parts)),
      plans_(kKeptPlanBytes),
      straddling_(std::exchange(shares.straddling, {}),
                  RecordBudget::Of(memory_bytes_).most_pieces()),
      shares_(std::move(shares)),
      gathering_(lanes_.count()),
      fetcher_(lanes_.count(), {.take_room =
                                    [this](size_t lane, Fetch& fetch) {
                                      return TakeRoom(lane, fetch);
                                    },
                                .begin =
                                    [this](std::vector<Fetch> fetches) {
                                      Send(std::move(fetches));
                                    }}),
      alone_(shares_.spare.size(),
             {.take_room =
                  [this](size_t lane, Alone& alone) {
                    alone.memory =
                        shares_.spare[lane]->Allocate(alone.request->length);
                    return alone.memory != nullptr;
                  },
              .begin =
                  [this](std::vector<Alone> requests) {
                    for (Alone& alone : requests) BeginAlone(std::move(alone));
                  },
              .in_order = false}),
      ages_(pool_bytes_) {}

uint64_t RecordProducer::largest_part() const {
  return RecordBudget::Of(memory_bytes_).largest_part();
}

uint64_t RecordProducer::whole_bytes() const {
  return RecordBudget::Of(memory_bytes_).whole_bytes();
}

uint64_t RecordProducer::NewId() {
  MutexLock lock(mu_);
  return ++last_id_;
}

ProducerStatus RecordProducer::status() const {
  ProducerStatus status;
  status.memory_limit = pool_->pool_capacity();
  status.memory_guaranteed = memory_bytes_;
  status.pool_bytes =
      pool_->used() + shares_.bytes_of_buffers() + straddling_.bytes();
  status.source_bytes = source_->bytes_read();
  status.source_reads = source_->reads();
  status.how = absl::StrCat(how_, "; ", source_->how());
  MutexLock lock(mu_);
  status.hits = hits_;
  status.misses = misses_;
  status.bypass = bypass_;
  return status;
}

void RecordProducer::Forget(
    absl::Span<const std::shared_ptr<const RecordFile>> files) {
  const absl::flat_hash_set<uint64_t> ids = IdsOf(files);
  // They are destroyed with no lock held, because they may own anything.
  std::vector<std::shared_ptr<Held>> gone;
  {
    MutexLock lock(mu_);
    for (const auto& file : files) file->forgotten = true;
    for (const uint64_t id : ids) {
      readers_.erase(id);
      read_lately_.erase(id);
    }
    // Parts on their way are dropped when they have arrived and were delivered.
    held_.DropIf([&](const PartKey& key, const std::shared_ptr<Held>& held) {
      if (!ids.contains(key.first)) return false;
      gone.push_back(held);
      return true;
    });
    ages_.Forget(ids);
  }
  plans_.Forget(ids);
  // Last, because KeepStraddling checks after it keeps one.
  straddling_.Forget(ids);
}

PartAges::Age RecordProducer::AgeOf(const Held& held) {
  return {held.ahead, held.since, KeyOf(held)};
}

void RecordProducer::Drop(const Held& held) {
  if (!held_.Is(KeyOf(held), held)) return;
  ages_.Remove(AgeOf(held));
  held_.Drop(KeyOf(held));
}

bool RecordProducer::MayGoAhead(uint64_t bytes) {
  const uint64_t since =
      clock_ - std::min(clock_, PartAges::kGone * pool_bytes_);
  absl::erase_if(read_lately_,
                 [since](const auto& file) { return file.second < since; });
  if (read_lately_.size() <= 1) return true;
  // When a reader of another file ends its part, it needs the next one. If the
  // memory were full of parts ahead of others, it would take the part that some
  // reader is in, and that would be fetched again.
  while (pool_->used() + 2 * bytes > pool_->pool_capacity()) {
    if (!DropOne(PartNeed::kAhead)) return false;
  }
  return true;
}

bool RecordProducer::DropOne(PartNeed need) {
  const absl::optional<PartKey> key = ages_.TakeFor(need, clock_);
  if (key) held_.Drop(*key);
  return key.has_value();
}

void RecordProducer::GiveBack(uint64_t bytes) {
  MutexLock lock(mu_);
  const uint64_t used = pool_->used();
  const uint64_t until = used - std::min(used, bytes);
  while (pool_->used() > until && DropOne(PartNeed::kPart)) {
  }
}

std::unique_ptr<MemoryBlock> RecordProducer::Allocate(uint64_t bytes,
                                                      PartNeed need) {
  if (bytes > largest_part()) return nullptr;
  for (;;) {
    std::unique_ptr<MemoryBlock> memory = pool_->Allocate(bytes);
    if (memory != nullptr || !DropOne(need)) return memory;
  }
}

std::shared_ptr<RecordProducer::Held> RecordProducer::Begin(
    const std::shared_ptr<const RecordFile>& file, const WantedPart& wanted,
    PartNeed need) {
  if (file->forgotten) return nullptr;
  std::unique_ptr<MemoryBlock> memory = Allocate(wanted.bytes, need);
  if (memory == nullptr) return nullptr;
  auto held = std::make_shared<Held>();
  held->file = file;
  held->part = wanted.part;
  held->source = file;
  held->bytes_at = IoBuf(memory->pieces());
  held->memory = std::move(memory);
  held->length = wanted.bytes;
  held->reads_left = 1;  // the planning
  held->ahead = need == PartNeed::kAhead;
  held->since = clock_ += wanted.bytes;
  held_.Put(KeyOf(*held), held);
  return held;
}

void RecordProducer::GoAhead(const std::shared_ptr<const RecordFile>& file,
                             uint64_t part, uint64_t until) {
  // No lock is held, because the begins may have to be summed up.
  const std::vector<WantedPart> wanted =
      PartsAhead(*file->content, part, until, pool_bytes_ / 2);
  std::vector<std::shared_ptr<Held>> begun;
  {
    MutexLock lock(mu_);
    for (const WantedPart& each : wanted) {
      if (held_.Has({file->id, each.part})) continue;
      if (!MayGoAhead(each.bytes)) break;
      std::shared_ptr<Held> held = Begin(file, each, PartNeed::kAhead);
      if (held == nullptr) break;
      begun.push_back(std::move(held));
    }
  }
  PostPlans(std::move(begun), /*urgent=*/false);
}

bool RecordProducer::Take(const std::shared_ptr<Request>& request,
                          const std::vector<WantedPart>& wanted,
                          std::vector<std::shared_ptr<Held>>& begun) {
  const PartNeed need = request->file->content->mean_copy_bytes() >= kLeastAlone
                            ? PartNeed::kPartOrAlone
                            : PartNeed::kPart;
  bool all = true;
  for (const WantedPart& each : wanted) {
    std::shared_ptr<Held> held = held_.Find({request->file->id, each.part});
    if (held != nullptr) {
      // It is coming or here.
    } else if (need == PartNeed::kPartOrAlone && each.bytes >= kLargePart &&
               request->offset > each.begin + each.bytes / 2) {
      all = false;
      continue;
    } else if ((held = Begin(request->file, each, need)) != nullptr) {
      begun.push_back(held);
    } else {
      all = false;
      continue;
    }
    if (held->here) ages_.Remove(AgeOf(*held));
    held->ahead = false;
    held->since = clock_;
    if (held->here) ages_.Add(AgeOf(*held));
    request->pieces.push_back({each.begin, std::move(held)});
  }
  if (!all) {
    request->pieces.clear();
    return false;
  }
  for (const Piece& piece : request->pieces) {
    if (piece.held->here) continue;
    ++request->missing;
    piece.held->waiters.push_back(request);
  }
  return true;
}

void RecordProducer::Read(const std::shared_ptr<const RecordFile>& file,
                          uint64_t offset, uint64_t length,
                          ContentProvider::ReadDone done) {
  const PartedFile& content = *file->content;
  if (offset >= content.bytes() || length == 0) {
    done(absl::Span<const iovec>());
    return;
  }
  auto request = std::make_shared<Request>();
  request->file = file;
  request->offset = offset;
  request->length =
      std::min({length, content.bytes() - offset, BypassReads::kLongestRead});
  request->done = std::move(done);
  const std::vector<WantedPart> wanted =
      PartsOf(content, request->offset, request->offset + request->length);
  const ReadSpan span{offset, offset + request->length, wanted.front().begin,
                      wanted.back().begin,
                      wanted.back().begin + wanted.back().bytes};
  std::vector<std::shared_ptr<Held>> begun;
  bool reads_on = false;
  uint64_t run = 0;
  bool alone = false;
  bool waits = false;  // later another thread may own the request
  {
    MutexLock lock(mu_);
    if (!file->forgotten) {
      RecordReaders& readers = readers_[file->id];
      reads_on = readers.ReadsOn(span);
      run = readers.run();
      read_lately_[file->id] = clock_;
      // Its reader goes on to another file, and is still one reader.
      if (span.end >= content.bytes()) read_lately_.erase(file->id);
    }
    alone = !Take(request, wanted, begun);
    if (alone) clock_ += request->length;
    ++(alone ? bypass_ : begun.empty() ? hits_ : misses_);
    waits = request->waited = alone || request->missing > 0;
    // This is before any thread can answer it.
    if (waits && stall_ != nullptr) stall_->Enter();
  }
  if (alone) {
    ReadAlone(request);
  } else if (!waits) {
    Answer(request);
    if (stall_ != nullptr) stall_->Served();
  }
  PostPlans(std::move(begun), /*urgent=*/true);
  if (!reads_on) return;
  Post(
      [self = shared_from_this(), file, part = wanted.back().part,
       end = span.end, run](const absl::Status& turn) {
        if (!turn.ok()) return;  // nobody waits for it
        self->GoAhead(file, part, file->content->AheadEnd(end, run));
      },
      /*urgent=*/false);
}

void RecordProducer::PostPlans(std::vector<std::shared_ptr<Held>> begun,
                               bool urgent) {
  for (std::shared_ptr<Held>& held : begun) {
    Post(
        [self = shared_from_this(), held = std::move(held),
         urgent](const absl::Status& turn) {
          if (turn.ok()) return self->Plan(held, urgent);
          self->OneLess(held, turn);
        },
        urgent);
  }
}

void RecordProducer::Post(Worker::Job job, bool urgent) {
  if (worker_ == nullptr) return job(absl::OkStatus());
  worker_->Post(std::move(job), urgent);
}

}  // namespace shufflefs
