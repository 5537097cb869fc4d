// SPDX-License-Identifier: Apache-2.0
#include "core/engine/device_address_finder.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/scan/scan.h"
#include "core/view/view_setup.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

class DeviceAddressFinderTest : public ::testing::Test {
 protected:
  DeviceAddressFinderTest() {
    for (int i = 0; i < 30; ++i) {
      tree_.Write(absl::StrCat("c", i % 3, "/", i * i, ".jpg"),
                  std::string(static_cast<size_t>(1 + i * 500), 'x'));
    }
    sync();  // before, blocks have no address
    source_ = std::make_unique<SourceDir>(*SourceDir::At(tree_.path()));
    Look();
  }
  void Look() {
    ViewConfig config;
    auto catalogue =
        std::make_shared<const Catalogue>(*Scan(*source_, ScanOptions()));
    dataset_ = *Dataset::Make(std::move(catalogue), config, "");
  }
  std::string FilePath() const { return state_.path() + "/places"; }
  DeviceLayout Find(const std::string& path) {
    DeviceAddressFinder finder(*source_, path);
    absl::StatusOr<DeviceLayout> layout = finder.Find(*dataset_);
    EXPECT_TRUE(layout.ok()) << layout.status();
    return layout.ok() ? *layout : DeviceLayout();
  }

  const TempDir tree_;
  const TempDir state_;
  std::unique_ptr<SourceDir> source_;
  std::unique_ptr<const Dataset> dataset_;
};

TEST_F(DeviceAddressFinderTest, NothingIsAskedTwice) {
  const DeviceLayout first = Find(FilePath());
  EXPECT_GT(first.asked, 0u);
  const DeviceLayout again = Find(FilePath());
  EXPECT_EQ(again.asked, 0u);
  EXPECT_EQ(again.addresses, first.addresses);
  EXPECT_EQ(again.mapped, first.mapped);
  EXPECT_EQ(again.how, first.how);
  EXPECT_EQ(Find("").asked, first.asked);
}

TEST_F(DeviceAddressFinderTest, ADamagedFileCostsTimeOnly) {
  const DeviceLayout first = Find(FilePath());
  std::filesystem::resize_file(FilePath(), 100);
  const DeviceLayout again = Find(FilePath());
  EXPECT_EQ(again.asked, first.asked);
  EXPECT_EQ(again.addresses, first.addresses);
  EXPECT_EQ(Find(FilePath()).asked, 0u);
}

TEST_F(DeviceAddressFinderTest, AnotherTreeIsAskedAgain) {
  const DeviceLayout first = Find(FilePath());
  tree_.Write("c1/999999.jpg", "more");
  sync();
  Look();
  const DeviceLayout more = Find(FilePath());
  EXPECT_GE(more.asked, first.asked);
  EXPECT_EQ(more.addresses.size(), first.addresses.size() + 1);
  EXPECT_EQ(Find(FilePath()).asked, 0u);
}

// What could not be asked is asked the next time.
TEST_F(DeviceAddressFinderTest, AFileThatWasGoneIsAskedAgain) {
  std::filesystem::rename(tree_.path() + "/c0/0.jpg", tree_.path() + "/away");
  const DeviceLayout first = Find(FilePath());
  std::filesystem::rename(tree_.path() + "/away", tree_.path() + "/c0/0.jpg");
  const DeviceLayout again = Find(FilePath());
  EXPECT_EQ(again.asked, first.mapped == 0 ? 0u : 1u);
  EXPECT_EQ(again.mapped, first.mapped == 0 ? 0u : first.mapped + 1);
}

TEST_F(DeviceAddressFinderTest, WithoutAPlaceToSaveItStillWorks) {
  const DeviceLayout kept = Find(FilePath());
  const DeviceLayout lost = Find("/proc/nowhere/places");
  EXPECT_EQ(lost.addresses, kept.addresses);
}

}  // namespace
}  // namespace shufflefs
