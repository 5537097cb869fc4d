// SPDX-License-Identifier: Apache-2.0
// A job on several nodes in simulated time: members and leads, a network that
// delays, loses and repeats messages, and ranks that read as DistributedSampler
// does.
#ifndef SHUFFLEFS_TESTS_CORE_JOB_EPOCHS_SIMULATED_JOB_H_
#define SHUFFLEFS_TESTS_CORE_JOB_EPOCHS_SIMULATED_JOB_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/epoch/epoch_group.h"
#include "core/job_epochs/epoch_lead.h"
#include "core/job_epochs/epoch_member.h"
#include "core/policy/retained_bindings.h"
#include "core/random/random.h"

namespace shufflefs::testing_support {

// A view of `names` names, each epoch of which has an order of its own.
class FakeView : public GroupedView {
 public:
  explicit FakeView(uint64_t names) : names_(names) { Bind(0, {}); }

  bool IsGrouped() const override { return true; }
  OpenTracker::Options GroupOptions() const override { return {}; }
  State GroupState() const override {
    State state = state_;
    state.fresh = opened.empty();
    return state;
  }
  std::vector<Pair> OpenedHere() const override {
    std::vector<Pair> pairs;
    for (const uint64_t name : opened) pairs.push_back({name, Shown(name)});
    return pairs;
  }
  std::vector<Pair> CloseEpoch() override {
    closed = true;
    return {};
  }
  void ReopenEpoch() override { closed = false; }
  void BeginEpoch(const Next& next) override {
    std::vector<Pair> retained;
    const bool goes_on = next.epoch == state_.epoch;
    for (const uint64_t name : next.retained) {
      retained.push_back({name, Shown(name)});
    }
    TakeMembers(next.members);
    Bind(next.epoch, std::move(retained));
    state_.epoch = next.epoch;
    bound += goes_on ? 0 : 1;
    closed = false;
    opened = {next.opened.begin(), next.opened.end()};
  }
  std::vector<Pair> KnownOf(const std::string& member) const override {
    if (members.empty()) return {};
    return {{member.size(), 1}};
  }
  Retained RetainedNow() const override { return {pairs_, members}; }
  void AdoptEpoch(const State& state, const Retained& retained) override {
    TakeMembers(retained.members);
    told = retained.told.size();
    told_all = retained.told_all;
    Bind(state.shown, retained.pairs);
    state_.epoch = state.epoch;
    ++adopted;
    closed = false;
    opened.clear();
  }
  void HoldEpoch(const Next& next) override {
    state_.epoch = next.epoch;
    ++held;
    why = next.reason;
    closed = false;
    opened = {next.opened.begin(), next.opened.end()};
  }
  void ShowWalks() override { ++walks; }

  uint64_t Shown(uint64_t name) const {
    return retained_.Shown(name, [&](uint64_t at) { return order_[at]; });
  }
  uint64_t binding() const { return state_.binding; }
  // Other keys than those of the other nodes, which give other orders.
  void SetKeys(uint64_t keys) {
    state_.keys = state_.wanted = keys;
    Bind(state_.shown, {});
  }

  // The view binds names on demand, and does not know who shares them.
  void ForgetMembers() {
    state_.names = Names::kOwn;
    members.clear();
    Bind(state_.shown, {});
  }

  std::vector<std::string> members;  // that share the names
  uint64_t told = 0;                 // pairs, when it adopted an epoch
  bool told_all = false;
  bool closed = false;
  uint64_t bound = 0;
  uint64_t held = 0;
  uint64_t adopted = 0;
  uint64_t walks = 0;
  std::string why;
  std::set<uint64_t> opened;  // names, in this epoch

 private:
  void TakeMembers(const std::vector<std::string>& now) {
    if (state_.names == Names::kPlanned) return;
    members = now;
    state_.names = now.empty() ? Names::kOwn : Names::kShared;
  }
  void Bind(uint64_t epoch, std::vector<Pair> retained) {
    order_.resize(names_);
    std::iota(order_.begin(), order_.end(), uint64_t{0});
    Rng rng(RandomKey(epoch + 1));
    const bool shuffles = state_.names != Names::kOwn;
    for (uint64_t i = names_; shuffles && i > 1; --i) {
      std::swap(order_[i - 1], order_[rng.Bounded(i)]);
    }
    std::sort(retained.begin(), retained.end(),
              [](const Pair& a, const Pair& b) { return a.name < b.name; });
    std::vector<NameBinding> pairs;
    uint64_t hash = epoch + 1 + state_.keys;
    for (const std::string& member : members) {
      for (const char c : member) hash = hash * 31 + static_cast<uint8_t>(c);
    }
    for (const Pair& pair : retained) {
      pairs.push_back({pair.name, pair.sample});
      hash = hash * 1099511628211u + pair.name * 31 + pair.sample;
    }
    retained_ = *RetainedBindings::Make(std::move(pairs));
    state_.shown = epoch;
    state_.binding = hash;
    pairs_ = std::move(retained);
  }

