// SPDX-License-Identifier: Apache-2.0
#include "core/supply/read_ahead.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/status.h"

namespace shufflefs {
namespace {

// Sequences that are followed: the live epoch's, and of some epochs by path.
constexpr size_t kMostFollowed = 12;
constexpr uint64_t kLeastAhead = 8;  // samples

uint64_t OthersBytes(uint64_t memory_bytes) {
  return std::clamp<uint64_t>(memory_bytes / 16, 2 << 20, 16 << 20);
}

uint64_t MeanBytes(const Dataset& dataset) {
  const Grouping& grouping = dataset.grouping();
  uint64_t bytes = 0;
  uint64_t samples = 0;
  for (uint32_t g = 0; g < grouping.group_count(); ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    samples += group.samples;
    for (uint64_t i = 0; i < uint64_t{group.samples} * group.columns; ++i) {
      const EntryId file =
          grouping.member(GroupId(g), i / group.columns, i % group.columns);
      bytes += Arena::Footprint(dataset.catalogue().attributes(file).size);
    }
  }
  return samples == 0 ? Arena::kPage : std::max<uint64_t>(bytes / samples, 1);
}

}  // namespace

absl::StatusOr<std::shared_ptr<ReadAhead>> ReadAhead::Make(Parts parts) {
  if (parts.memory_bytes < kLeastMemory) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory: ", parts.memory_bytes, " bytes; at least ",
                     kLeastMemory, " are needed"));
  }
  const uint64_t others_bytes = OthersBytes(parts.memory_bytes);
  ASSIGN_OR_RETURN(std::unique_ptr<Arena> pool,
                   Arena::Make(parts.memory_bytes - others_bytes));
  std::shared_ptr<SampleSource> source = std::move(parts.source);
  ASSIGN_OR_RETURN(std::shared_ptr<LoneReads> others,
                   LoneReads::Make(others_bytes, source, parts.stall));
  return std::shared_ptr<ReadAhead>(new ReadAhead(
      std::move(parts), std::move(source), std::move(pool), std::move(others)));
}

ReadAhead::ReadAhead(Parts parts, std::shared_ptr<SampleSource> source,
                     std::unique_ptr<Arena> pool,
                     std::shared_ptr<LoneReads> others)
    : dataset_(std::move(parts.dataset)),
      addresses_(std::move(parts.addresses)),
      how_(std::move(parts.how)),
      memory_bytes_(parts.memory_bytes),
      mean_bytes_(MeanBytes(*dataset_)),
      stall_(parts.stall),
      source_(std::move(source)),
      pool_(std::move(pool)),
      others_(std::move(others)) {}

void ReadAhead::Add(const Binding* binding, bool ranks,
                    std::unique_ptr<const Sequence> sequence) {
  followed_.push_front(Followed{++last_id_, binding, ranks, std::move(sequence),
                                Cursors(dataset_->grouping().sample_count())});
  // The live epoch's are the last to go: they are read most.
  while (followed_.size() > kMostFollowed) {
    auto last = std::find_if(followed_.rbegin(), followed_.rend(),
                             [](const Followed& f) { return f.binding; });
    if (last == followed_.rend()) return;
    followed_.erase(std::next(last).base());
  }
}

void ReadAhead::FollowLive(Sequences sequences) {
  MutexLock lock(mu_);
  followed_.remove_if([](const Followed& f) { return f.binding == nullptr; });
  last_noted_.reset();
  for (std::unique_ptr<Sequence>& sequence : sequences) {
    Add(nullptr, false, std::move(sequence));
  }
}

void ReadAhead::FollowFixed(const std::shared_ptr<const Binding>& binding,
                            bool ranks) {
  MutexLock lock(mu_);
  for (const Followed& followed : followed_) {
    if (followed.binding == binding.get() && followed.ranks == ranks) return;
  }
  if (ranks) {
    Add(binding.get(), true, RankSequence(binding));
    return;
  }
  Add(binding.get(), false, NameSequence(binding));
  Add(binding.get(), false, ListingSequence(binding));
}

SupplyStatus ReadAhead::status() const {
  SupplyStatus status;
  status.memory_limit = memory_bytes_;
  status.pool_bytes = pool_->used() + others_->used();
  status.source_bytes = source_->bytes_read();
  status.source_reads = source_->reads();
  status.how = absl::StrCat(how_, "; ", source_->how());
  MutexLock lock(mu_);
  status.hits = hits_;
  status.misses = misses_;
  return status;
}

