// SPDX-License-Identifier: Apache-2.0
// The part of SampleProducer that answers readers.
#include <algorithm>
#include <utility>

#include "core/pool/sample_producer.h"

namespace shufflefs {
namespace {

// Files that other nodes read at a time, at most: their readers, each with some
// that it has begun.
constexpr size_t kMostReadByOthers = 64;

}  // namespace

void SampleProducer::Read(EntryId file, ReadWaiter waiter) {
  waiter = BypassReads::Clip(dataset_->catalogue(), file, std::move(waiter));
  if (waiter.length == 0) {
    waiter.done(absl::Span<const iovec>());
    return;
  }
  Pieces pieces;
  std::shared_ptr<Held> held;
  bool waits = false;
  {
    MutexLock lock(mu_);
    if (!held_.Has(file)) Want(file, pieces);
    held = held_.Find(file);
    served_.Set(dataset_->grouping().sample(file).value());
    wanted_ = true;
    waits = held != nullptr && !held->here;
    if (waits) {
      held->closed = false;
      held->waiters.push_back(std::move(waiter));
      Wait();
    }
  }
  if (held == nullptr) {
    bypass_->Read(source_, file, std::move(waiter));
  } else if (!waits) {
    Deliver(file, held, waiter);
    if (stall_ != nullptr) stall_->Served();
  }
  Send(std::move(pieces), file);
  Refill();
  sets_.TellRequests();  // what is read may show what comes next
}

void SampleProducer::ReadForOthers(
    EntryId file, uint64_t offset, uint64_t length,
    std::function<void(absl::StatusOr<HeldBytes>)> done) {
  ReadWaiter waiter{offset, length, nullptr};
  auto owner = std::make_shared<std::shared_ptr<const void>>();
  waiter.keep = [owner](std::shared_ptr<const void> memory) {
    *owner = std::move(memory);
  };
  waiter.done = [owner, done = std::move(done)](
                    absl::StatusOr<absl::Span<const iovec>> read) {
    if (!read.ok()) return done(read.status());
    done(HeldBytes{{read->begin(), read->end()}, std::move(*owner)});
  };
  Read(file, std::move(waiter));
  {
    MutexLock lock(mu_);
    if (read_by_others_.empty() || read_by_others_.back() != file) {
      read_by_others_.push_back(file);
    }
    if (read_by_others_.size() <= kMostReadByOthers) return;
    file = read_by_others_.front();
    read_by_others_.pop_front();
  }
  Close(file);
}

absl::optional<SampleProducer::HeldBytes> SampleProducer::TakeForOthers(
    SampleId sample, uint64_t most) {
  HeldBytes bytes;
  {
    MutexLock lock(mu_);
    if (!binder_->NameOf(sample) || !SampleIsHere(sample)) return absl::nullopt;
    std::vector<std::pair<EntryId, std::shared_ptr<Held>>> files;
    uint64_t length = 0;
    for (uint32_t c = 0; c < Columns(sample); ++c) {
      const EntryId file = Member(sample, c);
      files.emplace_back(file, held_.Find(file));
      length += files.back().second->length;
    }
    if (length == 0 || length > most) return absl::nullopt;
    auto owners = std::make_shared<std::vector<std::shared_ptr<MemoryBlock>>>();
    for (const auto& [file, held] : files) {
      for (const iovec& piece : held->memory->Range(0, held->length)) {
        bytes.pieces.push_back(piece);
      }
      owners->push_back(held->memory);
    }
    bytes.owner = std::move(owners);
    served_.Set(sample.value());
    wanted_ = true;
    for (const auto& [file, held] : files) {
      Delivered(file, held,
                held->length - std::min(held->length, held->delivered));
    }
  }
  Refill();
  return bytes;
}

void SampleProducer::Send(Pieces pieces, EntryId wanted) {
  if (pieces.empty()) return;
  // A single piece that a reader waits for is read first.
  if (pieces.size() == 1 && pieces.front().file == wanted) {
    source_->FetchNow(std::move(pieces.front()));
  } else {
    source_->Fetch(std::move(pieces));
  }
}

void SampleProducer::Want(EntryId file, Pieces& pieces) {
  const SampleId sample = dataset_->grouping().sample(file);
  // The sample is read again, or through a descriptor of an earlier epoch. That
  // changes nothing for others. (If samples are repeated, it is one more of its
  // names.)
  if (!repeats() && served_.Get(sample.value())) return;
  if (!binder_->NameOf(sample)) return;
  const std::vector<SampleId> samples =
      binder_->FetchChunkOf(sample, pool_->Room());
  if (!samples.empty()) {
    Start(samples, pieces);
    return;
  }
  binder_->Bypassed(sample);
  ++bypassed_;
  for (uint32_t c = 0; c < Columns(sample); ++c) {
    if (!StartFile(Member(sample, c), /*counted=*/false, pieces)) return;
  }
}

bool SampleProducer::KeptForNext(EntryId file, const Held& held) const {
  return held.counted &&
         binder_->fetched_ahead(dataset_->grouping().sample(file));
}

void SampleProducer::Deliver(EntryId file, const std::shared_ptr<Held>& held,
                             const ReadWaiter& waiter) {
  held->Answer(waiter);
  MutexLock lock(mu_);
  Delivered(file, held, waiter.length);
}

void SampleProducer::Delivered(EntryId file, const std::shared_ptr<Held>& held,
                               uint64_t length) {
  // This read repeats a sample that the epoch is done with, or is a late one of
  // an earlier epoch.
  if (KeptForNext(file, *held) || Foreign(file, *held)) return;
  // By now the file may be held again.
  if (!held->Deliver(length) || !held_.Is(file, *held)) return;
  if (!Keep(file, *held)) Finish(file);
}

bool SampleProducer::Foreign(EntryId file, const Held& held) const {
  return held.counted && !binder_->NameOf(dataset_->grouping().sample(file));
}

bool SampleProducer::Keep(EntryId file, const Held& held) {
  if (!held.counted) return false;
  const SampleId sample = dataset_->grouping().sample(file);
  std::vector<std::shared_ptr<Held>> whole;
  for (uint32_t c = 0; c < Columns(sample); ++c) {
    whole.push_back(held_.Find(Member(sample, c)));
    if (whole.back() == nullptr || !whole.back()->counted) return false;
  }
  if (!binder_->Keeps(sample)) return false;
  for (const std::shared_ptr<Held>& part : whole) part->delivered = 0;
  return true;
}

void SampleProducer::Finish(EntryId file) {
  const SampleId sample = dataset_->grouping().sample(file);
  for (uint32_t c = 0; c < Columns(sample); ++c) {
    const EntryId other = Member(sample, c);
    if (other != file && held_.Has(other)) lingering_.push_back(other);
  }
  Drop(file);
}

void SampleProducer::Close(EntryId file) {
  {
    MutexLock lock(mu_);
    const std::shared_ptr<Held> held = held_.Find(file);
    if (held == nullptr) return;
    CloseHeld(file, *held);
  }
  Refill();
}

void SampleProducer::CloseHeld(EntryId file, Held& held) {
  // This epoch does not show it: it was opened in an earlier one.
  if (Foreign(file, held)) return;
  if (KeptForNext(file, held) || Keep(file, held)) return;
  if (held.here) {
    Finish(file);
  } else {
    held.closed = held.waiters.empty();
  }
}

void SampleProducer::NoteReportedOpen(EntryId file) {
  if (!dataset_->grouping().place(file)) return;
  MutexLock lock(mu_);
  opened_.push_back({file, std::chrono::steady_clock::now()});
  CloseReported();
}

void SampleProducer::CloseReported() {
  const auto long_ago = std::chrono::steady_clock::now() - kOpenLong;
  while (!opened_.empty() && opened_.front().since < long_ago) {
    const EntryId file = opened_.front().file;
    opened_.pop_front();
    const SampleId sample = dataset_->grouping().sample(file);
    if (const std::shared_ptr<Held> held = held_.Find(file)) {
      CloseHeld(file, *held);
    } else if (!repeats() && binder_->NameOf(sample) &&
               served_.Set(sample.value())) {
      // Nobody asked for its bytes, so nobody will: the kernel has them.
      binder_->Bypassed(sample);
    }
  }
}

}  // namespace shufflefs
