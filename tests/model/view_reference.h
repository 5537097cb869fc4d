// SPDX-License-Identifier: Apache-2.0
// What a view must do, done naively: full tables of names and samples, a set
// of what was looked up, and the order of events written down.
#ifndef SHUFFLEFS_TESTS_MODEL_VIEW_REFERENCE_H_
#define SHUFFLEFS_TESTS_MODEL_VIEW_REFERENCE_H_

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/view/view.h"
#include "gmock/gmock.h"
#include "policies/registry.h"

namespace shufflefs::testing_support {

// The bijection of one epoch as a table by file: shown[name] = sample.
class NaiveBinding {
 public:
  // Made of the policy's orders alone, without Plan, Binding or
  // RetainedBindings.
  NaiveBinding(const Dataset& dataset, const ViewConfig& config, Epoch epoch,
               const std::vector<NameBinding>& retained, bool identity)
      : shown_(dataset.catalogue().entry_count()) {
    std::iota(shown_.begin(), shown_.end(), 0);
    const std::string name = identity ? "native" : config.policy;
    auto policy = MakePolicy(name, config.policy_options);
    EXPECT_TRUE(policy.ok()) << policy.status();
    const Grouping& grouping = dataset.grouping();
    for (uint32_t g = 0; g < grouping.group_count(); ++g) {
      AddGroup(dataset, GroupId(g), **policy, config.seed, epoch, retained);
    }
  }

  EntryId Shown(EntryId name) const { return EntryId(shown_[name.value()]); }
  const std::vector<uint32_t>& table() const { return shown_; }

 private:
  void AddGroup(const Dataset& dataset, GroupId id, const Policy& policy,
                Seed seed, Epoch epoch,
                const std::vector<NameBinding>& retained) {
    const Grouping& grouping = dataset.grouping();
    const Grouping::Group group = grouping.group(id);
    Stratum stratum{group.key, group.samples, nullptr};
    if (policy.wants_blocks()) {
      stratum.blocks = &dataset.group_blocks(id, policy.block_bytes());
    }
    const auto order = policy.MakeOrder(stratum, seed, epoch);
    std::vector<uint64_t> samples(group.samples);
    for (uint64_t k = 0; k < group.samples; ++k)
      samples[k] = order->SampleAt(k);
    // A retained name takes its sample from whoever has it, and leaves its own
    // there. Done one after the other this is the first-return map.
    for (const NameBinding& pair : retained) {
      const uint64_t name = pair.name - group.first_sample;
      if (pair.name < group.first_sample || name >= group.samples) continue;
      const uint64_t sample = pair.sample - group.first_sample;
      auto holder = std::find(samples.begin(), samples.end(), sample);
      ASSERT_NE(holder, samples.end()) << "retained out of its group";
      std::iter_swap(samples.begin() + static_cast<ptrdiff_t>(name), holder);
    }
    for (uint32_t k = 0; k < group.samples; ++k) {
      for (uint32_t column = 0; column < group.columns; ++column) {
        shown_[grouping.member(id, k, column).value()] =
            grouping.member(id, static_cast<uint32_t>(samples[k]), column)
                .value();
      }
    }
  }

  std::vector<uint32_t> shown_;
};

// A reader: draws names at random, or reads all of them in passes.
struct ModelReader {
  uint32_t pid = 0;
  bool passes = false;
  std::vector<EntryId> left;  // of its pass
  // It was sent back, has looked this name up again and will open that file.
  absl::optional<std::pair<EntryId, EntryId>> under_way;
  // It has sized this name, which showed that file, and will open it. From
  // then on the view was to tell that many boundaries apart.
  struct Sized {
    EntryId name;
    EntryId file;
    int boundaries = 0;
  };
  absl::optional<Sized> sized;
};

// The state that a view must be in. The test tells it what was done and, at an
// epoch that the view found by itself, which names it says it retained.
class ViewReference {
 public:
  ViewReference(std::shared_ptr<const ViewSetup> setup, bool sees_opens,
                bool waiting)
      : sees_opens_(sees_opens), setup_(std::move(setup)) {
    waiting_ = waiting && setup_->rebinds();
    epoch_ = setup_->config.epoch_start;
    read_ = waiting;  // what was read before belongs to this epoch
    Bind({}, waiting_);
  }