void ReadAhead::Note(SampleId sample) {
  ++noted_;
  for (Followed& followed : followed_) followed.cursors.Tick();
  for (auto it = followed_.begin(); it != followed_.end(); ++it) {
    if (!it->cursors.Advance(it->sequence->PositionOf(sample))) continue;
    followed_.splice(followed_.begin(), followed_, it);
    return;
  }
  for (Followed& followed : followed_) {
    followed.cursors.Missed(followed.sequence->PositionOf(sample));
  }
}

uint64_t ReadAhead::MostAhead() const {
  uint64_t cursors = 0;
  for (const Followed& followed : followed_) {
    cursors += followed.cursors.count();
  }
  const uint64_t samples = pool_->capacity() / 4 * 3 / mean_bytes_;
  return std::max(samples / std::max<uint64_t>(cursors, 1), kLeastAhead);
}

void ReadAhead::Plan(Pieces& pieces) {
  for (bool more = !stopped_; more;) {
    more = false;
    for (Followed& followed : followed_) {
      const absl::optional<Cursors::Range> range =
          followed.cursors.Next(MostAhead());
      if (range && !Start(followed, *range, pieces)) return;
      more |= range.has_value();
    }
  }
}

bool ReadAhead::Start(Followed& followed, const Cursors::Range& range,
                      Pieces& pieces) {
  // What the memory does not take is cut off at the end of the sequence, so
  // memory is taken before the samples are sorted.
  Pieces found;
  std::vector<uint64_t> keys;
  for (uint64_t p = range.begin; p < range.end; ++p) {
    if (!StartSample(followed, p, found)) {
      followed.cursors.TakeBack(range.cursor, p);
      break;
    }
    const uint64_t sample = followed.sequence->At(p).value();
    keys.resize(found.size(), addresses_.empty() ? p : addresses_[sample]);
  }
  keys.resize(found.size(), 0);
  std::vector<size_t> by_address(found.size());
  for (size_t i = 0; i < by_address.size(); ++i) by_address[i] = i;
  std::stable_sort(by_address.begin(), by_address.end(),
                   [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  for (const size_t i : by_address) pieces.push_back(std::move(found[i]));
  return !found.empty();
}

bool ReadAhead::StartSample(const Followed& followed, uint64_t position,
                            Pieces& pieces) {
  const Grouping& grouping = dataset_->grouping();
  const SampleId sample = followed.sequence->At(position);
  for (uint32_t c = 0; c < grouping.columns(sample); ++c) {
    const EntryId file = grouping.member(sample, c);
    const uint64_t length = dataset_->catalogue().attributes(file).size;
    // A file so large is read ahead by the kernel.
    if (held_.contains(file) || length > pool_->capacity() / 8) continue;
    std::unique_ptr<MemoryBlock> memory = pool_->Allocate(length);
    if (memory == nullptr && noted_ >= reclaimed_at_ + kLeastAhead) {
      Reclaim();
      memory = pool_->Allocate(length);
    }
    if (memory == nullptr) return false;
    auto held = std::make_shared<Held>();
    held->memory = std::move(memory);
    held->length = length;
    held->owner = followed.id;
    held->position = position;
    held_[file] = held;
    FilePiece piece;
    piece.file = file;
    piece.length = length;
    piece.into = held->memory->pieces();
    piece.done = [self = shared_from_this(), file,
                  held](const absl::Status& status) {
      self->Arrived(file, held, status);
    };
    pieces.push_back(std::move(piece));
  }
  return true;
}

bool ReadAhead::Awaited(const Held& held) {
  for (Followed& followed : followed_) {
    if (followed.id != held.owner) continue;
    if (followed.cursors.Awaits(held.position)) return true;
    followed.cursors.Unread(held.position);
    return false;
  }
  return false;
}

void ReadAhead::Reclaim() {
  reclaimed_at_ = noted_;
  for (auto it = held_.begin(); it != held_.end();) {
    // What is on its way cannot be called back.
    if (it->second->here && !Awaited(*it->second)) {
      held_.erase(it++);
    } else {
      ++it;
    }
  }
}

}  // namespace shufflefs
