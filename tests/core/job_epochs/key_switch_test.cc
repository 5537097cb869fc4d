// SPDX-License-Identifier: Apache-2.0
#include "core/job_epochs/key_switch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/random/random.h"

namespace shufflefs {
namespace {

using Time = KeySwitch::Time;

// Nodes n0, n1, … with one view, and a network that may lose, repeat and
// reorder messages.
class KeySwitchTest : public testing::Test {
 protected:
  struct Node {
    // What sfs-keys and the test see.
    Mutex mu;
    std::string keys ABSL_GUARDED_BY(mu) = "old";
    std::string refuses ABSL_GUARDED_BY(mu);  // why it prepares nothing
    int prepared ABSL_GUARDED_BY(mu) = 0;
    int installed ABSL_GUARDED_BY(mu) = 0;
    std::unique_ptr<KeySwitch> keys_switch;  // last: its thread uses the rest
  };

  void Make(int nodes) {
    for (int i = 0; i < nodes; ++i) {
      names_.insert(Name(i));
      nodes_.push_back(std::make_unique<Node>());
      MakeSwitch(i);
    }
    for (int i = 0; i < nodes; ++i) Group(i, names_);
  }
  // The daemon of the node starts anew.
  void MakeSwitch(int i) {
    Node* const node = nodes_[i].get();
    KeySwitch::Parts parts;
    parts.path = "";
    parts.stream = ++streams_;
    parts.prepare =
        [node](
            const std::string& settings) -> absl::StatusOr<KeySwitch::Install> {
      MutexLock lock(node->mu);
      ++node->prepared;
      if (!node->refuses.empty()) {
        return absl::InvalidArgumentError(node->refuses);
      }
      return KeySwitch::Install([node, settings] {
        MutexLock own(node->mu);
        ++node->installed;
        node->keys = settings;
        return absl::OkStatus();
      });
    };
    parts.send = [this](const std::string& to, EpochMessage message) {
      Send(to, std::move(message));
    };
    parts.wake = [] {};
    node->keys_switch = std::make_unique<KeySwitch>(std::move(parts));
  }
  void Group(int i, std::set<std::string> members) {
    members.erase(Name(i));
    nodes_[i]->keys_switch->SetOthers(Name(i), members);
  }
  void Refuse(int i, const std::string& why) {
    MutexLock lock(nodes_[i]->mu);
    nodes_[i]->refuses = why;
  }
  std::string Keys(int i) {
    MutexLock lock(nodes_[i]->mu);
    return nodes_[i]->keys;
  }
  int Installed(int i) {
    MutexLock lock(nodes_[i]->mu);
    return nodes_[i]->installed;
  }

  int Prepared(int i) {
    MutexLock lock(nodes_[i]->mu);
    return nodes_[i]->prepared;
  }

