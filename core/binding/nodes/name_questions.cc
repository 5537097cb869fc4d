// SPDX-License-Identifier: Apache-2.0
// What SharedNames asks other nodes, and what it answers them.
#include <map>
#include <utility>

#include "core/binding/nodes/shared_names.h"

namespace shufflefs {

SharedNames::Question SharedNames::QuestionTo(const EpochShare& share,
                                              uint32_t member,
                                              NamePurpose purpose) {
  Question question;
  question.owner = share.members[member];
  question.binding = share.binding;
  question.purpose = purpose;
  // A node that shares no epoch has no name in it.
  if (share.self < share.members.size()) {
    question.asker = share.members[share.self];
  }
  return question;
}

SharedNames::Question SharedNames::QuestionFor(const EpochShare& share,
                                               const SharedName& name) {
  const uint32_t binder = passed_.BinderOf(name);
  if (binder == share.self) return Loan(share, name.name);
  const bool is_passed = binder != name.owner;
  Question question = QuestionTo(
      share, binder, is_passed ? NamePurpose::kPassed : NamePurpose::kBind);
  question.names = {name.name.value()};
  if (!is_passed && passed_.Want(name)) question.wanted = 1;
  return question;
}

// All have as many samples as names together, so one of the others has one.
SharedNames::Question SharedNames::Loan(const EpochShare& share,
                                        SampleId name) {
  const uint32_t lender =
      loans_.NextLender(name.value(), share.members, share.self, silent_);
  Question question = QuestionTo(share, lender, NamePurpose::kLend);
  question.names = {name.value()};
  return question;
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
    const std::shared_ptr<const EpochShare> share = share_.Get();
    if (share == nullptr) return;
    generation = generation_;
    for (const SampleId name : names) {
      const SharedName named = share->Named(name);
      const std::string& member = share->members[named.owner];
      if (named.owner == share->self ||
          passed_.BinderOf(named) != named.owner ||
          sample_of_.contains(name.value()) || silent_.IsAway(member) ||
          silent_.IsApart(member) ||
          !asking_.try_emplace(name.value(), false).second) {
        continue;
      }
      Question& question =
          questions
              .try_emplace(named.owner,
                           QuestionTo(*share, named.owner, NamePurpose::kAhead))
              .first->second;
      question.names.push_back(name.value());
      if (passed_.Want(named)) {  // those come first
        std::swap(question.names[question.wanted++], question.names.back());
      }
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
  const bool is_current = generation == generation_;
  silent_.Heard(question.owner, samples.status(), sent, is_current);
  if (!is_current) return;
  changed_.SignalAll();
  const bool is_away = silent_.AwayFor(question.owner) >= kWithin;
  const bool complete =
      samples.ok() && samples->size() == question.names.size();
  for (size_t i = 0; i < question.names.size(); ++i) {
    const uint64_t name = question.names[i];
    if (i < question.wanted) {
      passed_.EndWant(share_.Get()->Named(SampleId(name)));
    }
    const auto asking = asking_.find(name);
    const bool waits = asking != asking_.end() && asking->second;
    asking_.erase(name);
    if (sample_of_.contains(name)) continue;
    const Said said =
        complete ? TakeAnswer(question, name, (*samples)[i]) : Said::kNothing;
    const bool is_last =
        is_away || (samples.ok() && question.purpose != NamePurpose::kAhead);
    // Else whoever waits asks again, or finds what it shows here.
    const bool is_loan = question.purpose == NamePurpose::kLend;
    if (GivesUp(question, name, said, is_last) && (waits || is_loan)) {
      ShowOwn(SampleId(name));
    }
  }
}

bool SharedNames::GivesUp(const Question& question, uint64_t name, Said said,
                          bool is_last) {
  const bool is_ahead = question.purpose == NamePurpose::kAhead;
  const bool is_loan = question.purpose == NamePurpose::kLend;
  if (said == Said::kSample) {
    if (is_ahead) ahead_.insert(name);
    if (!is_ahead) ++shown_;
    return false;
  }
  if (said == Said::kElsewhere) {
    ask_now_.insert(name);
    return false;
  }
  if (said == Said::kNotYet || (is_loan && silent_.IsApart(question.owner))) {
    // Another node may lend a sample, but for those of other epochs.
    const size_t others = share_.Get()->members.size() - 1;  // at least one
    if (is_loan && !loans_.WasRound(others)) ask_now_.insert(name);
    const GroupId group = parts_.grouping->group_of(SampleId(name));
    return !is_ahead && loans_.Refused(name, group, is_loan, kWithin);
  }
  return is_last;
}

SharedNames::Said SharedNames::TakeAnswer(const Question& question,
                                          uint64_t name, uint64_t answer) {
  if (answer == kNotYet) return Said::kNotYet;
  if (answer >= kBoundBy) {
    const std::shared_ptr<const EpochShare> share = share_.Get();
    const uint64_t binder = answer - kBoundBy;
    const SharedName named = share->Named(SampleId(name));
    // Only the owner says who binds its name.
    if (!passed_.active() || binder >= share->members.size() ||
        binder == named.owner ||
        share->members[named.owner] != question.owner ||
        question.purpose == NamePurpose::kLend) {
      return Said::kNothing;
    }
    if (binder == share->self) {
      passed_.Took(named);
    } else {
      passed_.Learn(named, static_cast<uint32_t>(binder));
    }
    return Said::kElsewhere;
  }
  const Grouping& grouping = *parts_.grouping;
  const GroupId group = grouping.group_of(SampleId(name));
  if (answer >= grouping.sample_count() ||
      grouping.group_of(SampleId(answer)) != group) {
    return Said::kNothing;
  }
  if (question.purpose == NamePurpose::kLend) {
    passed_.NoteBorrowed(SampleId(name));
    loans_.Lent(group);
  }
  Remember({name, answer});
  return Said::kSample;
}

absl::StatusOr<std::vector<uint64_t>> SharedNames::BindForOthers(
    const Question& question) {
  std::vector<uint64_t> samples;
  std::vector<Question> loans;
  uint64_t generation = 0;
  {
    MutexLock lock(mu_);
    const std::shared_ptr<const EpochShare> share = share_.Get();
    if (share == nullptr || share->binding != question.binding) {
      return absl::FailedPreconditionError("another binding");
    }
    generation = generation_;
    const uint32_t asker = share->IndexOf(question.asker);
    const size_t wanted = asker < share->members.size() ? question.wanted : 0;
    for (size_t i = 0; i < question.names.size(); ++i) {
      const uint64_t name = question.names[i];
      absl::optional<uint64_t> answer;
      if (name < parts_.grouping->sample_count()) {
        answer = AnswerTo(question, *share, share->Named(SampleId(name)),
                          i < wanted ? asker : absl::optional<uint32_t>());
      }
      if (!answer) {
        return absl::NotFoundError("not one of the names of this node");
      }
      samples.push_back(*answer);
      if (*answer == kNotYet && question.purpose != NamePurpose::kAhead &&
          question.purpose != NamePurpose::kLend && share->members.size() > 1 &&
          asking_.try_emplace(name, false).second) {
        loans.push_back(Loan(*share, SampleId(name)));
      }
    }
  }
  for (Question& loan : loans) Send(std::move(loan), generation);
  return samples;
}

absl::optional<uint64_t> SharedNames::AnswerTo(const Question& question,
                                               const EpochShare& share,
                                               const SharedName& name,
                                               absl::optional<uint32_t> taker) {
  if (question.purpose == NamePurpose::kLend) return Lend(share, name);
  if (question.purpose == NamePurpose::kPassed) {
    if (!passed_.active() || name.owner == share.self) return absl::nullopt;
    passed_.Took(name);
  } else if (name.owner != share.self) {
    return absl::nullopt;
  }
  const auto known = sample_of_.find(name.name.value());
  if (known != sample_of_.end()) {
    bound_ = true;
    return known->second;
  }
  const bool is_ahead = question.purpose == NamePurpose::kAhead;
  if (taker && passed_.Pass(name, *taker)) bound_ = true;
  const uint32_t binder = passed_.BinderOf(name);
  if (binder != share.self) return kBoundBy + binder;
  if (is_ahead && !IsReady(name)) return kNotYet;
  const absl::optional<SampleId> place = passed_.TakePlace(name);
  if (!place) {
    const GroupId group = parts_.grouping->group_of(name.name);
    if (is_ahead || !loans_.GaveUp(group)) return kNotYet;
    return ShowOwn(name.name).value();
  }
  bound_ = true;
  return parts_.own->Bind(*place).value();
}

absl::optional<uint64_t> SharedNames::Lend(const EpochShare& share,
                                           const SharedName& name) {
  if (!passed_.active()) return absl::nullopt;
  const auto known = sample_of_.find(name.name.value());
  if (known != sample_of_.end()) return known->second;
  const absl::optional<SampleId> place = share.self == passed_.BinderOf(name)
                                             ? absl::nullopt
                                             : passed_.TakePlace(name);
  if (!place) return kNotYet;
  bound_ = true;
  passed_.NoteLent(name.name);
  const uint64_t sample = parts_.own->Bind(*place).value();
  Remember({name.name.value(), sample});
  return sample;
}

bool SharedNames::IsReady(const SharedName& name) {
  const absl::optional<SampleId> place = passed_.LikelyPlace(name);
  return place && parts_.own->IsReady(*place);
}

}  // namespace shufflefs
