// SPDX-License-Identifier: Apache-2.0
// What is remembered of a device, and when it is measured again all the same.
#include "core/engine/device_finder.h"

#include <fcntl.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "core/base/files/atomic_file.h"
#include "core/base/files/unique_fd.h"
#include "core/source/device_memory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::TempTree;

constexpr int64_t kNow = 1'800'000'000;  // 2027-01-15 08:00 UTC

DeviceFigures Disk(double median_us) {
  DeviceFigures figures;
  figures.reads = 32;
  figures.median_us = median_us;
  figures.parallel_gain = 1.1;
  figures.bytes_per_second = 144e6;
  figures.rotational = true;
  return figures;
}

class DeviceFinderTest : public ::testing::Test {
 protected:
  DeviceFinderTest() { tree_.File("a/x", "some bytes"); }

  // A mount: measures at most once.
  DeviceProbe Mount() {
    DeviceFinder::Means means;
    means.probe = [this](const SourceDir&, const Catalogue&,
                         const ProbeOptions& options) {
      asked_.emplace_back(options.glance ? "glance" : "measure");
      DeviceProbe probe;
      probe.figures = device_;
      if (options.glance) probe.figures.bytes_per_second = 0;
      probe.device = ClassifyDevice(probe.figures);
      probe.line = "measured now";
      return probe;
    };
    means.now = [this] { return now_; };
    const SourceDir source = tree_.Source();
    DeviceFinder finder(source, FilePlace(memory_), means);
    const Catalogue catalogue = tree_.Scanned();
    finder.Find(catalogue, DirId(0));
    return finder.Find(catalogue, DirId(0));
  }
  std::vector<std::string> TakeAsked() { return std::move(asked_); }

  TempTree tree_;
  TempTree place_;
  const std::string memory_ = place_.root() + "/devices";
  DeviceFigures device_ = Disk(6300);
  int64_t now_ = kNow;
  std::vector<std::string> asked_;
};

// [S-3.13e] A slow device is measured in full once in three days, and status
// says when it was measured.
TEST_F(DeviceFinderTest, TheNextMountHasTheFiguresAndTheirDate) {
  EXPECT_EQ(Mount().line, "measured now");
  EXPECT_THAT(TakeAsked(), ElementsAre("measure"));
  now_ += 3600;
  device_ = Disk(8000);
  const DeviceProbe probe = Mount();
  EXPECT_THAT(TakeAsked(), ElementsAre("glance"));
  EXPECT_EQ(probe.device, DeviceKind::kSeekBound);
  EXPECT_EQ(probe.figures.median_us, 6300);
  EXPECT_EQ(probe.figures.bytes_per_second, 144e6);
  EXPECT_THAT(probe.line, HasSubstr("6.30 ms a random 4 KiB read"));
  EXPECT_THAT(probe.line, EndsWith(", measured 2027-01-15 08:00 UTC"));
}

TEST_F(DeviceFinderTest, ReadsThatTakeAnotherTimeMeasureAgain) {
  Mount();
  TakeAsked();
  for (const double median_us : {13000.0, 6000.0}) {
    device_ = Disk(median_us);
    EXPECT_EQ(Mount().figures.median_us, median_us);
    EXPECT_THAT(TakeAsked(), ElementsAre("glance", "measure"));
  }
  Mount();
  EXPECT_THAT(TakeAsked(), ElementsAre("glance"));  // the last one is kept
}

TEST_F(DeviceFinderTest, AnotherKindMeasuresAgain) {
  Mount();
  TakeAsked();
  device_.network_fs = true;
  Mount();
  device_.rotational = absl::nullopt;
  Mount();
  EXPECT_THAT(TakeAsked(),
              ElementsAre("glance", "measure", "glance", "measure"));
}

TEST_F(DeviceFinderTest, NothingIsRememberedForLong) {
  Mount();
  TakeAsked();
  now_ = kNow + DeviceMemory::kSeconds - 1;
  Mount();
  EXPECT_THAT(TakeAsked(), ElementsAre("glance"));
  now_ = kNow + DeviceMemory::kSeconds;
  Mount();
  EXPECT_THAT(TakeAsked(), ElementsAre("measure"));
  now_ = kNow;  // the clock was set back
  Mount();
  EXPECT_THAT(TakeAsked(), ElementsAre("measure"));
}

