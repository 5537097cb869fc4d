// SPDX-License-Identifier: Apache-2.0
#include "core/pool/read_ahead.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

// The most sequences that are followed: the live epoch's, and those of some
// epochs by path.
constexpr size_t kMostFollowed = 12;
constexpr uint64_t kLeastAhead = 8;  // samples

std::shared_ptr<const std::vector<SampleId>> LeftOut(
    const ReadAhead::Parts& parts) {
  auto samples = std::make_shared<std::vector<SampleId>>();
  if (!parts.leaves_out) return samples;
  const Grouping& grouping = parts.dataset->grouping();
  for (uint64_t s = 0; s < grouping.sample_count(); ++s) {
    const SampleId sample(s);
    bool all = true;
    for (uint32_t c = 0; c < grouping.columns(sample) && all; ++c) {
      all = parts.leaves_out(grouping.member(sample, c));
    }
    if (all) samples->push_back(sample);
  }
  return samples;
}

}  // namespace

absl::StatusOr<std::shared_ptr<ReadAhead>> ReadAhead::Make(Parts parts) {
  PrefetchedFiles::Parts files;
  files.catalogue = parts.dataset->shared_catalogue();
  files.source = std::move(parts.source);
  files.memory = std::move(parts.memory);
  files.stall = parts.stall;
  ASSIGN_OR_RETURN(std::shared_ptr<PrefetchedFiles> held,
                   PrefetchedFiles::Make(std::move(files)));
  return std::shared_ptr<ReadAhead>(
      new ReadAhead(std::move(parts), std::move(held)));
}

ReadAhead::ReadAhead(Parts parts, std::shared_ptr<PrefetchedFiles> files)
    : dataset_(parts.dataset),
      addresses_(std::move(parts.addresses)),
      leaves_out_(parts.leaves_out),
      how_(std::move(parts.how)),
      left_out_(LeftOut(parts)),
      mean_bytes_(MeanBytes()),
      files_(std::move(files)) {}

uint64_t ReadAhead::MeanBytes() const {
  const Grouping& grouping = dataset_->grouping();
  uint64_t bytes = 0;
  for (uint32_t g = 0; g < grouping.group_count(); ++g) {
    const Grouping::Group& group = grouping.group(GroupId(g));
    for (uint64_t i = 0; i < uint64_t{group.samples} * group.columns; ++i) {
      const EntryId file =
          grouping.member(GroupId(g), i / group.columns, i % group.columns);
      if (IsLeftOut(file)) continue;
      bytes += Arena::Footprint(dataset_->catalogue().attributes(file).size);
    }
  }
  const uint64_t samples = grouping.sample_count() - left_out_->size();
  return samples == 0 ? Arena::kPage : std::max<uint64_t>(bytes / samples, 1);
}

void ReadAhead::Add(const Binding* binding, bool ranks,
                    std::unique_ptr<Sequence> sequence) {
  if (!left_out_->empty()) {
    sequence = SequenceWithout(std::move(sequence), left_out_);
  }
  followed_.push_front(Followed{
      ++last_id_, binding, ranks, std::move(sequence),
      Cursors(dataset_->grouping().sample_count() - left_out_->size())});
  // Sequences of the live epoch are removed last because they are read most.
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

ProducerStatus ReadAhead::status() const {
  ProducerStatus status = files_->status();
  status.how = absl::StrCat(how_, "; ", status.how);
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
  const uint64_t samples = files_->capacity() / 4 * 3 / mean_bytes_;
  return std::max(samples / std::max<uint64_t>(cursors, 1), kLeastAhead);
}

void ReadAhead::Plan(Pieces& pieces) {
  for (bool more = !files_->stopped(); more;) {
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
  // If memory runs out, the range is cut off at its end in the sequence. So
  // memory is allocated before the samples are sorted.
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
  const PrefetchedFiles::Owner owner{followed.id, position};
  for (uint32_t c = 0; c < grouping.columns(sample); ++c) {
    const EntryId file = grouping.member(sample, c);
    if (IsLeftOut(file) || files_->IsResident(file) || !files_->MayHold(file)) {
      continue;
    }
    if (files_->Start(file, owner, pieces)) continue;
    if (noted_ < reclaimed_at_ + kLeastAhead) return false;
    Reclaim();
    if (!files_->Start(file, owner, pieces)) return false;
  }
  return true;
}

bool ReadAhead::Awaited(const PrefetchedFiles::Owner& owner) {
  for (Followed& followed : followed_) {
    if (followed.id != owner.id) continue;
    if (followed.cursors.Awaits(owner.place)) return true;
    followed.cursors.Unread(owner.place);
    return false;
  }
  return false;
}

void ReadAhead::Reclaim() {
  reclaimed_at_ = noted_;
  files_->Reclaim(
      [this](const PrefetchedFiles::Owner& owner)
          ABSL_NO_THREAD_SAFETY_ANALYSIS { return Awaited(owner); });
}

bool ReadAhead::CanServe(EntryId file) {
  const SampleId sample = dataset_->grouping().sample(file);
  const bool held = files_->IsResident(file);
  {
    MutexLock lock(mu_);
    if (last_noted_ == sample) return held;
    last_noted_ = sample;
    ++(held ? hits_ : misses_);
    Note(sample);
  }
  if (!held) Fill();
  return held;
}

bool ReadAhead::IsResident(EntryId file) const {
  return files_->IsResident(file);
}

void ReadAhead::Read(EntryId file, uint64_t offset, uint64_t length,
                     ReadDone done) {
  files_->Read(file, offset, length,
               [self = shared_from_this(), done = std::move(done)](
                   absl::StatusOr<absl::Span<const iovec>> got) {
                 done(std::move(got));
                 self->Fill();
               });
}

void ReadAhead::Close(EntryId file) {
  if (files_->Close(file)) Fill();
}

void ReadAhead::Fill() {
  Pieces pieces;
  {
    MutexLock lock(mu_);
    Plan(pieces);
  }
  if (!pieces.empty()) files_->Fetch(std::move(pieces));
}

}  // namespace shufflefs
