// SPDX-License-Identifier: Apache-2.0
// Members of one job that read one dataset through each other's memory.
#include "core/peers/peers.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/io/make_reader.h"
#include "core/peers/owners.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/file_bytes.h"
#include "tests/core/io/reader_fixture.h"
#include "tests/core/peers/fake_network.h"

namespace shufflefs {
namespace {

using testing_support::ErrorOf;
using testing_support::FakeNetwork;
using testing_support::RandomBytes;
using testing_support::Results;
using testing_support::ScatteredMemory;
using testing_support::TempTree;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// One daemon, as far as peers are concerned.
struct Node {
  Node(const SourceDir& source, std::shared_ptr<const Catalogue> catalogue,
       FakeNetwork& network, size_t number, uint64_t memory)
      : pool(BufferPool::Make({.bytes = memory})) {
    Peers::Parts parts;
    parts.identity.files = catalogue->file_count();
    parts.make_transport = network.Maker(number);
    parts.source = &source;
    parts.catalogue = std::move(catalogue);
    parts.share = *pool->Open({.name = "peers", .guarantee = memory / 2});
    peers = *Peers::Start(std::move(parts));
    std::unique_ptr<FileReader> made =
        MakeFileReader(source, FileReaderOptions{});
    local = made.get();
    reader = peers->Over(std::move(made));
  }
  // Bytes of the source that it read, for itself and for others.
  uint64_t source_bytes() const {
    return local->stats().bytes + peers->status().source_bytes;
  }

  std::shared_ptr<BufferPool> pool;
  std::unique_ptr<Peers> peers;
  FileReader* local = nullptr;
  std::unique_ptr<FileReader> reader;
};

class PeersTest : public ::testing::Test {
 protected:
  static constexpr size_t kNodes = 4;

  // Files around the sizes at which parts begin and end.
  void WriteFiles(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      static constexpr uint64_t kSizes[] = {
          1, 4096, 100000, kMiB - 1, kMiB, kMiB + 1, 3 * kMiB + 77};
      const std::string name = absl::StrCat("dir", i % 3, "/file", i);
      content_[name] =
          RandomBytes(rng_, i < 7 ? kSizes[i] : 1 + rng_.Bounded(3 * kMiB));
      tree_.File(name, content_[name]);
    }
  }
  void Start(uint64_t memory, size_t nodes = kNodes) {
    if (!network_) network_ = std::make_unique<FakeNetwork>(nodes);
    source_ = std::make_unique<SourceDir>(tree_.Source());
    catalogue_ =
        std::make_shared<const Catalogue>(*Scan(*source_, ScanOptions()));
    for (size_t i = 0; i < nodes; ++i) {
      nodes_.push_back(
          std::make_unique<Node>(*source_, catalogue_, *network_, i, memory));
    }
  }
  // Another daemon takes the place of the node, and scans the source.
  void Restart(size_t number, uint64_t memory) {
    network_->SetJoined(number, false);
    nodes_[number]->reader.reset();
    nodes_[number]->peers->Stop();
    catalogue_ =
        std::make_shared<const Catalogue>(*Scan(*source_, ScanOptions()));
    nodes_[number] =
        std::make_unique<Node>(*source_, catalogue_, *network_, number, memory);
    network_->SetJoined(number, true);
  }
  void TearDown() override {
    for (const auto& node : nodes_) node->reader->Cancel();
    for (const auto& node : nodes_) node->reader.reset();
    for (const auto& node : nodes_) node->peers->Stop();
  }

  FileRead ReadOf(Results& results, int id, const std::string& name,
                  uint64_t offset, uint64_t length) {
    FileRead read = results.Into(
        id, name, std::make_unique<ScatteredMemory>(length, 3, rng_));
    read.offset = offset;
    read.length = length;
    read.expected = catalogue_->attributes(*catalogue_->FindPath(name));
    return read;
  }
  absl::Status ReadWhole(Node& node, const std::string& name) {
    Results results;
    node.reader->SubmitUrgent(
        ReadOf(results, 0, name, 0, content_[name].size()));
    results.Wait(1);
    if (results.status(0).ok()) {
      EXPECT_TRUE(results.memory(0).Content(content_[name].size()) ==
                  content_[name])
          << name;
    }
    return results.status(0);
  }
  void ReadAll(size_t node) {
    for (const auto& [name, content] : content_) {
      EXPECT_EQ(ReadWhole(*nodes_[node], name), absl::OkStatus()) << name;
    }
  }
  uint64_t SourceBytes() const {
    uint64_t bytes = 0;
    for (const auto& node : nodes_) bytes += node->source_bytes();
    return bytes;
  }
  uint64_t AllBytes() const {
    uint64_t bytes = 0;
    for (const auto& [name, content] : content_) bytes += content.size();
    return bytes;
  }