  const uint64_t names_;
  State state_;
  std::vector<Pair> pairs_;  // retained
  std::vector<uint64_t> order_;
  RetainedBindings retained_;
};

struct JobShape {
  uint64_t nodes = 4;
  uint64_t names = 1000;
  uint64_t batch = 8;        // of a node
  uint64_t ahead = 2;        // batches that a node may be before the slowest
  uint64_t pause = 8;        // ms between reads of a node, on average
  bool drop_last = false;    // of batches
  bool fixed_order = false;  // in all passes
  uint64_t epochs = 8;
  uint64_t delay = 3;        // of a message, at most, in ms
  uint64_t lost_of_256 = 0;  // messages
  uint64_t twice_of_256 = 0;
  uint64_t seed = 1;
};

class SimulatedJob {
 public:
  using Time = EpochMember::Time;

  explicit SimulatedJob(const JobShape& shape)
      : shape_(shape), rng_(RandomKey(shape.seed)) {
    for (uint64_t i = 0; i < shape_.nodes; ++i) {
      nodes_.push_back(std::make_unique<Node>(shape_.names));
      part_.push_back(0);
      StartMember(i);
    }
    Regroup();
  }

  // One pass of the job. Returns how many samples no node showed. Calls
  // `each_ms` in every millisecond of it.
  uint64_t Pass(uint64_t epoch, const std::function<void()>& each_ms = {}) {
    const std::vector<std::vector<uint64_t>> shares = Shares(epoch);
    std::vector<uint64_t> at(shape_.nodes);
    shown_.assign(shape_.names, 0);
    uint64_t opened = 0;
    const auto done = [&] {
      for (uint64_t i = 0; i < shape_.nodes; ++i) {
        if (at[i] < shares[i].size()) return false;
      }
      return true;
    };
    for (uint64_t spent = 0; !done() && spent < 100000; ++spent) {
      const uint64_t slowest = *std::min_element(at.begin(), at.end());
      for (uint64_t i = 0; i < shape_.nodes; ++i) {
        if (rng_.Bounded(shape_.pause) != 0) continue;
        uint64_t burst = rng_.Bounded(2 * shape_.batch);
        while (burst-- > 0 && at[i] < shares[i].size() &&
               at[i] < slowest + shape_.ahead * shape_.batch &&
               !nodes_[i]->view.closed) {
          Open(i, shares[i][at[i]++]);
          ++opened;
        }
      }
      if (each_ms) each_ms();
      Step();
    }
    if (!done()) return shape_.names;
    // A rank begins the next pass when it has heard that the others are done.
    Wait(shape_.delay + 1);
    std::set<uint64_t> names;
    for (const auto& share : shares) names.insert(share.begin(), share.end());
    uint64_t missing = 0;
    uint64_t samples = 0;
    for (const uint64_t times : shown_) samples += times > 0 ? 1 : 0;
    missing = names.size() - std::min<uint64_t>(samples, names.size());
    return missing;
  }

  // Reads `names` names on one node, from name `first` on.
  void ReadAlone(uint64_t node, uint64_t names, uint64_t first = 0) {
    shown_.resize(shape_.names);
    for (uint64_t i = 0; i < names; ++i) Open(node, first + i);
  }
  // Lets so many ms pass without opens.
  void Wait(uint64_t ms) {
    for (uint64_t i = 0; i < ms; ++i) Step();
  }
  // Out of the group, a node is alone.
  void SetJoined(uint64_t node, bool joined) {
    Cut(node, joined ? 0 : node + 1);
    Regroup();
  }
  // From now on the network takes messages within each part of it only. Nodes
  // do not know that before Regroup.
  void Cut(uint64_t node, uint64_t part) { part_[node] = part; }
  // The daemon of `node` is killed. Its view comes back as it was.
  void Restart(uint64_t node) {
    nodes_[node]->lead = nullptr;
    nodes_[node]->view.closed = false;
    told_ += nodes_[node]->member->doubtful();
    StartMember(node);
    Regroup();
  }
  void Signal(uint64_t node, uint64_t epoch) {
    nodes_[node]->member->Signal(epoch, now_);
  }
  FakeView& view(uint64_t node) { return nodes_[node]->view; }
  EpochMember& member(uint64_t node) { return *nodes_[node]->member; }
  // How many samples all runs of all nodes say they may have shown twice.
  uint64_t Told() const {
    uint64_t told = told_;
    for (const auto& node : nodes_) told += node->member->doubtful();
    return told;
  }
  // Returns whether all nodes of a part show the same.
  bool Agree(uint64_t part = 0) const {
    std::set<std::pair<uint64_t, uint64_t>> states;
    for (uint64_t i = 0; i < shape_.nodes; ++i) {
      const GroupedView::State state = nodes_[i]->view.GroupState();
      if (part_[i] == part) states.insert({state.epoch, state.binding});
    }
    return states.size() <= 1;
  }
  // Each node sees who is in its part.
  void Regroup() {
    for (uint64_t i = 0; i < shape_.nodes; ++i) Look(i);
  }
  // The node sees who is in its part. The first of them leads it.
  void Look(uint64_t node) {
    std::vector<std::string> names;
    std::vector<std::string> absent;
    std::string lead;
    for (uint64_t i = 0; i < shape_.nodes; ++i) {
      names.push_back(NameOf(i));
      if (part_[i] != part_[node]) absent.push_back(NameOf(i));
      if (part_[i] == part_[node] && lead.empty()) lead = NameOf(i);
    }
    SetGroup(node, lead, names, absent);
  }

