// SPDX-License-Identifier: Apache-2.0
// A source of random files, a directory for a tier, a plan that a test sets,
// and readers that compare what they get.
#ifndef SHUFFLEFS_TESTS_CORE_STAGING_TIER_TIER_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_STAGING_TIER_TIER_FIXTURE_H_

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "core/io/make_reader.h"
#include "core/staging/stager/tier.h"
#include "core/staging/staging_plan.h"
#include "core/staging/tier/tier_part.h"
#include "gtest/gtest.h"
#include "tests/core/io/faulty_reader.h"
#include "tests/core/staging/pack/packed_source_fixture.h"

namespace shufflefs::testing_support {

// Thread-safe.
class SetPlan : public StagingPlan {
 public:
  void Put(uint64_t set, std::vector<StagedRange> ranges) {
    MutexLock lock(mu_);
    ranges_[set] = std::move(ranges);
  }
  void Want(std::vector<uint64_t> sets) {
    MutexLock lock(mu_);
    wanted_ = std::move(sets);
  }
  std::vector<uint64_t> WantedSets() const override {
    MutexLock lock(mu_);
    return wanted_;
  }
  std::vector<StagedRange> RangesOf(uint64_t set) const override {
    MutexLock lock(mu_);
    const auto found = ranges_.find(set);
    return found == ranges_.end() ? std::vector<StagedRange>() : found->second;
  }
  void SetReady(uint64_t set) override {
    MutexLock lock(mu_);
    ready_.push_back(set);
    changed_.SignalAll();
  }
  // Waits until `set` was reported ready `times` times.
  void WaitReady(uint64_t set, int times = 1) {
    MutexLock lock(mu_);
    while (std::count(ready_.begin(), ready_.end(), set) < times) {
      changed_.Wait(mu_);
    }
  }
  std::vector<uint64_t> ready() const {
    MutexLock lock(mu_);
    return ready_;
  }

 private:
  CondVar changed_;
  mutable Mutex mu_;
  std::map<uint64_t, std::vector<StagedRange>> ranges_ ABSL_GUARDED_BY(mu_);
  std::vector<uint64_t> wanted_ ABSL_GUARDED_BY(mu_);
  std::vector<uint64_t> ready_ ABSL_GUARDED_BY(mu_);
};

class TierFixture : public ::testing::Test {
 protected:
  static constexpr uint64_t kMemory = uint64_t{2} << 20;

  void Source(uint64_t seed, int files) {
    Rng rng{RandomKey(seed)};
    MakeRandomTree(rng, files, tree_);
    Scan();
  }
  void Scan() {
    ScanTree();
    MakeReader();
  }
  // Leaves no thread behind, because a test may fork afterwards.
  void ScanTree() {
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    contents_.clear();
    files_.clear();
    for (const EntryId file : FilesOf(*catalogue_)) {
      contents_[file] = Slurp(tree_.At(catalogue_->path(file)));
      if (!contents_[file].empty()) files_.push_back(file);
    }
    dir_ = std::make_unique<SourceDir>(tree_.Source());
  }
  void MakeReader() {
    FileReaderOptions options;
    options.io_uring = false;
    options.threads = 2;
    reader_ = std::make_unique<FaultyReader>(MakeFileReader(*dir_, options));
  }
  Tier::Options Options() const {
    Tier::Options options;
    options.path = place_.root();
    options.view = "train";
    options.capacity = uint64_t{1} << 30;
    options.memory_bytes = kMemory;
    options.reader.io_uring = false;
    options.reader.threads = 2;
    options.retry = std::chrono::milliseconds(5);
    return options;
  }
  void Open() { Open(Options()); }
  void Open(Tier::Options options) {
    tier_ = nullptr;
    auto tier = Tier::Open(std::move(options), catalogue_, reader_.get());
    ASSERT_TRUE(tier.ok()) << tier.status();
    tier_ = *std::move(tier);
    source_ = tier_->Source();
    tier_->Follow(plan_);
  }
  std::vector<StagedRange> Whole(const std::vector<EntryId>& files) const {
    std::vector<StagedRange> ranges;
    for (const EntryId file : files) {
      ranges.push_back({file, 0, contents_.at(file).size()});
    }
    return ranges;
  }
  void Stage(uint64_t set, const std::vector<EntryId>& files) {
    Stage(set, Whole(files));
  }
  void Stage(uint64_t set, const std::vector<StagedRange>& ranges) {
    plan_->Put(set, ranges);
    plan_->Want({set});
    tier_->Changed();
    plan_->WaitReady(set);
  }
  // Ends all threads.
  void Close() {
    source_ = nullptr;
    tier_ = nullptr;
    reader_ = nullptr;
  }
  static int Count(const std::string& text, const std::string& what) {
    int count = 0;
    for (size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + 1)) {
      ++count;
    }
    return count;
  }
  std::string TierPath(const std::string& name = "") const {
    return place_.root() + "/shufflefs-tier/train" +
           (name.empty() ? "" : "/" + name);
  }
  std::vector<std::string> Parts() const {
    std::vector<std::string> parts;
    for (const auto& entry : std::filesystem::directory_iterator(TierPath())) {
      const std::string name = entry.path().filename();
      if (ParseTierName(name)) parts.push_back(name);
    }
    return parts;
  }
  uint64_t TreeBytes(const std::vector<EntryId>& files) const {
    uint64_t bytes = 0;
    for (const EntryId file : files) bytes += contents_.at(file).size();
    return bytes;
  }

