// SPDX-License-Identifier: Apache-2.0
// One job reads pass after pass. Meanwhile the policy is switched again and
// again at random moments, to policies that move names and to policies that do
// not, and the daemon is killed. Most ends of passes nobody tells. Each pass
// must show every sample once, and a name the same sample for the whole pass.
//
// SHUFFLEFS_MODEL_SEED repeats a run; SHUFFLEFS_MODEL_ROUNDS sets its length.
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/core/view/view_fixture.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::TempTree;
using testing_support::ViewFixture;

uint64_t Environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class SwitchModel {
 public:
  explicit SwitchModel(uint64_t seed)
      : random_(seed),
        fixture_(static_cast<int>(1 + Draw(4)),
                 static_cast<int>(40 + Draw(120))),
        sorted_(Draw(3) == 0),
        walker_(Draw(3) == 0 ? 0 : getpid()) {
    config_ = ViewFixture::Config(AnyPolicy());
    Start(config_, nullptr);
    names_ = fixture_.Files();
    // A sampler that drops its last batch, or not.
    read_ = names_.size() - (Draw(3) == 0 ? Draw(names_.size() / 20) : 0);
  }

  void Pass() {
    // Otherwise names that once do not move never would again.
    if (Draw(3) == 0) Signal();
    if (!sorted_) testing_support::Shuffle(names_, random_);
    std::map<EntryId, EntryId> shown;
    std::set<EntryId> samples;
    for (size_t k = 0; k < read_; ++k) {
      // More than one at a time, now and then.
      for (uint64_t n = Draw(200) == 0 ? 1 + Draw(3) : 0; n > 0; --n) Switch();
      if (Draw(600) == 0) Restart();
      now_ += milliseconds(Draw(300));
      const EntryId name = names_[k];
      shown[name] = Open(name);
      ASSERT_TRUE(samples.insert(shown[name]).second)
          << "a sample comes twice, at open " << k << " under "
          << view_->setup()->config.policy;
    }
    for (const auto& [name, sample] : shown) {
      ASSERT_EQ(view_->binding()->Shown(name), sample)
          << "a name moved under " << view_->setup()->config.policy;
    }
  }

 private:
  uint64_t Draw(uint64_t bound) { return random_() % bound; }
  std::string AnyPolicy() {
    const std::vector<std::string> policies = {
        "lirs", "lirs", "window", "native", "static", "clairvoyant"};
    return policies[Draw(policies.size())];
  }

  EntryId Open(EntryId name) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      const EntryId file = view_->Lookup(name, walker_).shown;
      if (view_->Open(file, getpid(), now_) == View::OpenVerdict::kServe) {
        return file;
      }
    }
    ADD_FAILURE() << "stale twice";
    return name;
  }

  void Switch() {
    ControlRequest request;
    request.config = view_->config();
    request.config.policy = AnyPolicy();
    request.config.seed = Seed(Draw(3));
    request.config_changed = true;
    auto prepared = view_->Prepare(request);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    ASSERT_EQ(view_->Install(*std::move(prepared)), absl::OkStatus());
  }

  void Signal() {
    ControlRequest request;
    request.config = view_->config();
    request.next_epoch = true;
    auto prepared = view_->Prepare(request);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    ASSERT_EQ(view_->Install(*std::move(prepared)), absl::OkStatus());
  }

  // As after kill -9: what was written is known.
  void Restart() {
    const ViewConfig running = view_->setup()->config;
    const ViewConfig wanted = view_->config();
    view_.reset();
    ledger_.reset();
    Start(wanted, fixture_.Setup(running));
  }

  void Start(const ViewConfig& config,
             std::shared_ptr<const ViewSetup> running) {
    auto ledger = Ledger::Open(state_.At("ledger"), {});
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    ledger_ = *std::move(ledger);
    View::Parts parts = fixture_.Parts(config);
    parts.running = std::move(running);
    parts.ledger = ledger_.get();
    view_ = std::make_unique<View>(std::move(parts));
  }

  std::mt19937_64 random_;
  ViewFixture fixture_;
  TempTree state_;
  ViewConfig config_;
  const bool sorted_;
  const int32_t walker_;  // whose lookups they are, or 0 if nobody knows
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<View> view_;
  std::vector<EntryId> names_;
  size_t read_ = 0;  // names a pass
  milliseconds now_{0};
};

TEST(SwitchModelTest, EachPassShowsEverySampleOnce) {
  const uint64_t seed =
      Environment("SHUFFLEFS_MODEL_SEED", std::random_device()());
  const uint64_t rounds = Environment("SHUFFLEFS_MODEL_ROUNDS", 60);
  std::cout << "SHUFFLEFS_MODEL_SEED=" << seed << "\n";
  for (uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("SHUFFLEFS_MODEL_SEED=" + std::to_string(seed) + ", round " +
                 std::to_string(round));
    SwitchModel model(seed + round);
    for (int pass = 0; pass < 12; ++pass) {
      model.Pass();
      if (testing::Test::HasFailure()) FAIL() << "in pass " << pass;
    }
  }
}

}  // namespace
}  // namespace shufflefs