  Rng rng_{RandomKey(20261126)};
  TempTree tree_;
  std::map<std::string, std::string> content_;
  std::unique_ptr<FakeNetwork> network_;
  std::unique_ptr<SourceDir> source_;
  std::shared_ptr<const Catalogue> catalogue_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

// O_DIRECT reads whole blocks, so that the end of a file may count more.
TEST_F(PeersTest, EachByteLeavesTheSourceOnce) {
  WriteFiles(24);
  Start(64 * kMiB);
  for (int pass = 0; pass < 3; ++pass) {
    for (const auto& node : nodes_) {
      for (const auto& [name, content] : content_) {
        ASSERT_EQ(ReadWhole(*node, name), absl::OkStatus()) << name;
      }
    }
  }
  EXPECT_GE(SourceBytes(), AllBytes());
  EXPECT_LE(SourceBytes(), AllBytes() + 24 * 4096);
  EXPECT_GT(network_->requests(), 0u);
  for (const auto& node : nodes_) {
    const PeersStatus status = node->peers->status();
    EXPECT_GT(status.own_source_bytes, 0u);
    EXPECT_LT(status.own_source_bytes, AllBytes());
    EXPECT_GE(status.group_source_bytes, AllBytes());
    EXPECT_LE(status.group_source_bytes, AllBytes() + 24 * 4096);
  }
}

TEST_F(PeersTest, OneReadServesAllWhoAskAtOnce) {
  WriteFiles(12);
  Start(64 * kMiB);
  Results results;
  int id = 0;
  for (const auto& node : nodes_) {
    std::vector<FileRead> reads;
    for (const auto& [name, content] : content_) {
      reads.push_back(ReadOf(results, id++, name, 0, content.size()));
    }
    node->reader->Submit(std::move(reads));
  }
  results.Wait(static_cast<size_t>(id));
  id = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (const auto& [name, content] : content_) {
      EXPECT_EQ(results.status(id), absl::OkStatus());
      EXPECT_EQ(results.memory(id++).Content(content.size()), content);
    }
  }
  EXPECT_LE(SourceBytes(), AllBytes() + 12 * 4096);
}

// Whatever fails, is short of memory or comes and goes, the bytes are right.
TEST_F(PeersTest, RandomReadsWithFaults) {
  WriteFiles(16);
  Start(6 * kMiB);
  network_->FailSome(40);
  std::vector<std::string> names;
  for (const auto& [name, content] : content_) names.push_back(name);
  for (int round = 0; round < 40; ++round) {
    network_->SetJoined(rng_.Bounded(kNodes), rng_.Bounded(3) > 0);
    Results results;
    struct Wanted {
      std::string name;
      uint64_t offset, length;
    };
    std::vector<Wanted> wanted;
    for (int i = 0; i < 40; ++i) {
      const std::string& name = names[rng_.Bounded(names.size())];
      const uint64_t size = content_[name].size();
      const uint64_t offset = rng_.Bounded(size) / 4096 * 4096;
      const uint64_t length = 1 + rng_.Bounded(size - offset);
      wanted.push_back({name, offset, length});
      FileRead read = ReadOf(results, i, name, offset, length);
      FileReader& reader = *nodes_[rng_.Bounded(kNodes)]->reader;
      if (rng_.Bounded(2) == 0) {
        reader.SubmitUrgent(std::move(read));
      } else {
        std::vector<FileRead> list;
        list.push_back(std::move(read));
        reader.Submit(std::move(list));
      }
    }
    results.Wait(wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const Wanted& each = wanted[i];
      const int id = static_cast<int>(i);
      ASSERT_EQ(results.status(id), absl::OkStatus()) << each.name;
      EXPECT_EQ(results.calls(id), 1);
      ASSERT_EQ(results.memory(id).Content(each.length),
                content_[each.name].substr(each.offset, each.length))
          << each.name << " from " << each.offset;
      EXPECT_TRUE(results.memory(id).RestUntouched());
    }
  }
}

TEST_F(PeersTest, AFixedShareIsKeptWhereMemoryDoesNotSuffice) {
  WriteFiles(40);
  Start(AllBytes() / 10);  // four tenths of the dataset in all
  const auto pass = [&] {
    const uint64_t before = SourceBytes();
    size_t i = 0;
    for (const auto& [name, content] : content_) {
      EXPECT_EQ(ReadWhole(*nodes_[i++ % kNodes], name), absl::OkStatus());
    }
    return SourceBytes() - before;
  };
  pass();
  const uint64_t second = pass();
  EXPECT_LT(second, AllBytes() * 3 / 4);
  // What is kept stays.
  EXPECT_NEAR(static_cast<double>(pass()), static_cast<double>(second),
              static_cast<double>(AllBytes()) / 20);
}

TEST_F(PeersTest, AFileThatChangedIsNotGivenFromMemory) {
  WriteFiles(7);
  Start(64 * kMiB);
  for (const auto& node : nodes_) {
    for (const auto& [name, content] : content_) {
      ReadWhole(*node, name).IgnoreError();
    }
  }
  for (const auto& [name, content] : content_) {
    const auto time = std::filesystem::last_write_time(tree_.At(name));
    tree_.File(name, RandomBytes(rng_, content.size()));
    std::filesystem::last_write_time(tree_.At(name), time);
  }
  for (const auto& node : nodes_) {
    for (const auto& [name, content] : content_) {
      EXPECT_EQ(ErrorOf(ReadWhole(*node, name)), ESTALE) << name;
    }
  }
}

// [S-24.1a] With peers every byte that readers get is that of the source,
// whatever happens to a peer.
TEST_F(PeersTest, AMemberThatKnowsALaterStateGetsThatState) {
  WriteFiles(24);
  Start(64 * kMiB, 2);
  ReadAll(0);
  for (auto& [name, content] : content_) {
    const auto time = std::filesystem::last_write_time(tree_.At(name));
    content = RandomBytes(rng_, content.size());
    tree_.File(name, content);
    std::filesystem::last_write_time(tree_.At(name), time);
  }
  Restart(1, 64 * kMiB);
  const uint64_t kept = nodes_[0]->peers->status().kept_bytes;
  ReadAll(1);
  ReadAll(1);
  EXPECT_LT(nodes_[0]->peers->status().kept_bytes, kept / 2);
}

// A member that joins makes the others look once more at what they have.
TEST_F(PeersTest, WhatIsInMemoryIsGivenToAMemberThatJoinsLater) {
  WriteFiles(24);
  Start(64 * kMiB, 2);
  ReadAll(0);
  const uint64_t before = nodes_[0]->source_bytes();
  Restart(1, 64 * kMiB);
  ReadAll(1);
  EXPECT_GT(nodes_[1]->peers->status().bytes_from_peers, 0u);
  EXPECT_EQ(nodes_[0]->source_bytes(), before);
}

// [S-24.1b] A dataset that fits into the memory of all members leaves the
// source once.
TEST_F(PeersTest, WhatOthersOwnByNowMakesRoom) {
  WriteFiles(40);
  network_ = std::make_unique<FakeNetwork>(kNodes);
  network_->Resize(2);
  Start(AllBytes() * 2 / 5);
  const auto pass = [&](size_t nodes) {
    const uint64_t before = SourceBytes();
    size_t i = 0;
    for (const auto& [name, content] : content_) {
      EXPECT_EQ(ReadWhole(*nodes_[i++ % nodes], name), absl::OkStatus());
    }
    return SourceBytes() - before;
  };
  pass(2);
  EXPECT_GT(pass(2), 0u) << "two have not enough memory";
  network_->Resize(kNodes);
  pass(kNodes);
  EXPECT_EQ(pass(kNodes), 0u);
}

TEST_F(PeersTest, AFileThatLostAPermissionIsNotGivenFromMemory) {
  WriteFiles(7);
  Start(64 * kMiB);
  for (const auto& node : nodes_) {
    for (const auto& [name, content] : content_) {
      ReadWhole(*node, name).IgnoreError();
    }
  }
  for (const auto& [name, content] : content_) {
    chmod(tree_.At(name).c_str(), 0400);
  }
  for (const auto& node : nodes_) {
    for (const auto& [name, content] : content_) {
      EXPECT_EQ(ErrorOf(ReadWhole(*node, name)), EACCES) << name;
    }
  }
}

TEST_F(PeersTest, AFileThatIsGoneIsSaidSo) {
  WriteFiles(7);
  Start(64 * kMiB);
  for (const auto& [name, content] : content_) {
    ReadWhole(*nodes_[0], name).IgnoreError();
  }
  const std::string name = content_.begin()->first;
  std::filesystem::remove(tree_.At(name));
  for (const auto& node : nodes_) {
    const absl::Status status = ReadWhole(*node, name);
    EXPECT_EQ(ErrorOf(status), ESTALE);
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(name));
  }
}

