// SPDX-License-Identifier: Apache-2.0
// Plays a stream of opens against the epoch detector and a model of the view:
// ten groups, a keyed permutation per epoch, retained names. Counts what a
// reader would notice, and checks every rebinding.
#ifndef SHUFFLEFS_TESTS_TESTING_EPOCH_MODEL_H_
#define SHUFFLEFS_TESTS_TESTING_EPOCH_MODEL_H_

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/epoch/epoch_detector.h"
#include "core/policy/retained_bindings.h"
#include "core/random/permutation.h"
#include "gtest/gtest.h"
#include "tests/testing/epoch_streams.h"

namespace shufflefs::testing_support {

// Names in groups of equal size. Each group is permuted separately in every
// epoch.
class ModelView {
 public:
  ModelView(uint64_t names, uint64_t groups)
      : names_(names), size_((names + groups - 1) / groups) {
    Begin(0, {});
  }

  uint64_t group(uint64_t name) const { return name / size_; }
  uint64_t Shown(uint64_t name) const {
    return retained_.Shown(name, [this](uint64_t n) { return Pi(n); });
  }
  uint64_t NameOf(uint64_t sample) const {
    return retained_.NameOf(sample, [this](uint64_t s) { return Inverse(s); });
  }

  // Begins an epoch in which the names of `keep` show what they show now.
  void Rebind(const std::vector<uint64_t>& keep) {
    std::vector<NameBinding> pairs;
    for (uint64_t name : keep) pairs.push_back({name, Shown(name)});
    auto retained = RetainedBindings::Make(std::move(pairs));
    ASSERT_TRUE(retained.ok()) << retained.status();
    Begin(epoch_ + 1, *std::move(retained));
  }

  // Checks that every name shows one sample of its group, and that every sample
  // has one name.
  void ExpectBijection() const {
    std::vector<bool> taken(names_, false);
    for (uint64_t name = 0; name < names_; ++name) {
      const uint64_t sample = Shown(name);
      ASSERT_LT(sample, names_);
      ASSERT_EQ(group(sample), group(name));
      ASSERT_FALSE(taken[sample]) << "sample " << sample << " shown twice";
      taken[sample] = true;
      ASSERT_EQ(NameOf(sample), name);
    }
  }

 private:
  void Begin(uint64_t epoch, RetainedBindings retained) {
    epoch_ = epoch;
    retained_ = std::move(retained);
    pi_.clear();
    for (uint64_t first = 0; first < names_; first += size_) {
      pi_.emplace_back(std::min(size_, names_ - first),
                       DeriveKey(Seed(7), Epoch(epoch), first, Purpose::kTest));
    }
  }
  uint64_t Pi(uint64_t name) const {
    return name / size_ * size_ + pi_[name / size_](name % size_);
  }
  uint64_t Inverse(uint64_t sample) const {
    return sample / size_ * size_ + pi_[sample / size_].Inverse(sample % size_);
  }

  const uint64_t names_;
  const uint64_t size_;
  uint64_t epoch_ = 0;
  RetainedBindings retained_;
  std::vector<Permutation> pi_;
};

// See EpochOutcome::retained.
inline uint64_t MostRetained(uint64_t names) {
  return std::clamp<uint64_t>(names / 3 + 16, 16, 8192);
}

struct PlayOptions {
  EpochDetector::Options detector;
  bool check_bijection = true;
  uint64_t delay = 0;  // opens by which every rebinding is delayed
};

// What was observed. `rebinds` excludes the first epoch.
struct Played {
  uint64_t rebinds = 0;
  uint64_t holds = 0;
  uint64_t loss = 0;  // names whose sample another name of the pass had shown
  uint64_t torn = 0;  // second opens of a name that showed another sample
  uint64_t retained = 0;
  std::vector<uint64_t> retained_each;
  std::string verdicts;  // "a@3008 c@4100(partial) …": rule, position, reason
  std::map<HoldReason, uint64_t> reasons;
  // Rebindings by rules a to c with less than 0.9 of the expected names opened.
  uint64_t early = 0;
};

class Player {
 public:
  Player(const Stream& stream, PlayOptions options)
      : stream_(stream),
        options_(options),
        detector_(options.detector),
        view_(options.detector.names, 10) {
    for (size_t i = 0; i < stream.size(); ++i) {
      last_open_[stream[i].family] = i;
    }
  }