TEST_F(DeviceFinderTest, AFastDeviceIsMeasuredEachTime) {
  device_ = Disk(80);
  Mount();
  Mount();
  EXPECT_THAT(TakeAsked(), ElementsAre("measure", "measure"));
  EXPECT_FALSE(std::filesystem::exists(memory_));
}

TEST_F(DeviceFinderTest, AnotherDeviceIsMeasured) {
  const UniqueFd source(open(tree_.root().c_str(), O_PATH | O_CLOEXEC));
  const auto identity = DeviceIdentity(source.get());
  ASSERT_TRUE(identity.has_value());
  DeviceMemory memory{FilePlace(memory_)};
  ASSERT_TRUE(memory.Keep({*identity + 1, kNow, Disk(6300)}).ok());
  Mount();
  EXPECT_THAT(TakeAsked(), ElementsAre("measure"));
}

TEST_F(DeviceFinderTest, EachFileSystemHasItsIdentity) {
  const UniqueFd source(open(tree_.root().c_str(), O_PATH | O_CLOEXEC));
  const UniqueFd below(open((tree_.root() + "/a").c_str(), O_PATH | O_CLOEXEC));
  const UniqueFd proc(open("/proc", O_PATH | O_CLOEXEC));
  const UniqueFd sys(open("/sys", O_PATH | O_CLOEXEC));
  EXPECT_EQ(DeviceIdentity(source.get()), DeviceIdentity(below.get()));
  EXPECT_NE(DeviceIdentity(source.get()), DeviceIdentity(proc.get()));
  EXPECT_NE(DeviceIdentity(proc.get()), DeviceIdentity(sys.get()));
  EXPECT_FALSE(DeviceIdentity(-1).has_value());
}

TEST_F(DeviceFinderTest, ADamagedFileIsNoReasonToFail) {
  Mount();
  TakeAsked();
  const std::string whole = *ReadWholeFile(FilePlace(memory_), 1 << 20);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    EXPECT_FALSE(DeviceMemory::Parse(damaged).ok()) << at;
    EXPECT_FALSE(DeviceMemory::Parse(whole.substr(0, at)).ok()) << at;
  }
  std::ofstream(memory_) << "something else";
  EXPECT_EQ(Mount().line, "measured now");
  EXPECT_THAT(TakeAsked(), ElementsAre("measure"));
  Mount();
  EXPECT_THAT(TakeAsked(), ElementsAre("glance"));  // it was written anew
}

TEST_F(DeviceFinderTest, FiguresThatNoDeviceHasAreRefused) {
  DeviceMemory memory{FilePlace(memory_)};
  ASSERT_TRUE(
      memory.Keep({1, kNow, Disk(std::numeric_limits<double>::infinity())})
          .ok());
  const std::string bytes = *ReadWholeFile(FilePlace(memory_), 1 << 20);
  EXPECT_EQ(DeviceMemory::Parse(bytes).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(DeviceFinderTest, TheLastDevicesAreKept) {
  DeviceMemory memory{FilePlace(memory_)};
  for (uint64_t i = 0; i < 2 * DeviceMemory::kMost; ++i) {
    ASSERT_TRUE(memory.Keep({i, kNow, Disk(6300)}).ok());
  }
  const DeviceMemory again{FilePlace(memory_)};
  EXPECT_FALSE(again.Find(DeviceMemory::kMost - 1, kNow).has_value());
  const auto kept = again.Find(DeviceMemory::kMost, kNow);
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->figures.rotational, absl::optional<bool>(true));
  EXPECT_EQ(kept->figures.parallel_gain, 1.1);
  EXPECT_TRUE(kept->figures.past_cache);
}

TEST_F(DeviceFinderTest, WithoutAFileNothingIsKept) {
  const SourceDir source = tree_.Source();
  DeviceFinder finder(source);
  EXPECT_NE(finder.Find(tree_.Scanned(), DirId(0)).line, "");
  EXPECT_THAT(asked_, IsEmpty());
}

}  // namespace
}  // namespace shufflefs
