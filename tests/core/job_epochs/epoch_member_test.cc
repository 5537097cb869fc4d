// SPDX-License-Identifier: Apache-2.0
#include "core/job_epochs/epoch_member.h"

#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/job_epochs/simulated_job.h"

namespace shufflefs {
namespace {

using std::chrono::milliseconds;
using testing_support::FakeView;

// A daemon that finds itself in no list of members, for many passes.
TEST(EpochMemberTest, WithoutALeadOpensArePutTogether) {
  constexpr uint64_t kNames = 100;
  FakeView view(kNames);
  std::vector<EpochMessage> sent;
  EpochMember::Parts parts;
  parts.stream = 1;
  parts.view = &view;
  parts.tells_opens = true;
  parts.send = [&](const std::string&, const EpochMessage& message) {
    sent.push_back(message);
  };
  parts.take_opens = [] { return std::vector<EpochOpen>(); };
  EpochMember member(std::move(parts));
  std::vector<EpochOpen> pass;
  for (uint64_t name = 0; name < kNames; ++name) {
    pass.push_back({.name = name, .sample = name});
    view.opened.insert(name);
  }
  milliseconds now(1000);
  for (int i = 0; i < 12000; ++i) {
    member.Add(pass);
    if (i % 100 == 0) member.Tick(now += milliseconds(50));
  }
  EXPECT_TRUE(sent.empty());
  // Once there is a lead, it hears of each name, and of few more than once.
  member.SetLead("lead", "self");
  std::set<uint64_t> told;
  uint64_t opens = 0;
  for (int i = 0; i < 100; ++i) {
    member.Tick(now += milliseconds(500));
    for (const EpochMessage& message : sent) {
      for (const EpochOpen& open : message.opens) told.insert(open.name);
      opens += message.opens.size();
      EpochMessage ack;
      ack.kind = EpochMessage::Kind::kAck;
      ack.stream = 1;
      ack.from = "lead";
      ack.first = message.first + message.opens.size();
      member.Hear(ack, now);
    }
    if (std::exchange(sent, {}).empty()) break;
  }
  EXPECT_EQ(told.size(), kNames);
  EXPECT_LT(opens, 400000u);
}

}  // namespace
}  // namespace shufflefs