TEST_F(PeersTest, MemoryIsGivenBackToViews) {
  WriteFiles(24);
  Start(16 * kMiB, 2);
  // A view that is guaranteed half of it, and wants it.
  auto view = *nodes_[0]->pool->Open(
      {.name = "view", .guarantee = 8 * kMiB, .most = 8 * kMiB});
  for (const auto& [name, content] : content_) {
    ReadWhole(*nodes_[0], name).IgnoreError();
  }
  std::vector<std::unique_ptr<MemoryBlock>> blocks;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (view->used() < 4 * kMiB && std::chrono::steady_clock::now() < end) {
    if (auto block = view->Allocate(64 << 10)) {
      blocks.push_back(std::move(block));
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  EXPECT_GE(view->used(), 4 * kMiB);
  for (const auto& node : nodes_) {
    for (const auto& [name, content] : content_) {
      EXPECT_EQ(ReadWhole(*node, name), absl::OkStatus());
    }
  }
}

TEST_F(PeersTest, CancelEndsAllThatWaits) {
  WriteFiles(24);
  Start(64 * kMiB);
  Results results;
  int id = 0;
  for (int pass = 0; pass < 20; ++pass) {
    std::vector<FileRead> reads;
    for (const auto& [name, content] : content_) {
      reads.push_back(ReadOf(results, id++, name, 0, content.size()));
    }
    nodes_[0]->reader->Submit(std::move(reads));
  }
  nodes_[0]->reader->Cancel();
  results.Wait(static_cast<size_t>(id));
  for (int i = 0; i < id; ++i) {
    EXPECT_EQ(results.calls(i), 1);
    EXPECT_TRUE(results.status(i).ok() || absl::IsCancelled(results.status(i)))
        << results.status(i);
  }
}

// Alone, it is as if there were no peers: nothing is kept.
TEST_F(PeersTest, AloneNothingIsKept) {
  WriteFiles(7);
  Start(64 * kMiB, 1);
  for (const auto& [name, content] : content_) {
    EXPECT_EQ(ReadWhole(*nodes_[0], name), absl::OkStatus());
  }
  EXPECT_EQ(nodes_[0]->peers->status().kept_bytes, 0u);
}

// Whoever is alone by now reads from the source what it wanted to ask for.
TEST_F(PeersTest, AllMembersMayGoWhileRequestsWait) {
  WriteFiles(24);
  Start(64 * kMiB);
  Results results;
  int id = 0;
  std::vector<FileRead> reads;
  for (int pass = 0; pass < 10; ++pass) {
    for (const auto& [name, content] : content_) {
      reads.push_back(ReadOf(results, id++, name, 0, content.size()));
    }
  }
  nodes_[0]->reader->Submit(std::move(reads));
  network_->Resize(0);
  results.Wait(static_cast<size_t>(id));
  id = 0;
  for (int pass = 0; pass < 10; ++pass) {
    for (const auto& [name, content] : content_) {
      ASSERT_EQ(results.status(id), absl::OkStatus());
      ASSERT_EQ(results.memory(id++).Content(content.size()), content);
    }
  }
}

// It answers whether it is there, so it stays a member.
TEST_F(PeersTest, AMemberWhoseSourceHangsIsAskedOnceForAWhile) {
  WriteFiles(40);
  Start(64 * kMiB, /*nodes=*/2);
  network_->Hang(1);
  auto file = content_.begin();
  while (file != content_.end() && network_->requests() == 0) {
    EXPECT_TRUE(ReadWhole(*nodes_[0], file++->first).ok());
  }
  // Parts of one file may be asked for at the same time.
  const uint64_t asked = network_->requests();
  EXPECT_GT(asked, 0u);
  ASSERT_NE(file, content_.end());
  while (file != content_.end()) {
    EXPECT_TRUE(ReadWhole(*nodes_[0], file++->first).ok());
  }
  EXPECT_EQ(network_->requests(), asked);
}

}  // namespace
}  // namespace shufflefs