  EntryId Shown(EntryId name) const { return binding_->Shown(name); }
  const NaiveBinding& binding() const { return *binding_; }
  const ViewSetup& setup() const { return *setup_; }
  Epoch epoch() const { return epoch_; }
  // Whether opens are counted.
  bool watching() const { return sees_opens_ && setup_->rebinds(); }
  // Whether names are to show their own samples from a boundary on, for good.
  bool stops_moving() const { return pending_ != nullptr && !Moves(*pending_); }
  bool is_sample(EntryId file) const {
    return setup_->dataset->grouping().place(file).has_value();
  }
  std::string state() const {
    if (waiting_ || pending_ != nullptr) return "waiting";
    return held_ ? "held" : "running";
  }
  // Names that were opened in this epoch or the one before, by whomever: the
  // first opens of an epoch come before its boundary is known.
  std::set<uint64_t> opened() const {
    std::set<uint64_t> both = opened_before_;
    both.insert(opened_.begin(), opened_.end());
    return both;
  }

  // The result of a LOOKUP.
  View::Found OnLookup(EntryId name) {
    looked_ = true;
    if (!setup_->rebinds()) return {name, false};
    const EntryId shown = Shown(name);
    if (!is_sample(shown)) return {shown, false};
    if (watching()) fresh_.insert(SampleOf(shown));
    return {shown, true};
  }

  // A listing binds names from now on.
  void OnListing() {
    looked_ = true;
    listed_ = true;
  }

  // What an OPEN of `file` by thread `pid` is answered with.
  View::OpenVerdict OnOpen(EntryId file, uint32_t pid,
                           std::chrono::milliseconds now) {
    read_ = true;
    if (!watching() || !is_sample(file)) return View::OpenVerdict::kServe;
    const bool unknown = fresh_.insert(SampleOf(file)).second;
    if (pid == 0 && unknown) return View::OpenVerdict::kStale;
    if (pid != 0 && IsDoubted(unknown, pid, now) &&
        doubted_.insert(pid).second) {
      return View::OpenVerdict::kStale;
    }
    doubted_.erase(pid);
    opened_.insert(NameOf(file));
    return View::OpenVerdict::kServe;
  }

  void OnRead() {
    read_ = true;
    ever_read_ = true;
  }

  // The view ended the epoch by itself: it held, or bound its names anew.
  void OnHold(bool suspended) {
    suspended_ = suspended;
    epoch_ = Epoch(epoch_.value() + 1);
    held_ = true;
    NextEpochOpens();
  }
  void OnRebind(const std::vector<NameBinding>& retained, bool suspended) {
    suspended_ = suspended;
    epoch_ = Epoch(epoch_.value() + 1);
    Begin(retained);
    read_ = true;  // by the opens that showed the boundary
  }

  // A control write. Returns whether it is a boundary.
  bool OnInstall(std::shared_ptr<const ViewSetup> setup,
                 absl::optional<Epoch> moved) {
    if (setup != nullptr) pending_ = std::move(setup);
    if (!moved && pending_ == nullptr) return false;
    const bool was_read = !moved && !NothingWasRead();
    if (was_read && !SwitchesInPass()) return false;
    epoch_ = moved.value_or(epoch_);
    Begin({});
    read_ = was_read;
    return true;
  }

  // The open that showed a boundary was sent back.
  void OnRetried(uint32_t pid) {
    if (watching()) doubted_.insert(pid);
  }

