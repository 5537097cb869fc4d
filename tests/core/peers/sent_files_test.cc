// SPDX-License-Identifier: Apache-2.0
// The owner of a name sends the sample's files with its answer. The asker reads
// them without another request.
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/io/make_reader.h"
#include "core/peers/peers.h"
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

constexpr uint64_t kSentMiB = uint64_t{1} << 20;
constexpr uint64_t kBytes = 100000;  // of a file
constexpr uint64_t kSentFiles = 40;
constexpr uint64_t kBinding = 9;

// The first member asks. The second owns all names, which show the sample of
// their number: the file of this number.
class SentFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (uint64_t i = 0; i < kSentFiles; ++i) {
      content_.push_back(RandomBytes(rng_, kBytes + i));
      tree_.File(NameOf(i), content_.back());
    }
    now_ = content_;
    source_ = std::make_unique<SourceDir>(tree_.Source());
    catalogue_ =
        std::make_shared<const Catalogue>(*Scan(*source_, ScanOptions()));
    asker_ = Join(0);
    owner_ = Join(1);
    reader_ = asker_->Over(MakeFileReader(*source_, FileReaderOptions{}));
    asker_->BeginEpoch("v", kBinding);
    FillOwner();
  }
  // The owner reads what it holds, so it knows these files.
  void FillOwner() {
    const auto reader =
        owner_->Over(MakeFileReader(*source_, FileReaderOptions{}));
    for (uint64_t i = 0; i < kSentFiles; ++i) {
      EXPECT_EQ(ReadBy(*reader, i, 0, kBytes), absl::OkStatus());
    }
  }
  void TearDown() override {
    reader_->Cancel();
    reader_.reset();
    asker_->Stop();
    owner_->Stop();
  }
  static std::string NameOf(uint64_t sample) {
    return absl::StrCat("file", sample);
  }

  std::vector<uint64_t> Ask(const std::vector<uint64_t>& names,
                            uint64_t binding = kBinding) {
    auto answer =
        std::make_shared<std::promise<absl::StatusOr<std::vector<uint64_t>>>>();
    asker_->AskNames(asker_->group(), 1,
                     {.view = "v", .binding = binding, .names = names},
                     std::chrono::seconds(20),
                     [answer](absl::StatusOr<std::vector<uint64_t>> samples) {
                       answer->set_value(std::move(samples));
                     });
    const auto samples = answer->get_future().get();
    return samples.ok() ? *samples : std::vector<uint64_t>();
  }
  absl::Status Read(uint64_t sample, uint64_t offset, uint64_t length) {
    return ReadBy(*reader_, sample, offset, length);
  }
  absl::Status ReadBy(FileReader& reader, uint64_t sample, uint64_t offset,
                      uint64_t length) {
    Results results;
    FileRead read = results.Into(
        0, NameOf(sample), std::make_unique<ScatteredMemory>(length, 3, rng_));
    read.offset = offset;
    read.length = length;
    read.expected =
        catalogue_->attributes(*catalogue_->FindPath(NameOf(sample)));
    reader.SubmitUrgent(std::move(read));
    results.Wait(1);
    if (results.status(0).ok()) {
      EXPECT_EQ(results.memory(0).Content(length),
                now_[sample].substr(offset, length));
    }
    return results.status(0);
  }
  absl::Status Read(uint64_t sample) {
    return Read(sample, 0, content_[sample].size());
  }
  // The thread that answered a read lets go of the bytes a moment later.
  bool KeepsNothing() const {
    for (int i = 0; i < 1000; ++i) {
      if (asker_->status().kept_bytes == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  uint64_t ByteRequests() const { return asker_->status().byte_requests; }
  uint64_t SentAhead() const { return asker_->status().reads_sent_ahead; }

  Rng rng_{RandomKey(20261128)};
  TempTree tree_;
  std::vector<std::string> content_;  // as the owner has it in memory
  std::vector<std::string> now_;      // of the source
  std::unique_ptr<SourceDir> source_;
  std::shared_ptr<const Catalogue> catalogue_;
  FakeNetwork network_{2};
  std::unique_ptr<Peers> asker_;
  std::unique_ptr<Peers> owner_;
  std::unique_ptr<FileReader> reader_;
  uint64_t held_from_ = 0;   // samples from here on are in the owner's memory
  uint64_t cut_ = 0;         // bytes that the owner leaves out
  uint64_t shifted_by_ = 0;  // what the owner says instead of its samples
  std::atomic<uint64_t> most_sent_{0};
  bool lends_ = true;  // the owner keeps what it gives until it was sent
  PeerService* services_[2] = {};

  // Another daemon takes its place, and scans the source.
  void RestartAsker() {
    reader_.reset();
    asker_->Stop();
    asker_.reset();
    catalogue_ =
        std::make_shared<const Catalogue>(*Scan(*source_, ScanOptions()));
    asker_ = Join(0);
    reader_ = asker_->Over(MakeFileReader(*source_, FileReaderOptions{}));
  }

 private:
  std::unique_ptr<Peers> Join(size_t member) {
    Peers::Parts parts;
    parts.make_transport = [this, member](PeerTransportParts made) {
      services_[member] = made.service;
      return network_.Maker(member)(std::move(made));
    };
    parts.source = source_.get();
    parts.catalogue = catalogue_;
    parts.share = *pool_->Open(
        {.name = absl::StrCat("peers", member), .guarantee = kSentMiB});
    parts.holder = [member](EntryId) {
      return PeerHolder{"node1:7373", member == 1};
    };
    parts.read_held = [this](EntryId file, uint64_t offset, uint64_t length,
                             const Peers::ExtentDone& done) {
      PeerBytes bytes = BytesOf(file, offset, length);
      const auto text = bytes.owner;  // until `done` returns
      if (!lends_) bytes.owner = nullptr;
      done(std::move(bytes));
      return true;
    };
    parts.bind = [this](const NameQuestion& question) {
      std::vector<uint64_t> samples = question.names;
      for (uint64_t& sample : samples) sample += shifted_by_;
      return samples;
    };
    parts.samples.files = [this](const std::string& view, uint64_t sample) {
      std::vector<EntryId> files;
      if (view == "v" && sample < kSentFiles) {
        files.push_back(*catalogue_->FindPath(NameOf(sample)));
      }
      return files;
    };
    parts.samples.take = [this](const std::string&, uint64_t sample,
                                uint64_t most) -> absl::optional<PeerBytes> {
      sample -= shifted_by_;
      const uint64_t length = content_[sample].size();
      if (sample < held_from_ || length > most) return absl::nullopt;
      most_sent_ = std::max(most_sent_.load(), length);
      return BytesOf(*catalogue_->FindPath(NameOf(sample)), 0, length - cut_);
    };
    return *Peers::Start(std::move(parts));
  }
  PeerBytes BytesOf(EntryId file, uint64_t offset, uint64_t length) {
    for (uint64_t i = 0; i < kSentFiles; ++i) {
      if (*catalogue_->FindPath(NameOf(i)) != file) continue;
      auto text =
          std::make_shared<std::string>(content_[i].substr(offset, length));
      return {{{text->data(), text->size()}}, text};
    }
    return {};
  }

  const std::shared_ptr<BufferPool> pool_ =
      BufferPool::Make({.bytes = 4 * kSentMiB});
};

TEST_F(SentFilesTest, AreReadWithoutAnotherRequest) {
  for (uint64_t i = 0; i < kSentFiles; ++i) {
    EXPECT_EQ(Ask({i}), std::vector<uint64_t>{i});
    EXPECT_EQ(Read(i, 0, 40960), absl::OkStatus());
    EXPECT_EQ(Read(i, 40960, content_[i].size() - 40960), absl::OkStatus());
  }
  const PeersStatus status = asker_->status();
  EXPECT_EQ(status.byte_requests, 0u);
  EXPECT_EQ(status.name_requests, kSentFiles);
  EXPECT_EQ(status.reads_sent_ahead, 2 * kSentFiles);
  EXPECT_EQ(status.reads_from_peers, 2 * kSentFiles);
  EXPECT_EQ(status.own_source_bytes, 0u);
  EXPECT_TRUE(KeepsNothing());  // all were read
  // Read again, they are requested.
  EXPECT_EQ(Read(3), absl::OkStatus());
  EXPECT_EQ(ByteRequests(), 1u);
}

TEST_F(SentFilesTest, WhatIsNotInMemoryIsRequested) {
  held_from_ = 5;
  EXPECT_EQ(Ask({4, 5}), (std::vector<uint64_t>{4, 5}));
  EXPECT_EQ(Read(4), absl::OkStatus());
  EXPECT_EQ(ByteRequests(), 1u);
  EXPECT_EQ(Read(5), absl::OkStatus());
  EXPECT_EQ(ByteRequests(), 1u);
}

// More than the share is neither asked for nor kept.
TEST_F(SentFilesTest, NeverTakeMoreMemoryThanTheShare) {
  for (uint64_t i = 0; i + 4 < kSentFiles; i += 4) {
    EXPECT_EQ(Ask({i, i + 1, i + 2, i + 3}).size(), 4u);
    EXPECT_LE(asker_->status().kept_bytes, kSentMiB);
  }
  EXPECT_GT(asker_->status().kept_bytes, kSentMiB * 3 / 4);
  for (uint64_t i = 0; i < kSentFiles; ++i)
    EXPECT_EQ(Read(i), absl::OkStatus());
  EXPECT_EQ(ByteRequests() + SentAhead(), kSentFiles);
  EXPECT_GE(SentAhead(), 8u);
  EXPECT_TRUE(KeepsNothing());
}

TEST_F(SentFilesTest, GoWithTheirEpoch) {
  Ask({0, 1, 2});
  EXPECT_EQ(Read(0), absl::OkStatus());
  EXPECT_GT(asker_->status().kept_bytes, 0u);
  asker_->BeginEpoch("other", 7);
  EXPECT_GT(asker_->status().kept_bytes, 0u);
  asker_->BeginEpoch("v", kBinding + 1);
  EXPECT_TRUE(KeepsNothing());
  // An answer that comes late is for nobody.
  Ask({3});
  EXPECT_TRUE(KeepsNothing());
  Ask({3}, kBinding + 1);
  EXPECT_GT(asker_->status().kept_bytes, 0u);
  EXPECT_EQ(Read(1), absl::OkStatus());
  EXPECT_EQ(ByteRequests(), 1u);
}

TEST_F(SentFilesTest, OfAChangedFileAreGivenToNobody) {
  Ask({0});
  const auto time = std::filesystem::last_write_time(tree_.At(NameOf(0)));
  tree_.File(NameOf(0), RandomBytes(rng_, content_[0].size()));
  std::filesystem::last_write_time(tree_.At(NameOf(0)), time);
  EXPECT_EQ(ErrorOf(Read(0)), ESTALE);
  Ask({1});
  chmod(tree_.At(NameOf(1)).c_str(), 0400);
  EXPECT_EQ(ErrorOf(Read(1)), EACCES);
  EXPECT_EQ(SentAhead(), 2u);
}

// It has the same size and mtime, and the owner still has the earlier state.
TEST_F(SentFilesTest, OfAnEarlierStateReachNoMemberThatKnowsALaterOne) {
  for (uint64_t i = 0; i < kSentFiles; i += 2) {
    const auto time = std::filesystem::last_write_time(tree_.At(NameOf(i)));
    now_[i] = RandomBytes(rng_, now_[i].size());
    tree_.File(NameOf(i), now_[i]);
    std::filesystem::last_write_time(tree_.At(NameOf(i)), time);
  }
  RestartAsker();
  for (int pass = 0; pass < 3; ++pass) {
    asker_->BeginEpoch("v", kBinding);
    for (uint64_t i = 0; i < kSentFiles; ++i) {
      if (pass > 0) Ask({i});
      EXPECT_EQ(Read(i), absl::OkStatus());
    }
  }
  // Those that did not change are sent once the owner has looked at them.
  EXPECT_EQ(SentAhead(), kSentFiles);
  EXPECT_EQ(asker_->status().reads_from_peers, kSentFiles * 3 / 2);
}

// What members do not take yet counts as memory of the owner.
TEST_F(SentFilesTest, ThatAreOnTheirWayTakeNoMoreMemoryThanTheShare) {
  lends_ = false;
  std::vector<PeerBytes> on_way;
  uint64_t refused = 0;
  for (uint64_t i = 0; i < 64; ++i) {
    const uint64_t sample = i % kSentFiles;
    const FileAttributes file =
        catalogue_->attributes(*catalogue_->FindPath(NameOf(sample)));
    services_[1]->ReadExtent(
        {NameOf(sample), file.size, file.mtime_ns, 0, kBytes},
        [&](absl::StatusOr<PeerBytes> bytes) {
          refused += absl::IsNotFound(bytes.status()) ? 1 : 0;
          if (bytes.ok()) on_way.push_back(*std::move(bytes));
        });
  }
  EXPECT_GE(on_way.size(), 8u);
  EXPECT_EQ(on_way.size() + refused, 64u);
  EXPECT_GE(owner_->status().kept_bytes, on_way.size() * kBytes);
  EXPECT_LE(owner_->status().kept_bytes, 4 * kSentMiB);
  EXPECT_EQ(*static_cast<const char*>(on_way[3].pieces[0].iov_base),
            content_[3][0]);
  on_way.clear();
  EXPECT_EQ(owner_->status().kept_bytes, 0u);
}

// Each answer may be a lie.
TEST_F(SentFilesTest, ThatDoNotFitAreNotKept) {
  cut_ = 1;
  Ask({0});
  EXPECT_TRUE(KeepsNothing());
  cut_ = 0;
  for (const uint64_t by : {kSentFiles, ~uint64_t{0} - kSentFiles}) {
    shifted_by_ = by;
    EXPECT_EQ(Ask({1, 2}), (std::vector<uint64_t>{1 + by, 2 + by}));
    EXPECT_TRUE(KeepsNothing());
  }
  shifted_by_ = 0;
  EXPECT_EQ(Read(0), absl::OkStatus());
  EXPECT_EQ(ByteRequests(), 1u);
}

TEST_F(SentFilesTest, MayBeLostOnTheWay) {
  network_.FailSome(100);
  for (int pass = 0; pass < 3; ++pass) {
    asker_->BeginEpoch("v", kBinding);
    for (uint64_t i = 0; i < kSentFiles; ++i) {
      Ask({i});
      EXPECT_EQ(Read(i), absl::OkStatus());
    }
  }
  EXPECT_GT(SentAhead(), kSentFiles / 2);
  EXPECT_TRUE(KeepsNothing());
  network_.FailSome(0);
  // What was reserved for lost answers is free again.
  for (uint64_t i = 0; i < 8; ++i) Ask({i});
  EXPECT_GT(asker_->status().kept_bytes, 7 * kBytes);
}

}  // namespace
}  // namespace shufflefs
