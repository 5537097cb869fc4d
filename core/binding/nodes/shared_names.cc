// SPDX-License-Identifier: Apache-2.0
#include "core/binding/nodes/shared_names.h"

#include <algorithm>
#include <utility>

#include "core/base/log.h"

namespace shufflefs {
namespace {

// From one question about a name to the next, if the answer was none.
constexpr std::chrono::milliseconds kRetry{2};
constexpr std::chrono::milliseconds kLook{100};

}  // namespace

SharedNames::SharedNames(Parts parts)
    : parts_(std::move(parts)),
      chunks_hash_(HashOfChunks(parts_.own->chunks())) {
  parts_.own->TakeShare({});  // until the nodes have agreed
}

std::shared_ptr<const EpochShare> SharedNames::MakeShare(
    const NameSharing& sharing) const {
  return EpochShare::Make({.grouping = parts_.grouping,
                           .chunks = &parts_.own->chunks(),
                           .dataset_key = parts_.dataset_key,
                           .passes = parts_.locality > 0},
                          sharing, share_.Get().get());
}

PassedNames SharedNames::NewPassedNames(const EpochShare& share) const {
  return PassedNames({.grouping = parts_.grouping,
                      .nodes = share.nodes,
                      .own_counts = share.own_counts,
                      .self = share.self,
                      .binding = share.binding,
                      .locality = parts_.locality,
                      .is_bound = [own = parts_.own](SampleId place) {
                        return own->Bound(place).has_value();
                      }});
}

void SharedNames::BeginEpoch(Seed seed, Epoch epoch, const NameSharing& sharing,
                             absl::Span<const NameBinding> bound) {
  MutexLock lock(mu_);
  std::shared_ptr<const EpochShare> share = MakeShare(sharing);
  ++generation_;
  sample_of_.clear();
  name_of_.clear();
  asking_.clear();
  ahead_.clear();
  silent_.BeginEpoch();
  waits_since_.reset();
  bound_ = false;
  resumed_ = share == nullptr && !bound.empty();
  loans_.BeginEpoch();
  ask_now_.clear();
  guessed_.clear();
  passed_ = share == nullptr ? PassedNames() : NewPassedNames(*share);
  const std::vector<NameBinding> own = TakeBound(share.get(), bound);
  // First: what the pool fetches is of its own.
  share_.Set(share);
  if (share != nullptr) {
    if (parts_.begins) parts_.begins(share->binding);
    TakeShareOf(*share);
    parts_.own->BeginEpoch(seed, epoch, own);
  }
  changed_.SignalAll();
}

std::vector<NameBinding> SharedNames::TakeBound(
    const EpochShare* share, absl::Span<const NameBinding> bound) {
  std::vector<NameBinding> own;
  for (const bool passed : {false, true}) {  // the last take what is left
    for (const NameBinding& pair : bound) {
      const SharedName name =
          share == nullptr ? SharedName{SampleId(pair.name), SampleId(0), 0}
                           : share->Named(SampleId(pair.name));
      if ((share == nullptr || name.owner != share->self) != passed) continue;
      const bool is_own =
          share != nullptr &&
          share->nodes->OwnerOf(SampleId(pair.sample)) == share->self;
      // Else the pool would have more names than samples, or fewer.
      const absl::optional<SampleId> place =
          is_own ? passed_.Adopt(name) : absl::nullopt;
      if (place) {
        own.push_back({place->value(), pair.sample});
      } else {
        Remember(pair);
      }
    }
  }
  return own;
}

void SharedNames::TakeShareOf(const EpochShare& share) {
  if (share.members == pool_members_ && share.self == pool_self_) return;
  pool_members_ = share.members;
  pool_self_ = share.self;
  parts_.own->TakeShare(share.OwnChunks(parts_.own->chunks()));
}

void SharedNames::NoteEarlierRun() {
  MutexLock lock(mu_);
  const std::shared_ptr<const EpochShare> share = share_.Get();
  if (share == nullptr) return;
  uint64_t bound = 0;
  for (uint64_t s = 0; s < parts_.grouping->sample_count(); ++s) {
    bound += parts_.own->Bound(SampleId(s)) ? 1 : 0;
  }
  repeated_.NoteUnknown(share->nodes->CountOf(share->self) - bound);
}

absl::optional<SampleId> SharedNames::BindAtOnce(SampleId name) {
  MutexLock lock(mu_);
  const absl::optional<SampleId> sample = BindHere(name);
  if (sample) bound_ = true;
  return sample;
}

SampleId SharedNames::Bind(SampleId name) {
  if (const auto sample = BindAtOnce(name)) return *sample;
  if (parts_.waits) parts_.waits();
  absl::optional<Clock::time_point> asked;
  for (;;) {
    Question question;
    uint64_t generation = 0;
    {
      MutexLock lock(mu_);
      if (const absl::optional<SampleId> sample = BindHere(name)) {
        bound_ = true;
        return *sample;
      }
      const std::shared_ptr<const EpochShare> share = share_.Get();
      const auto asking = asking_.find(name.value());
      if (asking != asking_.end()) asking->second = true;
      const bool waits = share == nullptr || asking != asking_.end();
      if (!waits) {
        const uint32_t binder = passed_.BinderOf(share->Named(name));
        const bool is_alone =
            binder == share->self && share->members.size() == 1;
        if (is_alone || silent_.IsApartFor(share->members[binder], kToRejoin)) {
          return ShowOwn(name);
        }
      }
      const bool pauses = asked && Clock::now() - *asked < kRetry &&
                          ask_now_.erase(name.value()) == 0;
      if (waits || pauses) {
        WaitAWhile();
        continue;  // the epoch may be another one now
      }
      question = QuestionFor(*share, share->Named(name));
      asking_[name.value()] = true;
      generation = generation_;
    }
    asked = Clock::now();
    Send(std::move(question), generation);
  }
}

bool SharedNames::is_fresh() const {
  MutexLock lock(mu_);
  return !bound_ && sample_of_.empty();
}

absl::optional<SampleId> SharedNames::BindHere(SampleId name) {
  const auto known = sample_of_.find(name.value());
  if (known != sample_of_.end()) {
    shown_ += ahead_.erase(name.value());
    return SampleId(known->second);
  }
  const std::shared_ptr<const EpochShare> share = share_.Get();
  if (share == nullptr) {
    const Clock::time_point now = Clock::now();
    if (!waits_since_) waits_since_ = now;
    if (now - *waits_since_ < (resumed_ ? kToRejoin : kToAgree)) {
      return absl::nullopt;
    }
    if (resumed_) return ShowOwn(name);
    Remember({name.value(), name.value()});
    return name;
  }
  const SharedName named = share->Named(name);
  if (passed_.BinderOf(named) != share->self) return absl::nullopt;
  const absl::optional<SampleId> place = passed_.TakePlace(named);
  if (!place) return absl::nullopt;
  if (!parts_.own->Bound(*place)) ++shown_;
  return parts_.own->Bind(*place);
}

void SharedNames::WaitAWhile() {
  // Without an agreement, its end is signalled.
  changed_.WaitFor(mu_, share_.Get() != nullptr ? kRetry : kLook);
}

SampleId SharedNames::ShowOwn(SampleId name) {
  if (repeated_.NoteShownOwn()) {
    Log(LogLevel::kWarning,
        "peers: the owner of a name does not answer, so the name shows its own "
        "sample; samples may come twice, and others may be missing");
  }
  guessed_.insert(name.value());
  Remember({name.value(), name.value()});
  return name;
}

void SharedNames::Remember(const NameBinding& pair) {
  sample_of_[pair.name] = pair.sample;
  name_of_[pair.sample] = pair.name;
}

std::vector<NameBinding> SharedNames::KnownPairs() const {
  std::vector<NameBinding> pairs;
  for (uint64_t name = 0; name < parts_.grouping->sample_count(); ++name) {
    const absl::optional<SampleId> sample = Bound(SampleId(name));
    if (sample) pairs.push_back({name, sample->value()});
  }
  return pairs;
}

std::vector<NameBinding> SharedNames::KnownOf(const std::string& member) const {
  MutexLock lock(mu_);
  std::vector<NameBinding> pairs;
  const std::shared_ptr<const EpochShare> share = share_.Get();
  if (share == nullptr) return pairs;
  const auto concerns = [&](uint32_t owner) {
    return owner < share->members.size() && share->members[owner] == member;
  };
  for (const auto& [name, sample] : sample_of_) {
    const uint32_t owner = share->Named(SampleId(name)).owner;
    const uint32_t holder = share->nodes->OwnerOf(SampleId(sample));
    // Not what it shows because the owner did not answer.
    const bool passed = passed_.active() && !guessed_.contains(name);
    if ((concerns(owner) && owner == holder) ||
        (passed && (concerns(owner) || concerns(holder)))) {
      pairs.push_back({name, sample});
    }
  }
  // Those that it passed to this node. It must not bind them.
  passed_.ForEachPlace([&](SampleId name, SampleId place) {
    if (concerns(share->Named(name).owner)) {
      pairs.push_back({name.value(), parts_.own->Bind(place).value()});
    }
  });
  return pairs;
}

absl::optional<SharedNames::Holder> SharedNames::HolderOf(
    SampleId sample) const {
  const std::shared_ptr<const EpochShare> share = share_.Get();
  if (share == nullptr || !parts_.own->Holds(sample)) return absl::nullopt;
  const uint32_t owner = share->nodes->OwnerOf(sample);
  return Holder{share->members[owner], owner == share->self};
}

absl::optional<SampleId> SharedNames::Bound(SampleId name) const {
  MutexLock lock(mu_);
  const auto known = sample_of_.find(name.value());
  if (known != sample_of_.end()) return SampleId(known->second);
  const std::shared_ptr<const EpochShare> share = share_.Get();
  if (share == nullptr) return absl::nullopt;
  const SharedName named = share->Named(name);
  if (passed_.BinderOf(named) != share->self) return absl::nullopt;
  const absl::optional<SampleId> place = passed_.PlaceOf(named);
  return place ? parts_.own->Bound(*place) : absl::nullopt;
}

absl::optional<SampleId> SharedNames::NameOf(SampleId sample) const {
  MutexLock lock(mu_);
  const auto known = name_of_.find(sample.value());
  if (known != name_of_.end()) return SampleId(known->second);
  const std::shared_ptr<const EpochShare> share = share_.Get();
  if (share == nullptr || share->nodes->OwnerOf(sample) != share->self) {
    return absl::nullopt;
  }
  const absl::optional<SampleId> place = parts_.own->NameOf(sample);
  if (!place) return absl::nullopt;
  const absl::optional<SampleId> passed = passed_.NameAt(*place);
  return passed ? *passed : share->NameOfPartner(*place);
}

std::string SharedNames::Warning() const {
  MutexLock lock(mu_);
  return repeated_.Warning();
}

}  // namespace shufflefs
