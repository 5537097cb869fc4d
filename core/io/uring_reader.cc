// SPDX-License-Identifier: Apache-2.0
#include "core/io/uring_reader.h"

#include <fcntl.h>
#include <limits.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/status.h"
#include "core/base/thread.h"
#include "core/io/uring.h"
#include "core/source/file_check.h"
#include "core/source/file_systems.h"
#include "core/source/posix_acl.h"

namespace shufflefs {
namespace {

constexpr uint64_t kClose = 1;  // the tag of closes; nobody waits for them
constexpr size_t kMostDepth = 4096;
constexpr unsigned kMostWorkers = 256;
// Opens per file: openat2's EAGAIN says that a rename raced with it.
constexpr int kMostOpens = 64;

size_t Depth(const FileReaderOptions& options) {
  return std::clamp<size_t>(options.depth, 1, kMostDepth);
}

FileSystemTraits TraitsOf(const SourceDir& source) {
  const absl::optional<uint64_t> type = source.place().fs_type;
  return {.remote = !type || IsNetworkFs(*type),
          .waits = !type || !IsLocalFs(*type)};
}

// Makes a thread of the kernel do the call. On a server's files some calls wait
// although the ring asks them not to, and they would stop all others.
void ByAnotherThread(bool waits, io_uring_sqe* entry) {
  if (waits) entry->flags |= IOSQE_ASYNC;
}

}  // namespace

// One read in the ring. Its address is the tag of its calls. At most one call
// is pending.
struct UringReader::Slot {
  Slot(FileRead read, FileSystems* systems, const FileReaderOptions& options)
      : job(std::move(read), systems, options) {}
  ReadJob job;
  ReadJob::Step step = ReadJob::Step::kOpen;  // of the pending call
  open_how how = {};
  int again = 0;
  size_t lane = 0;    // of queue_
  uint64_t turn = 0;  // 0: it need not wait for a turn
  bool had_turn = false;
  bool crosses = false;  // its path leads over another mount
};

absl::StatusOr<std::unique_ptr<UringReader>> UringReader::Make(
    const SourceDir& source, const FileReaderOptions& options) {
  if (source.lookup() != SourceDir::Lookup::kKernel) {
    return ErrnoStatus(EOPNOTSUPP, "openat2");
  }
  std::unique_ptr<UringReader> reader(new UringReader(source, options));
  RETURN_IF_ERROR(reader->Start());
  return reader;
}

UringReader::UringReader(const SourceDir& source,
                         const FileReaderOptions& options)
    : source_(source),
      options_(options),
      waits_(TraitsOf(source).waits),
      files_(OpenFiles::kMost, [this](UniqueFd fd) { Close(std::move(fd)); }),
      queue_(Depth(options), options.max_in_flight_bytes) {
  systems_.Know(source.place().device, TraitsOf(source));
}

// The thread that uses the ring makes it, because the kernel binds a ring to
// its maker.
absl::Status UringReader::Start() {
  auto thread = TryStartThread("sfs-uring", [this](std::stop_token) { Run(); });
  if (!thread) return ErrnoStatus(EAGAIN, "starting a thread");
  thread_ = *std::move(thread);
  MutexLock lock(mu_);
  while (!started_) answered_.Wait(mu_);
  return *started_;
}

UringReader::~UringReader() {
  {
    MutexLock lock(mu_);
    queue_.Cancel();
    stop_ = true;
    // Wakes it also if it is awake: the last wake completes, and is not armed
    // again.
    if (started_ && started_->ok()) ring_->Wake();
  }
  if (thread_.joinable()) thread_.join();
}

void UringReader::WakeIfAsleep() {
  // For another device there is room even if the ring was full.
  const bool checks = awake_ && devices_ == queue_.devices();
  if (checks || !queue_.Ready()) return;
  awake_ = true;
  ring_->Wake();
}

void UringReader::Submit(std::vector<FileRead> reads) {
  MutexLock lock(mu_);
  queue_.Push(std::move(reads));
  WakeIfAsleep();
}

void UringReader::SubmitUrgent(FileRead read) {
  MutexLock lock(mu_);
  queue_.PushUrgent(std::move(read));
  WakeIfAsleep();
}

void UringReader::Cancel() {
  MutexLock lock(mu_);
  queue_.Cancel();
  WakeIfAsleep();
}

FileReaderStats UringReader::stats() const {
  MutexLock lock(mu_);
  return queue_.stats();
}

absl::Status UringReader::RegisterMemory(absl::Span<char> memory) {
  MutexLock lock(mu_);
  to_register_ = memory;
  ring_->Wake();
  while (!registered_) answered_.Wait(mu_);
  return *registered_;
}

// The reads in flight, as many closes, and the wake. Calls of a device that
// hangs do not complete, so a ring for one device has room for what completes.
unsigned UringReader::MostPending(size_t devices) const {
  return static_cast<unsigned>(2 * Depth(options_) * devices + 2);
}

unsigned UringReader::Workers(size_t devices) const {
  const size_t each = std::min<size_t>(Depth(options_), kMostWorkers);
  return static_cast<unsigned>(each * devices);
}

absl::Status UringReader::SetUp() {
  ASSIGN_OR_RETURN(ring_, Uring::Make(MostPending(1), Workers(1)));
  ring_->ArmWake();
  return absl::OkStatus();
}

void UringReader::Run() {
  const absl::Status status = SetUp();
  {
    MutexLock lock(mu_);
    started_ = status;
    answered_.SignalAll();
  }
  if (!status.ok()) return;
  while (Admit()) {
    for (const Completion& completion : ring_->SubmitAndWait()) {
      if (completion.tag == Uring::kWake) {
        HandleWake();
      } else if (completion.tag != kClose) {
        HandleSlot(
            std::unique_ptr<Slot>(reinterpret_cast<Slot*>(completion.tag)),
            completion.result);
      }
    }
  }
  ring_.reset();
}

// Begins the reads that may begin. Returns false when everything is over.
bool UringReader::Admit() {
  for (;;) {
    absl::optional<ReadQueue::Next> next;
    {
      MutexLock lock(mu_);
      if (devices_ != queue_.devices()) {
        devices_ = queue_.devices();
        ring_->AllowWorkers(Workers(devices_));
      }
      // If there is no room, closes are pending. Their completions lead here
      // again.
      awake_ = ring_->pending() + 1 >= MostPending(devices_);
      if (!awake_) next = queue_.Take();
      if (!next) return !stop_ || !queue_.idle() || ring_->pending() > 0;
      awake_ = true;
    }
    auto slot =
        std::make_unique<Slot>(std::move(next->read), &systems_, options_);
    slot->lane = next->lane;
    if (!next->urgent && !next->cancelled && IsHere(slot->job)) {
      slot->turn = first_turn_ + turns_.size();
      turns_.emplace_back();
      turns_.back().batch = next->batch;
    }
    const ReadJob::Step first =
        next->cancelled ? slot->job.Cancelled() : slot->job.Begin();
    Go(std::move(slot), first);
  }
}

void UringReader::HandleWake() {
  MutexLock lock(mu_);
  if (to_register_ && !registered_) {
    registered_ = ring_->Register(*to_register_);
    answered_.SignalAll();
  }
  awake_ = true;
  if (!stop_) ring_->ArmWake();
}

void UringReader::HandleSlot(std::unique_ptr<Slot> slot, int32_t result) {
  ReadJob::Step next =
      slot->step == ReadJob::Step::kOpen   ? OpenEnded(*slot, result)
      : slot->step == ReadJob::Step::kRead ? slot->job.ReadEnded(result)
      : slot->step == ReadJob::Step::kLook ? slot->job.Looked(result)
                                           : slot->job.AclRead(result);
  Go(std::move(slot), next);
}

ReadJob::Step UringReader::OpenEnded(Slot& slot, int32_t result) {
  if (result >= 0) return slot.job.Opened(UniqueFd(result));
  if (result == -EINTR || (result == -EAGAIN && ++slot.again < kMostOpens)) {
    return ReadJob::Step::kOpen;
  }
  if (result == -EXDEV && (slot.how.resolve & RESOLVE_NO_XDEV) != 0) {
    slot.how.resolve &= ~uint64_t{RESOLVE_NO_XDEV};
    slot.crosses = true;
    LeaveTurn(slot);
    return ReadJob::Step::kOpen;
  }
  if (result == -EPERM && (slot.how.flags & O_NOATIME) != 0) {
    // The process does not own this file.
    slot.how.flags &= ~uint64_t{O_NOATIME};
    return ReadJob::Step::kOpen;
  }
  return slot.job.OpenFailed(-result);
}

absl::optional<ReadJob::Step> UringReader::OpenAtOnce(Slot& slot) {
  const std::string& path = slot.job.path();
  if (slot.job.takes_open_file()) {
    std::shared_ptr<const OpenFile> file = files_.Find(path);
    if (file != nullptr) return slot.job.Borrowed(std::move(file));
  }
  // The path is too long for one call, or wrong. This waits for the source, but
  // such paths are rare.
  if (path.empty() || path.size() >= PATH_MAX || !SourceDir::IsPath(path)) {
    return OpenHere(slot);
  }
  return absl::nullopt;
}

ReadJob::Step UringReader::OpenHere(Slot& slot) {
  absl::StatusOr<UniqueFd> fd = source_.Open(slot.job.path(), O_RDONLY);
  if (fd.ok()) return slot.job.Opened(*std::move(fd));
  return slot.job.OpenFailed(ErrnoOf(fd.status()).value_or(EIO));
}

void UringReader::Go(std::unique_ptr<Slot> slot, ReadJob::Step step) {
  for (;;) {
    slot->step = step;
    switch (step) {
      case ReadJob::Step::kOpen:
        if (absl::optional<ReadJob::Step> opened = OpenAtOnce(*slot)) {
          step = *opened;
          break;
        }
        return QueueOpen(std::move(slot));
      case ReadJob::Step::kRead:
        return ReadInTurn(std::move(slot));
      case ReadJob::Step::kLook:
        // In the ring this call would always take a thread of the kernel.
        if (slot->job.look_waits()) return QueueLook(std::move(slot));
        step = slot->job.LookNow(source_);
        break;
      case ReadJob::Step::kAcl:
        return QueueAcl(std::move(slot));
      case ReadJob::Step::kEnd:
        return End(std::move(slot));
    }
  }
}

bool UringReader::IsHere(const ReadJob& job) const {
  return !waits_ && !job.is_beyond(source_.place().device);
}

void UringReader::QueueOpen(std::unique_ptr<Slot> slot) {
  const bool here = IsHere(slot->job) && !slot->crosses;
  if (slot->how.flags == 0) slot->how = source_.HowToRead();
  if (here) slot->how.resolve |= RESOLVE_NO_XDEV;
  io_uring_sqe* entry = ring_->Next();
  io_uring_prep_openat2(entry, source_.fd(), slot->job.path().c_str(),
                        &slot->how);
  // A file system mounted below the source may be a server's, and may have been
  // mounted over what the catalogue knows.
  ByAnotherThread(!here, entry);
  io_uring_sqe_set_data(entry, slot.release());
}

void UringReader::ReadInTurn(std::unique_ptr<Slot> slot) {
  if (slot->turn == 0) return QueueRead(std::move(slot));
  turns_[slot->turn - first_turn_].ready = std::move(slot);
  TakeTurns();
}

void UringReader::LeaveTurn(Slot& slot) {
  if (slot.turn == 0) return;
  turns_[std::exchange(slot.turn, 0) - first_turn_].over = true;
  TakeTurns();
}

void UringReader::TakeTurns() {
  while (!turns_.empty() && (turns_.front().over || turns_.front().ready)) {
    Turn& front = turns_.front();
    if (options_.batch_by_batch && front.batch != batch_ && reading_ > 0) {
      return;
    }
    batch_ = front.batch;
    std::unique_ptr<Slot> slot = std::move(front.ready);
    turns_.pop_front();
    ++first_turn_;
    if (slot == nullptr) continue;
    slot->turn = 0;
    slot->had_turn = true;
    ++reading_;
    QueueRead(std::move(slot));
  }
}

void UringReader::QueueRead(std::unique_ptr<Slot> slot) {
  const ReadJob& job = slot->job;
  const iovec& first = job.pieces().front();
  const auto length = static_cast<unsigned>(first.iov_len);
  io_uring_sqe* entry = ring_->Next();
  if (job.pieces().size() > 1) {
    io_uring_prep_readv(entry, job.fd(), job.pieces().data(),
                        static_cast<unsigned>(job.pieces().size()),
                        job.offset());
  } else if (int index = ring_->RegisteredIndex(first.iov_base, length);
             index >= 0) {
    io_uring_prep_read_fixed(entry, job.fd(), first.iov_base, length,
                             job.offset(), index);
  } else {
    io_uring_prep_read(entry, job.fd(), first.iov_base, length, job.offset());
  }
  entry->rw_flags = job.flags();
  ByAnotherThread(job.look_waits(), entry);
  io_uring_sqe_set_data(entry, slot.release());
}

void UringReader::QueueLook(std::unique_ptr<Slot> slot) {
  io_uring_sqe* entry = ring_->Next();
  io_uring_prep_statx(entry, slot->job.fd(), "", slot->job.look_flags(),
                      kLookMask, &slot->job.look());
  io_uring_sqe_set_data(entry, slot.release());
}

void UringReader::QueueAcl(std::unique_ptr<Slot> slot) {
  std::string& acl = slot->job.acl();
  io_uring_sqe* entry = ring_->Next();
  io_uring_prep_fgetxattr(entry, slot->job.fd(), kAclXattr, acl.data(),
                          static_cast<unsigned>(acl.size()));
  io_uring_sqe_set_data(entry, slot.release());
}

// A close may wait for a server. So nothing waits for it, except at the end.
void UringReader::Close(UniqueFd fd) {
  if (ring_ == nullptr) return;
  io_uring_sqe* entry = ring_->Next();
  io_uring_prep_close(entry, fd.release());
  io_uring_sqe_set_data64(entry, kClose);
}

void UringReader::Leave(ReadJob& job) {
  if (job.is_stale()) files_.Drop(job.path());
  if (job.may_lend()) files_.Keep(job.path(), job.TakeFile());
  UniqueFd own = job.TakeFd();
  if (own.valid()) Close(std::move(own));
}

void UringReader::End(std::unique_ptr<Slot> slot) {
  LeaveTurn(*slot);
  if (slot->had_turn) {
    --reading_;
    TakeTurns();
  }
  Leave(slot->job);
  {
    MutexLock lock(mu_);
    queue_.End(slot->lane, slot->job.length(), slot->job.got());
  }
  slot->job.CallDone();
}

}  // namespace shufflefs