  // `record`: takes all requests to n2.
  absl::Status Result(int i, int most_turns = 10000,
                      std::vector<EpochMessage>* record = nullptr) {
    for (int turn = 0; turn < most_turns; ++turn) {
      if (auto result = nodes_[i]->keys_switch->TakeResult()) return *result;
      Turn(record);
    }
    return absl::DeadlineExceededError("no result");
  }
  void Turn(std::vector<EpochMessage>* record = nullptr) {
    now_ += step_;
    for (const auto& node : nodes_) node->keys_switch->Tick(now_);
    std::vector<std::pair<std::string, EpochMessage>> due;
    due.swap(network_);
    for (const auto& [to, message] : due) {
      if (record != nullptr && to == Name(2) &&
          message.kind == EpochMessage::Kind::kSwitch) {
        record->push_back(message);
      }
      for (size_t i = 0; i < nodes_.size(); ++i) {
        if (Name(i) == to) nodes_[i]->keys_switch->Hear(message, now_);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // for sfs-keys
  }
  bool InstallIsSent() const {
    for (const auto& [to, message] : network_) {
      if (message.kind == EpochMessage::Kind::kSwitch && message.next == 1) {
        return true;
      }
    }
    return false;
  }
  Time now() const { return now_; }
  static std::string Name(size_t i) { return absl::StrCat("n", i); }

  std::vector<std::unique_ptr<Node>> nodes_;
  Time step_{5};  // of simulated time; a turn takes a millisecond at least
  uint64_t lost_of_256_ = 0;
  uint64_t twice_of_256_ = 0;

 private:
  void Send(const std::string& to, EpochMessage message) {
    if (rng_.Bounded(256) < lost_of_256_) return;
    if (rng_.Bounded(256) < twice_of_256_) network_.emplace_back(to, message);
    const size_t at = rng_.Bounded(network_.size() + 1);
    network_.emplace(network_.begin() + static_cast<int64_t>(at), to,
                     std::move(message));
  }

  std::set<std::string> names_;
  std::vector<std::pair<std::string, EpochMessage>> network_;
  Rng rng_{RandomKey(1)};
  uint64_t streams_ = 0;
  Time now_{1000};
};

TEST_F(KeySwitchTest, AllOthersInstallOnce) {
  Make(3);
  for (int round = 1; round <= 3; ++round) {
    const std::string settings = absl::StrCat("seed = ", round, "\n");
    nodes_[round % 3]->keys_switch->Begin(settings, now());
    ASSERT_TRUE(Result(round % 3).ok());
    for (int i = 0; i < 3; ++i) {
      // The node on which it was written installs by itself.
      EXPECT_EQ(Keys(i) == settings, i != round % 3) << i;
    }
  }
  EXPECT_EQ(Installed(0) + Installed(1) + Installed(2), 6);
}

TEST_F(KeySwitchTest, IfOneCannotNoneDoes) {
  Make(4);
  Refuse(2, "no tier here");
  nodes_[0]->keys_switch->Begin("policy = \"met\"\n", now());
  const absl::Status refused = Result(0);
  EXPECT_EQ(refused.message(), "peers: n2: no tier here");
  for (int turn = 0; turn < 50; ++turn) Turn();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Keys(i), "old");
  Refuse(2, "");
  nodes_[0]->keys_switch->Begin("policy = \"lirs\"\n", now());
  EXPECT_TRUE(Result(0).ok());
  for (int i = 1; i < 4; ++i) EXPECT_EQ(Installed(i), 1);
}

TEST_F(KeySwitchTest, MessagesMayBeLostRepeatedAndReordered) {
  Make(4);
  lost_of_256_ = twice_of_256_ = 64;
  for (int round = 1; round <= 10; ++round) {
    const std::string settings = absl::StrCat("seed = ", round, "\n");
    nodes_[0]->keys_switch->Begin(settings, now());
    ASSERT_TRUE(Result(0).ok()) << round;
    for (int i = 1; i < 4; ++i) {
      EXPECT_EQ(Keys(i), settings) << i;
      EXPECT_EQ(Installed(i), round) << i;
    }
  }
}

// Whoever recorded a request can send it again.
TEST_F(KeySwitchTest, AnOldRequestBringsNoOldKeysBack) {
  Make(3);
  std::vector<EpochMessage> recorded;
  nodes_[0]->keys_switch->Begin("seed = 1\n", now());
  ASSERT_TRUE(Result(0, 10000, &recorded).ok());
  nodes_[1]->keys_switch->Begin("seed = 2\n", now());
  ASSERT_TRUE(Result(1).ok());
  ASSERT_EQ(Keys(2), "seed = 2\n");
  ASSERT_GE(recorded.size(), 2u);  // to prepare, and to install
  for (const EpochMessage& message : recorded) {
    nodes_[2]->keys_switch->Hear(message, now());
    for (int turn = 0; turn < 50; ++turn) Turn();
  }
  EXPECT_EQ(Keys(2), "seed = 2\n");
  EXPECT_EQ(Prepared(2), 2);
}

// It was held up on its way until another member wrote keys.
TEST_F(KeySwitchTest, ALateRequestDoesNotUndoWhatAnotherPrepared) {
  Make(3);
  std::vector<EpochMessage> recorded;
  nodes_[0]->keys_switch->Begin("seed = 1\n", now());
  ASSERT_TRUE(Result(0, 10000, &recorded).ok());
  nodes_[1]->keys_switch->Begin("seed = 2\n", now());
  for (int turn = 0; turn < 2000 && !InstallIsSent(); ++turn) Turn();
  ASSERT_TRUE(InstallIsSent());
  nodes_[2]->keys_switch->Hear(recorded.front(), now());
  ASSERT_TRUE(Result(1).ok());
  for (int turn = 0; turn < 50; ++turn) Turn();
  EXPECT_EQ(Keys(2), "seed = 2\n");
}

TEST_F(KeySwitchTest, WhoIsAloneWaitsForNobody) {
  Make(2);
  Group(0, {"n0"});
  nodes_[0]->keys_switch->Begin("seed = 1\n", now());
  EXPECT_TRUE(Result(0, 1).ok());
  EXPECT_EQ(Keys(1), "old");
}

TEST_F(KeySwitchTest, WhoDoesNotAnswerIsNamed) {
  Make(3);
  step_ = Time(500);
  lost_of_256_ = 256;
  nodes_[0]->keys_switch->Begin("seed = 1\n", now());
  const absl::Status late = Result(0);
  EXPECT_EQ(late.message(), "peers: n1 did not answer");
  lost_of_256_ = 0;
  for (int turn = 0; turn < 50; ++turn) Turn();
  EXPECT_EQ(Keys(1), "old");
  EXPECT_EQ(Keys(2), "old");
}

// It catches up when it is back.
TEST_F(KeySwitchTest, WhoGoesAwayIsNotWaitedFor) {
  Make(3);
  lost_of_256_ = 256;
  nodes_[0]->keys_switch->Begin("seed = 1\n", now());
  Turn();
  Group(0, {"n0", "n1"});
  lost_of_256_ = 0;
  EXPECT_TRUE(Result(0).ok());
  EXPECT_EQ(Keys(1), "seed = 1\n");
  EXPECT_EQ(Keys(2), "old");
}

// Its status says that its keys are others.
TEST_F(KeySwitchTest, AMemberThatRestartsBetweenTheStepsInstallsNothing) {
  Make(2);
  nodes_[0]->keys_switch->Begin("seed = 1\n", now());
  for (int turn = 0; turn < 2000 && !InstallIsSent(); ++turn) Turn();
  ASSERT_TRUE(InstallIsSent());
  MakeSwitch(1);
  Group(1, {"n0", "n1"});
  EXPECT_TRUE(Result(0).ok());
  EXPECT_EQ(Installed(1), 0);
}

TEST_F(KeySwitchTest, StrangersAndLongTextsAreRefused) {
  Make(2);
  EpochMessage stranger;
  stranger.kind = EpochMessage::Kind::kSwitch;
  stranger.from = "n9";
  stranger.reason = "seed = 9\n";
  nodes_[1]->keys_switch->Hear(stranger, now());
  for (int turn = 0; turn < 50; ++turn) Turn();
  EXPECT_EQ(Keys(1), "old");
  nodes_[0]->keys_switch->Begin(std::string(kMostEpochText + 1, 'x'), now());
  EXPECT_FALSE(Result(0).ok());
}

}  // namespace
}  // namespace shufflefs
