// SPDX-License-Identifier: Apache-2.0
#include "core/engine/producer_factory.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/engine/records_maker.h"
#include "core/policy/policy_entry.h"
#include "core/pool/chunk_map.h"
#include "core/sampler/sampler_prefetcher.h"
#include "core/scan/scan.h"
#include "core/staging/pack/pack_chunks.h"
#include "core/staging/pack/pack_writer.h"
#include "gtest/gtest.h"
#include "policies/registry.h"
#include "policies/static_policy.h"
#include "tests/core/pool/test_memory.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

// Threads of readers of files.
int ReadersNow() {
  int count = 0;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    std::getline(file, name);
    count += name == "sfs-uring" || name == "sfs-read-0";
  }
  return count;
}

// A thread gives itself its name.
int Readers(int expected) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (ReadersNow() != expected && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return ReadersNow();
}

class ProducerFactoryTest : public ::testing::Test {
 protected:
  ProducerFactoryTest() {
    for (const char* name : {"a.jpg", "b.jpg", "c.jpg"}) {
      tree_.Write(name, std::string(9000, 'x'));
    }
    source_ = std::make_unique<SourceDir>(*SourceDir::At(tree_.path()));
    setenv("SHUFFLEFS_DEVICE", "hdd", 1);
    devices_ = std::make_unique<DeviceFinder>(*source_);
    unsetenv("SHUFFLEFS_DEVICE");
    places_ = std::make_unique<DeviceAddressFinder>(*source_, "");
    config_.views.push_back(view_);
    config_.memory = uint64_t{64} << 20;
    dataset_ = *Dataset::Make(
        std::make_shared<const Catalogue>(*Scan(*source_, ScanOptions())),
        view_, "");
    memory_ = testing_support::TestMemory(MemoryOfAView(config_, Policies()));
    factory_ = std::make_unique<ProducerFactory>(Parts());
  }
  ~ProducerFactoryTest() override { factory_->Stop(); }

  ProducerFactory::Parts Parts() {
    ProducerFactory::Parts parts;
    parts.config = &config_;
    parts.source = source_.get();
    parts.devices = devices_.get();
    parts.places = places_.get();
    parts.job_tracker = &job_tracker_;
    parts.memory = memory_;
    return parts;
  }

  const TempDir tree_;
  std::unique_ptr<SourceDir> source_;
  std::unique_ptr<DeviceFinder> devices_;
  std::unique_ptr<DeviceAddressFinder> places_;
  MountConfig config_;
  ViewConfig view_;
  JobTracker job_tracker_;
  PoolMemory memory_;
  std::shared_ptr<const Dataset> dataset_;
  std::unique_ptr<ProducerFactory> factory_;
};

TEST(MemoryWithPeers, IsForAllButForWhatViewsNeed) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  MountConfig config;
  config.views.resize(2);
  EXPECT_EQ(PeersBytes(config, Policies(), 960 * kMiB), 0u);
  config.peers.members = "a:1;b:1";
  EXPECT_EQ(PeersBytes(config, Policies(), 960 * kMiB), 900 * kMiB);
  EXPECT_EQ(PeersBytes(config, Policies(), 100 * kMiB), 68 * kMiB);
  EXPECT_EQ(PeersBytes(config, Policies(), 30 * kMiB), 15 * kMiB);
  for (const uint64_t memory : {16, 64, 100, 1024}) {
    config.memory = memory * kMiB;
    const uint64_t pool = PoolBytes(config.memory);
    for (const bool records : {true, false}) {
      EXPECT_LE(PeersBytes(config, Policies(), pool, records) +
                    2 * MemoryOfAView(config, Policies(), records),
                pool);
    }
  }
}