 private:
  struct Node {
    explicit Node(uint64_t names) : view(names) {}
    FakeView view;
    std::unique_ptr<EpochMember> member;
    std::unique_ptr<EpochLead> lead;
  };
  struct Sent {
    uint64_t to = 0;
    uint64_t from = 0;
    EpochMessage message;
  };

  static std::string NameOf(uint64_t node) { return absl::StrCat("n", node); }

  void StartMember(uint64_t i) {
    EpochMember::Parts parts;
    parts.stream = ++streams_;
    parts.view = &nodes_[i]->view;
    parts.send = [this, i](const std::string& to, const EpochMessage& message) {
      Send(i, to, message);
    };
    parts.take_opens = [] { return std::vector<EpochOpen>(); };
    nodes_[i]->member = std::make_unique<EpochMember>(std::move(parts));
  }

  void SetGroup(uint64_t i, const std::string& lead,
                const std::vector<std::string>& names,
                const std::vector<std::string>& absent) {
    Node& node = *nodes_[i];
    const std::string self = NameOf(i);
    node.member->SetLead(lead, self);
    if (lead != self) {
      if (node.lead != nullptr) node.lead->Stop();
      node.lead = nullptr;
      return;
    }
    if (node.lead == nullptr) {
      EpochLead::Parts parts;
      parts.self = self;
      parts.now = now_;
      parts.detector.names = shape_.names;
      parts.detector.pad = static_cast<uint32_t>(8 * shape_.nodes);
      parts.send = [this, i](const std::string& to,
                             const EpochMessage& message) {
        Send(i, to, message);
      };
      node.lead = std::make_unique<EpochLead>(std::move(parts));
    }
    node.lead->SetMembers(names, absent);
  }

  std::vector<std::vector<uint64_t>> Shares(uint64_t epoch) {
    std::vector<uint64_t> order(shape_.names);
    std::iota(order.begin(), order.end(), uint64_t{0});
    Rng rng(RandomKey(shape_.seed * 1000 + (shape_.fixed_order ? 0 : epoch)));
    for (uint64_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[rng.Bounded(i)]);
    }
    while (order.size() % shape_.nodes != 0) {
      order.push_back(order[order.size() - shape_.names]);
    }
    std::vector<std::vector<uint64_t>> shares(shape_.nodes);
    for (uint64_t i = 0; i < order.size(); ++i) {
      shares[i % shape_.nodes].push_back(order[i]);
    }
    if (shape_.drop_last) {
      for (auto& share : shares) {
        share.resize(share.size() / shape_.batch * shape_.batch);
      }
    }
    return shares;
  }

  void Open(uint64_t node, uint64_t name) {
    ++shown_[nodes_[node]->view.Shown(name)];
    nodes_[node]->view.opened.insert(name);
    nodes_[node]->member->Add(
        {EpochOpen{.name = name,
                   .reader = static_cast<uint32_t>(node * 10 + 1 + name % 2)}});
  }

  void Send(uint64_t from, const std::string& to, const EpochMessage& message) {
    uint64_t index = 0;
    while (NameOf(index) != to) ++index;
    if (part_[from] != part_[index]) return;
    const bool lost = from != index && rng_.Bounded(256) < shape_.lost_of_256;
    if (lost) return;
    const uint64_t delay = from == index ? 0 : rng_.Bounded(shape_.delay + 1);
    network_[now_.count() + static_cast<int64_t>(delay)].push_back(
        {index, from, message});
    if (rng_.Bounded(256) < shape_.twice_of_256) {
      network_[now_.count() + 50].push_back({index, from, message});
    }
  }

  void Step() {
    for (const auto& node : nodes_) {
      node->member->Tick(now_);
      if (node->lead != nullptr) node->lead->Tick(now_);
    }
    while (!network_.empty() && network_.begin()->first <= now_.count()) {
      std::deque<Sent>& due = network_.begin()->second;
      if (due.empty()) {
        network_.erase(network_.begin());
        continue;
      }
      const Sent sent = std::move(due.front());
      due.pop_front();
      Node& node = *nodes_[sent.to];
      if (node.lead != nullptr) node.lead->Hear(sent.message, now_);
      node.member->Hear(sent.message, now_);
    }
    now_ += Time(1);
  }

  const JobShape shape_;
  Rng rng_;
  Time now_{1000};
  uint64_t streams_ = 0;
  uint64_t told_ = 0;  // by runs that were killed
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<uint64_t> part_;  // of the network, by node
  std::map<int64_t, std::deque<Sent>> network_;
  std::vector<uint64_t> shown_;  // by sample: times in this pass
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_JOB_EPOCHS_SIMULATED_JOB_H_