  Asked& Ask(EntryId file) { return Ask(file, 0, contents_.at(file).size()); }
  Asked& Ask(EntryId file, uint64_t offset, uint64_t length) {
    Asked& asked = asked_.emplace_back(file, offset, length);
    std::vector<FilePiece> pieces;
    pieces.push_back(asked.Piece());
    source_->Fetch(std::move(pieces));
    return asked;
  }
  void ExpectAllRight() {
    for (Asked& asked : asked_) {
      const absl::Status status = asked.Wait();
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ(asked.calls(), 1);
      ASSERT_EQ(asked.bytes(),
                contents_.at(asked.file).substr(asked.offset, asked.length));
    }
    asked_.clear();
  }
  void ReadAll(const std::vector<EntryId>& files) {
    for (const EntryId file : files) Ask(file);
    ExpectAllRight();
  }
  // Changes the byte `at` of a file in a part that has it.
  void Damage(EntryId file, uint64_t at) {
    for (const std::string& name : Parts()) {
      std::string bytes = Slurp(TierPath(name));
      const auto tail_at = TierTailAt(
          absl::string_view(bytes).substr(bytes.size() - kTierFooterBytes),
          bytes.size());
      ASSERT_TRUE(tail_at.ok());
      const auto table = ParseTierTail(
          absl::string_view(bytes).substr(*tail_at), bytes.size());
      ASSERT_TRUE(table.ok());
      for (const auto& [range, offset] : table->ranges) {
        if (range.file != file || range.from > at || range.end() <= at) {
          continue;
        }
        char& byte = bytes[offset + at - range.from];
        byte = static_cast<char>(byte ^ 1);
        Spill(TierPath(name), bytes);
        return;
      }
    }
    FAIL() << "is in no part";
  }
  // Waits for another thread. The test's time limit ends the wait.
  void Until(const std::function<bool()>& holds) {
    while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  TempTree tree_;
  TempTree place_;
  std::shared_ptr<const Catalogue> catalogue_;
  std::map<EntryId, std::string> contents_;
  std::vector<EntryId> files_;  // that have bytes
  std::unique_ptr<SourceDir> dir_;
  std::unique_ptr<FaultyReader> reader_;
  std::shared_ptr<SetPlan> plan_ = std::make_shared<SetPlan>();
  std::deque<Asked> asked_;
  std::unique_ptr<Tier> tier_;
  std::unique_ptr<SampleSource> source_;
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_STAGING_TIER_TIER_FIXTURE_H_
