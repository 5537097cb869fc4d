// SPDX-License-Identifier: Apache-2.0
#include "core/binding/shared_names.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"

namespace shufflefs {
namespace {

// Before an owner that shows another binding is asked again.
constexpr std::chrono::milliseconds kRetry{5};
constexpr std::chrono::milliseconds kLook{100};
// How often an owner that has shown another epoch for long is asked again.
constexpr std::chrono::milliseconds kAskAgain{1000};

}  // namespace

SharedNames::SharedNames(Parts parts)
    : parts_(std::move(parts)),
      chunks_hash_(HashOfChunks(parts_.own->chunks())) {
  parts_.own->TakeShare({});  // until the nodes have agreed
}

SampleId SharedNames::PartnerOf(const Share& share, SampleId name) {
  return SampleId(share.known.Shown(name.value(), [&](uint64_t n) {
    return share.nodes->PartnerOf(SampleId(n)).value();
  }));
}

SampleId SharedNames::NameOfPartner(const Share& share, SampleId partner) {
  return SampleId(share.known.NameOf(partner.value(), [&](uint64_t s) {
    return share.nodes->NameOf(SampleId(s)).value();
  }));
}

uint32_t SharedNames::OwnerOfName(const Share& share, SampleId name) {
  return share.nodes->OwnerOf(PartnerOf(share, name));
}

std::shared_ptr<const SharedNames::Share> SharedNames::MakeShare(
    const NameSharing& sharing) {
  const std::vector<std::string>& members = sharing.members;
  absl::StatusOr<CarriedNames> known = CarriedNames::Make(sharing.known);
  if (members.empty() || members.size() > NodeShares::kMostNodes ||
      !known.ok()) {
    return nullptr;
  }
  auto share = std::make_shared<Share>();
  share->members = members;
  share->self = static_cast<uint32_t>(
      std::find(members.begin(), members.end(), sharing.self) -
      members.begin());
  share->binding = sharing.binding;
  const std::shared_ptr<const Share> before = share_.Get();
  share->nodes =
      before != nullptr && before->members.size() == members.size()
          ? before->nodes
          : std::make_shared<const NodeShares>(
                *parts_.grouping, parts_.own->chunks(), parts_.dataset_key,
                static_cast<uint32_t>(members.size()));
  share->known = *std::move(known);
  return share;
}

void SharedNames::BeginEpoch(Seed seed, Epoch epoch, const NameSharing& sharing,
                             absl::Span<const CarriedPair> bound) {
  MutexLock lock(mu_);
  std::shared_ptr<const Share> share = MakeShare(sharing);
  ++generation_;
  sample_of_.clear();
  name_of_.clear();
  asking_.clear();
  ahead_.clear();
  apart_.clear();
  waits_since_.reset();
  bound_ = false;
  resumed_ = share == nullptr && !bound.empty();
  std::vector<CarriedPair> own;
  for (const CarriedPair& pair : bound) {
    // Else the pool would have more names than samples, or fewer.
    if (share != nullptr &&
        share->nodes->OwnerOf(SampleId(pair.sample)) == share->self &&
        OwnerOfName(*share, SampleId(pair.name)) == share->self) {
      own.push_back(
          {PartnerOf(*share, SampleId(pair.name)).value(), pair.sample});
    } else {
      Remember(pair);
    }
  }
  // First: what the pool fetches is of its own.
  share_.Set(share);
  if (share != nullptr) {
    if (parts_.begins) parts_.begins(share->binding);
    TakeShareOf(*share);
    parts_.own->BeginEpoch(seed, epoch, own);
  }
  changed_.SignalAll();
}

void SharedNames::TakeShareOf(const Share& share) {
  if (share.members == pool_members_ && share.self == pool_self_) return;
  pool_members_ = share.members;
  pool_self_ = share.self;
  const NodeShares::Chunks& chunks = parts_.own->chunks();
  std::vector<uint32_t> ours;
  for (uint32_t c = 0; c < chunks.size(); ++c) {
    if (!chunks[c].empty() &&
        share.nodes->OwnerOf(SampleId(chunks[c].front())) == share.self) {
      ours.push_back(c);
    }
  }
  parts_.own->TakeShare(ours);
}

void SharedNames::NoteEarlierRun() {
  MutexLock lock(mu_);
  const std::shared_ptr<const Share> share = share_.Get();
  if (share == nullptr) return;
  uint64_t bound = 0;
  for (uint64_t s = 0; s < parts_.grouping->sample_count(); ++s) {
    bound += parts_.own->Bound(SampleId(s)) ? 1 : 0;
  }
  unknown_ += share->nodes->CountOf(share->self) - bound;
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
  bool asked = false;
  for (;;) {
    std::shared_ptr<const Share> share;
    uint64_t generation = 0;
    {
      MutexLock lock(mu_);
      if (const absl::optional<SampleId> sample = BindHere(name)) {
        bound_ = true;
        return *sample;
      }
      share = share_.Get();
      const auto asking = asking_.find(name.value());
      if (asking != asking_.end()) asking->second = true;
      const bool waits = share == nullptr || asking != asking_.end();
      if (!waits && IsApart(share->members[OwnerOfName(*share, name)])) {
        return ShowOwn(name);
      }
      if (waits || asked) {
        asked = false;
        WaitAWhile();
        continue;  // the epoch may be another one now
      }
      asking_[name.value()] = true;
      generation = generation_;
    }
    asked = true;
    Send({.owner = share->members[OwnerOfName(*share, name)],
          .binding = share->binding,
          .names = {name.value()}},
         generation);
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
  const std::shared_ptr<const Share> share = share_.Get();
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
  const SampleId partner = PartnerOf(*share, name);
  if (share->nodes->OwnerOf(partner) != share->self) return absl::nullopt;
  if (!parts_.own->Bound(partner)) ++shown_;
  return parts_.own->Bind(partner);
}

bool SharedNames::IsApart(const std::string& owner) {
  const auto found = apart_.find(owner);
  const Clock::time_point now = Clock::now();
  if (found == apart_.end() || now - found->second.since < kToRejoin) {
    return false;
  }
  if (now - found->second.asked_again < kAskAgain) return true;
  found->second.asked_again = now;  // by this name
  return false;
}

void SharedNames::WaitAWhile() {
  // Without an agreement, its end is signalled.
  changed_.WaitFor(mu_, share_.Get() != nullptr ? kRetry : kLook);
}

void SharedNames::Send(Question question, uint64_t generation) {
  parts_.ask(question, kWithin,
             [weak = weak_from_this(), question, sent = Clock::now(),
              generation](absl::StatusOr<std::vector<uint64_t>> samples) {
               if (const auto self = weak.lock()) {
                 self->Answered(question, sent, generation, samples);
               }
             });
}

void SharedNames::AskAhead(const std::vector<SampleId>& names) {
  std::map<uint32_t, Question> questions;  // by owner, in a fixed order
  uint64_t generation = 0;
  {
    MutexLock lock(mu_);
    const std::shared_ptr<const Share> share = share_.Get();
    if (share == nullptr) return;
    generation = generation_;
    for (const SampleId name : names) {
      const uint32_t owner = OwnerOfName(*share, name);
      const std::string& member = share->members[owner];
      if (owner == share->self || sample_of_.contains(name.value()) ||
          away_since_.contains(member) || apart_.contains(member) ||
          !asking_.try_emplace(name.value(), false).second) {
        continue;
      }
      Question& question = questions[owner];
      question.owner = member;
      question.binding = share->binding;
      question.ahead = true;
      question.names.push_back(name.value());
    }
  }
  for (auto& [owner, question] : questions) {
    Send(std::move(question), generation);
  }
}

void SharedNames::Answered(
    const Question& question, Clock::time_point sent, uint64_t generation,
    const absl::StatusOr<std::vector<uint64_t>>& samples) {
  MutexLock lock(mu_);
  const bool is_there =
      samples.ok() || absl::IsFailedPrecondition(samples.status());
  const Clock::time_point since =
      away_since_.emplace(question.owner, sent).first->second;
  if (is_there) away_since_.erase(question.owner);
  if (generation != generation_) return;
  if (samples.ok()) {
    apart_.erase(question.owner);
  } else if (is_there) {
    apart_.emplace(question.owner, Apart{sent, sent});
  }
  changed_.SignalAll();
  const bool is_away = !is_there && Clock::now() - since >= kWithin;
  const bool complete =
      samples.ok() && samples->size() == question.names.size();
  for (size_t i = 0; i < question.names.size(); ++i) {
    const uint64_t name = question.names[i];
    const auto asking = asking_.find(name);
    const bool waits = asking != asking_.end() && asking->second;
    asking_.erase(name);
    if (sample_of_.contains(name)) continue;
    if (complete && TakeAnswer(name, (*samples)[i])) {
      if (question.ahead) {
        ahead_.insert(name);
      } else {
        ++shown_;
      }
    } else if (waits && (is_away || (samples.ok() && !question.ahead))) {
      ShowOwn(SampleId(name));
    }  // else whoever waits asks again
  }
}

bool SharedNames::TakeAnswer(uint64_t name, uint64_t sample) {
  const Grouping& grouping = *parts_.grouping;
  if (sample >= grouping.sample_count() ||
      grouping.group_of(SampleId(sample)) !=
          grouping.group_of(SampleId(name))) {
    return false;
  }
  Remember({name, sample});
  return true;
}

SampleId SharedNames::ShowOwn(SampleId name) {
  if (shown_own_++ == 0) {
    Log(LogLevel::kWarning,
        "peers: the owner of a name does not answer, so the name shows its own "
        "sample; samples may come twice, and others may be missing");
  }
  Remember({name.value(), name.value()});
  return name;
}

void SharedNames::Remember(const CarriedPair& pair) {
  sample_of_[pair.name] = pair.sample;
  name_of_[pair.sample] = pair.name;
}

std::vector<CarriedPair> SharedNames::KnownPairs() const {
  std::vector<CarriedPair> pairs;
  for (uint64_t name = 0; name < parts_.grouping->sample_count(); ++name) {
    const absl::optional<SampleId> sample = Bound(SampleId(name));
    if (sample) pairs.push_back({name, sample->value()});
  }
  return pairs;
}

std::vector<CarriedPair> SharedNames::KnownOf(const std::string& member) const {
  MutexLock lock(mu_);
  std::vector<CarriedPair> pairs;
  const std::shared_ptr<const Share> share = share_.Get();
  if (share == nullptr) return pairs;
  for (const auto& [name, sample] : sample_of_) {
    const uint32_t owner = OwnerOfName(*share, SampleId(name));
    // Not what it shows because the owner did not answer.
    if (share->members[owner] == member &&
        share->nodes->OwnerOf(SampleId(sample)) == owner) {
      pairs.push_back({name, sample});
    }
  }
  return pairs;
}

absl::StatusOr<std::vector<uint64_t>> SharedNames::BindForOthers(
    uint64_t binding, const std::vector<uint64_t>& names, bool ahead) {
  MutexLock lock(mu_);
  const std::shared_ptr<const Share> share = share_.Get();
  if (share == nullptr || share->binding != binding) {
    return absl::FailedPreconditionError("another binding");
  }
  std::vector<uint64_t> samples;
  for (const uint64_t name : names) {
    if (name >= parts_.grouping->sample_count() ||
        OwnerOfName(*share, SampleId(name)) != share->self) {
      return absl::NotFoundError("not one of the names of this node");
    }
    const SampleId partner = PartnerOf(*share, SampleId(name));
    const auto known = sample_of_.find(name);
    if (known != sample_of_.end()) {
      samples.push_back(known->second);
    } else if (ahead && !parts_.own->IsReady(partner)) {
      samples.push_back(kNotYet);
      continue;
    } else {
      samples.push_back(parts_.own->Bind(partner).value());
    }
    bound_ = true;
  }
  return samples;
}

absl::optional<SharedNames::Holder> SharedNames::HolderOf(
    SampleId sample) const {
  const std::shared_ptr<const Share> share = share_.Get();
  if (share == nullptr || !parts_.own->Holds(sample)) return absl::nullopt;
  const uint32_t owner = share->nodes->OwnerOf(sample);
  return Holder{share->members[owner], owner == share->self};
}

absl::optional<SampleId> SharedNames::Bound(SampleId name) const {
  MutexLock lock(mu_);
  const auto known = sample_of_.find(name.value());
  if (known != sample_of_.end()) return SampleId(known->second);
  const std::shared_ptr<const Share> share = share_.Get();
  if (share == nullptr) return absl::nullopt;
  const SampleId partner = PartnerOf(*share, name);
  if (share->nodes->OwnerOf(partner) != share->self) return absl::nullopt;
  return parts_.own->Bound(partner);
}

absl::optional<SampleId> SharedNames::NameOf(SampleId sample) const {
  MutexLock lock(mu_);
  const auto known = name_of_.find(sample.value());
  if (known != name_of_.end()) return SampleId(known->second);
  const std::shared_ptr<const Share> share = share_.Get();
  if (share == nullptr || share->nodes->OwnerOf(sample) != share->self) {
    return absl::nullopt;
  }
  const absl::optional<SampleId> partner = parts_.own->NameOf(sample);
  if (!partner) return absl::nullopt;
  return NameOfPartner(*share, *partner);
}

std::string SharedNames::Warning() const {
  MutexLock lock(mu_);
  if (shown_own_ + unknown_ == 0) return "";
  std::string why;
  if (shown_own_ > 0) {
    why = absl::StrCat("the owner of ", shown_own_, " names did not answer");
  }
  if (unknown_ > 0) {
    absl::StrAppend(&why, why.empty() ? "" : ", and ", unknown_,
                    " may have been shown before this node joined the others");
  }
  return absl::StrCat(
      "peers: up to ", shown_own_ + unknown_,
      " samples may come twice, and as many may be missing: ", why);
}

}  // namespace shufflefs