// With 40 MB of memory, each MiB that a view does not need is dataset that the
// nodes keep.
TEST(MemoryWithPeers, ViewsWithoutRecordsNeedLess) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  MountConfig config;
  config.views.resize(2);
  config.peers.members = "a:1;b:1";
  const auto bytes = [&config](uint64_t pool) {
    return PeersBytes(config, Policies(), pool, /*may_have_records=*/false);
  };
  EXPECT_EQ(bytes(100 * kMiB), 68 * kMiB) << "auto may choose brand";
  config.views[0].policy = config.views[1].policy = "lirs";
  EXPECT_EQ(bytes(100 * kMiB), 84 * kMiB);
  EXPECT_EQ(bytes(20 * kMiB), 10 * kMiB);
  EXPECT_EQ(bytes(960 * kMiB), 900 * kMiB);
  config.memory = 100 * kMiB;
  // Else no order of a job would be remembered.
  EXPECT_GT(MemoryOfAView(config, Policies(), false),
            SamplerPrefetcher::kLeastMemory + (1 << 20));
  config.views[1].policy = "met";
  EXPECT_EQ(bytes(100 * kMiB), 68 * kMiB);
}

// Together never more than the view is guaranteed.
TEST(MemoryOfPlainFiles, TakesWhatRecordsCanSpare) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  for (uint64_t mib = 0; mib < 4096; mib += mib < 64 ? 1 : 64) {
    for (const uint64_t bytes : {uint64_t{1}, 40 * kMiB, uint64_t{1} << 40}) {
      const uint64_t plain = MemoryOfPlainFiles(mib * kMiB, bytes);
      if (plain == 0) {
        EXPECT_LT(mib, 28u);
        continue;
      }
      EXPECT_GE(plain, SamplerPrefetcher::kLeastMemory);
      EXPECT_GE(mib * kMiB - plain, RecordProducer::kLeastMemory);
      EXPECT_LE(plain, std::max(mib * kMiB / 4, ReadAhead::kLeastMemory));
    }
  }
  // A few labels take no more than they need.
  EXPECT_EQ(MemoryOfPlainFiles(1024 * kMiB, 4000), ReadAhead::kLeastMemory);
  EXPECT_EQ(MemoryOfPlainFiles(1024 * kMiB, 40 * kMiB), 40 * kMiB);
}

TEST_F(ProducerFactoryTest, ContainersAreFoundBeforeViewsAreMade) {
  const auto may_have = [this] {
    return MayHaveContainers(
        config_, *source_,
        std::make_shared<const Catalogue>(*Scan(*source_, ScanOptions())));
  };
  EXPECT_FALSE(may_have());
  config_.views[0].groups = "groups.tsv";
  EXPECT_TRUE(may_have());
  config_.views[0].groups.clear();
  tree_.Write("shards/train-00000-of-00002.tfrecord", "x");
  EXPECT_TRUE(may_have());
}

TEST_F(ProducerFactoryTest, AReaderIsSharedByThoseWhoWantToBeReadAlike) {
  FileReader* const disk = factory_->SourceReader(*PretendedDevice("hdd"));
  FileReader* const nas = factory_->SourceReader(*PretendedDevice("nas"));
  EXPECT_NE(disk, nas);
  EXPECT_EQ(factory_->SourceReader(*PretendedDevice("hdd")), disk);
  EXPECT_EQ(factory_->SourceReader(*PretendedDevice("nas")), nas);
  FileReader* const flash = factory_->SourceReader(*PretendedDevice("flash"));
  EXPECT_NE(flash, nas);
}

// A network answers as many reads in the time of one. A disk does not, and
// whoever waits for one read would wait for all of them.
TEST_F(ProducerFactoryTest, OnlyANetworkIsAskedForManyReadsAtATime) {
  std::vector<size_t> depths;
  ProducerFactory::Parts parts = Parts();
  parts.make_reader = [&](const FileReaderOptions& options) {
    depths.push_back(options.depth);
    return MakeFileReader(*source_, options);
  };
  ProducerFactory factory(parts);
  for (const char* const device : {"hdd", "flash", "nas"}) {
    factory.SourceReader(*PretendedDevice(device));
  }
  EXPECT_EQ(depths, (std::vector<size_t>{32, 32, 64}));
}