  // The daemon died and was started again with the running configuration.
  // Without opens nobody knows whether something had been read.
  // What it had suspected before its last epoch began is `suspended`.
  void OnRestart(std::shared_ptr<const ViewSetup> setup, bool consumed,
                 bool suspended) {
    setup_ = std::move(setup);
    read_ = ever_read_ = consumed || !watching();
    looked_ = false;
    pending_ = nullptr;
    waiting_ = held_ = false;
    suspended_ = suspended;
    Forget();
    doubted_.clear();
    rebound_ = false;
  }

  uint64_t SampleOf(EntryId file) const {
    return setup_->dataset->grouping().sample(file).value();
  }
  // The name that shows `file`, by its number.
  uint64_t NameOf(EntryId file) const {
    const auto& table = binding_->table();
    const auto at = std::find(table.begin(), table.end(), file.value());
    EXPECT_NE(at, table.end()) << "no name shows the sample";
    return SampleOf(EntryId(static_cast<uint32_t>(at - table.begin())));
  }

 private:
  bool IsDoubted(bool unknown, uint32_t pid, std::chrono::milliseconds now) {
    if (!first_open_) first_open_ = now;
    const bool soon = now - *first_open_ <= std::chrono::seconds(1);
    // It came from a walk that may be older than the boundary.
    if (!openers_.contains(pid) && soon) {
      openers_.insert(pid);
      if (listed_) listed_openers_.insert(pid);
      return unknown || rebound_;
    }
    if (!unknown) return false;
    // Or than the listing.
    return !listed_ || listed_openers_.insert(pid).second;
  }

  static bool Moves(const ViewSetup& setup) {
    return setup.dataset->moves() && setup.config.policy != "native";
  }

  // No boundary would ever be found.
  bool SwitchesInPass() const {
    const auto finds = [](const ViewSetup& setup) {
      return setup.config.epoch_advance == Advance::kAuto;
    };
    return finds(*setup_) && finds(*pending_) && !Moves(*setup_) &&
           !Moves(*pending_);
  }

  bool NothingWasRead() const {
    return !read_ && (sees_opens_ || !ever_read_ || !looked_);
  }

  void Begin(const std::vector<NameBinding>& retained) {
    const bool returns =
        stops_moving() &&
        std::any_of(retained.begin(), retained.end(),
                    [](const auto& pair) { return pair.name != pair.sample; });
    if (pending_ != nullptr && !returns) {
      setup_ = std::exchange(pending_, nullptr);
    }
    waiting_ = held_ = false;
    read_ = looked_ = false;
    Forget();
    if (!watching()) doubted_.clear();
    rebound_ = true;
    NextEpochOpens();
    Bind(retained, suspended_ || returns);
  }

  void Forget() {
    fresh_.clear();
    first_open_.reset();
    openers_.clear();
    listed_openers_.clear();
    listed_ = false;
  }

  void NextEpochOpens() {
    opened_before_ = std::move(opened_);
    opened_.clear();
  }

  void Bind(const std::vector<NameBinding>& retained, bool identity) {
    identity |= !Moves(*setup_);
    binding_ = std::make_unique<NaiveBinding>(*setup_->dataset, setup_->config,
                                              epoch_, retained, identity);
  }

  const bool sees_opens_;
  std::shared_ptr<const ViewSetup> setup_;
  std::shared_ptr<const ViewSetup> pending_;
  std::unique_ptr<const NaiveBinding> binding_;
  Epoch epoch_;
  bool waiting_ = false;
  bool held_ = false;
  bool suspended_ = false;
  bool read_ = false;
  bool looked_ = false;
  bool ever_read_ = false;
  std::set<uint64_t> fresh_;  // samples looked up since the boundary
  bool listed_ = false;
  bool rebound_ = false;               // names showed other samples before
  std::set<uint32_t> openers_;         // threads that opened since the boundary
  std::set<uint32_t> listed_openers_;  // since the listing
  std::set<uint32_t> doubted_;         // threads whose last open was sent back
  absl::optional<std::chrono::milliseconds> first_open_;  // since the boundary
  std::set<uint64_t> opened_;                             // names, by number
  std::set<uint64_t> opened_before_;
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_MODEL_VIEW_REFERENCE_H_