  Played Run() {
    for (at_ = 0; at_ < stream_.size(); ++at_) {
      const StreamOpen& open = stream_[at_];
      Show(open);
      const uint64_t expected = detector_.expected();
      const EpochOutcome outcome = detector_.OnOpen(
          {open.name, JobId(open.family), open.reader,
           std::chrono::milliseconds(open.time / 1000)},
          [this](JobId family) { return last_open_[family.value()] >= at_; });
      // The log contains only the owner's opens.
      if (outcome.open != OpenClass::kForeignJob) Note(open.name);
      if (late_) {
        late_->insert(open.name);
        if (++waited_ >= options_.delay) Apply();
      }
      if (outcome.verdict == Verdict::kNone) continue;
      Count(outcome, expected);
      if (outcome.verdict != Verdict::kRebind) continue;
      if (late_) Apply();
      late_.emplace(outcome.retained.begin(), outcome.retained.end());
      waited_ = 0;
      if (options_.delay == 0) Apply();
    }
    return played_;
  }

 private:
  struct PassRecord {
    absl::flat_hash_map<uint64_t, uint64_t> shown;  // name -> sample
    absl::flat_hash_set<uint64_t> samples;
  };

  // Names are looked up before the detector gets the open.
  void Show(const StreamOpen& open) {
    PassRecord& pass = passes_[{open.job, open.pass}];
    const uint64_t sample = view_.Shown(open.name);
    const auto [it, first] = pass.shown.try_emplace(open.name, sample);
    if (first) {
      if (!pass.samples.insert(sample).second) ++played_.loss;
    } else if (it->second != sample) {
      ++played_.torn;
    }
  }

  void Note(uint64_t name) {
    log_.push_back(name);
    if (log_.size() > MostRetained(options_.detector.names)) log_.pop_front();
  }

  void Count(const EpochOutcome& outcome, uint64_t expected) {
    absl::StrAppend(&played_.verdicts, played_.verdicts.empty() ? "" : " ",
                    std::string(1, outcome.rule), "@", at_);
    if (outcome.verdict == Verdict::kHold) {
      ++played_.holds;
      ++played_.reasons[outcome.reason];
      absl::StrAppend(&played_.verdicts, "(", HoldReasonName(outcome.reason),
                      ")");
      EXPECT_TRUE(outcome.retained.empty());
      return;
    }
    ++played_.rebinds;
    played_.retained += outcome.retained.size();
    played_.retained_each.push_back(outcome.retained.size());
    if (outcome.rule != 't' && 10 * outcome.ended_seen < 9 * expected) {
      ++played_.early;
    }
    const absl::flat_hash_set<uint64_t> logged(log_.begin(), log_.end());
    absl::flat_hash_set<uint64_t> retained;
    for (uint64_t name : outcome.retained) {
      EXPECT_TRUE(logged.contains(name)) << name << " is not in the log";
      EXPECT_TRUE(retained.insert(name).second) << name << " comes twice";
    }
    EXPECT_TRUE(retained.contains(stream_[at_].name));
    EXPECT_LE(outcome.retained.size(), MostRetained(options_.detector.names));
  }

  void Apply() {
    view_.Rebind({late_->begin(), late_->end()});
    late_.reset();
    if (options_.check_bijection) view_.ExpectBijection();
  }

  const Stream& stream_;
  const PlayOptions options_;
  EpochDetector detector_;
  ModelView view_;
  size_t at_ = 0;
  absl::flat_hash_map<uint64_t, size_t> last_open_;  // by family
  std::map<std::pair<int, int>, PassRecord> passes_;
  std::deque<uint64_t> log_;
  // A rebinding that waits, with the names opened until then.
  absl::optional<absl::flat_hash_set<uint64_t>> late_;
  uint64_t waited_ = 0;
  Played played_;
};

inline Played Play(const Stream& stream, const PlayOptions& options) {
  return Player(stream, options).Run();
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_TESTING_EPOCH_MODEL_H_