// What is read ahead of a job never waits for a batch to end, whoever had the
// disk read before or has it read later.
TEST_F(ProducerFactoryTest, ThePrefetcherHasAReaderOfItsOwnOnADisk) {
  const int before = ReadersNow();
  FileReader* const disk = factory_->SourceReader(*PretendedDevice("hdd"));
  EXPECT_EQ(Readers(before + 1), before + 1);
  const auto prefetcher = factory_->prefetcher_maker()(
      PrefetchFacet(), dataset_, PlainFiles(), false);
  ASSERT_TRUE(prefetcher.ok()) << prefetcher.status();
  ASSERT_NE(*prefetcher, nullptr);
  EXPECT_EQ(Readers(before + 2), before + 2);
  EXPECT_EQ(factory_->SourceReader(*PretendedDevice("hdd")), disk);
  EXPECT_EQ(Readers(before + 2), before + 2);
}

// Also of those that change no bindings: its binder was made with them.
TEST_F(ProducerFactoryTest, AProducerIsReusedWithTheSameKeysOfItsPolicyOnly) {
  static constexpr PolicyOption kKeys[] = {{.key = "static.key"}};
  const PolicyEntry entry = {.name = "static", .keys = kKeys};
  const PolicyEntry* const table[] = {&entry};
  SetupTools tools;
  tools.policies = table;
  tools.samples = factory_->maker();
  tools.resolver = [](const ViewConfig&, const Dataset&) {
    return absl::StatusOr<ResolvedPolicy>(
        ResolvedPolicy{std::make_shared<StaticPolicy>(), "", ""});
  };
  const auto setup_of = [&](const ViewSetup* reuse) {
    return *MakeViewSetup(view_, dataset_->shared_catalogue(), tools, reuse);
  };
  const auto first = setup_of(nullptr);
  ASSERT_NE(first->samples, nullptr);
  view_.policy_options.Set("another.key", 1);
  EXPECT_EQ(setup_of(first.get())->samples, first->samples);
  view_.policy_options.Set("static.key", 1);
  EXPECT_NE(setup_of(first.get())->samples, first->samples);
}

// Each has a reader and a part of the memory.
TEST_F(ProducerFactoryTest, APackThatNoPoolUsesIsLetGo) {
  const TempDir place;
  const std::string path = place.path() + "/pack";
  PackComposition composition;
  composition.chunk_size = 2;
  composition.chunks = FilesOfChunks(
      ComposeMixedChunks(dataset_->grouping(), dataset_->key(), 2),
      dataset_->grouping());
  const auto written =
      WritePack(*source_, dataset_->catalogue(), composition, path, {});
  ASSERT_TRUE(written.ok()) << written.status();
  view_.policy_options.Set("brand.packed", path);
  const auto brand = MakePolicy(Policies(), "brand", view_.policy_options);
  ASSERT_TRUE(brand.ok()) << brand.status();
  const auto make = [&] {
    return factory_->maker()(view_, dataset_, **brand, ViewRecords());
  };
  const auto first = make();
  ASSERT_TRUE(first.ok()) << first.status();
  absl::StatusOr<std::shared_ptr<SampleProducer>> next = make();
  const auto room = [&] {
    return (*memory_.pool->Open({.name = "other", .guarantee = 1}))->Room();
  };
  const uint64_t before = room();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(next.ok()) << i << " " << next.status();
    next->reset();
    next = make();
  }
  EXPECT_EQ(room(), before);
  // The one in use goes on.
  std::promise<absl::StatusOr<std::string>> got;
  (*first)->Read(*dataset_->catalogue().FindPath("b.jpg"), 0, 3,
                 [&](absl::StatusOr<absl::Span<const iovec>> bytes) {
                   if (!bytes.ok()) return got.set_value(bytes.status());
                   got.set_value(std::string(
                       static_cast<const char*>(bytes->front().iov_base),
                       bytes->front().iov_len));
                 });
  const absl::StatusOr<std::string> bytes = got.get_future().get();
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, "xxx");
}

}  // namespace
}  // namespace shufflefs
