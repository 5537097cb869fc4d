// SPDX-License-Identifier: Apache-2.0
// What was read before the catalogue was ready counts for the views that it is
// of.
#include "core/policy/read_before.h"

#include <memory>
#include <string>

#include "core/view/view_setup.h"
#include "gtest/gtest.h"
#include "tests/core/records/content/record_producer_fixture.h"
#include "tests/core/view/container_setup.h"

namespace shufflefs {
namespace {

using testing_support::ContainerConfig;
using testing_support::ContainerTools;
using testing_support::TempTree;
using testing_support::TestPool;

class ReadBeforeTest : public ::testing::Test {
 protected:
  ReadBeforeTest() {
    tree_.File("shards/0.bin", std::string(20'000, 'x'));
    tree_.File("shards/README", "text");
    tree_.File("val/cat/1.jpg", "1");
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
  }
  std::shared_ptr<const ViewSetup> SetupOf(const ViewConfig& config) {
    return *MakeViewSetup(config, catalogue_, ContainerTools(tree_, test_.pool),
                          nullptr);
  }
  static FilesRead Read(const std::string& path) {
    return {ReadBefore::kSomething, {path}, true};
  }

  TempTree tree_;
  TestPool test_{64 << 20};
  std::shared_ptr<const Catalogue> catalogue_;
};

TEST_F(ReadBeforeTest, OnlyContainersBeginAPassOfContainers) {
  const auto setup = SetupOf(ContainerConfig());
  EXPECT_EQ(ReadBeforeOf(FilesRead(), *setup), ReadBefore::kNothing);
  EXPECT_EQ(ReadBeforeOf(Read("shards/README"), *setup), ReadBefore::kNothing);
  EXPECT_EQ(ReadBeforeOf(Read("val/cat/1.jpg"), *setup), ReadBefore::kNothing);
  EXPECT_EQ(ReadBeforeOf(Read("gone"), *setup), ReadBefore::kNothing);
  EXPECT_EQ(ReadBeforeOf(Read("shards/0.bin"), *setup), ReadBefore::kSomething);
}

TEST_F(ReadBeforeTest, WhatWasNotNotedMayBeAContainer) {
  const auto setup = SetupOf(ContainerConfig());
  FilesRead read = Read("shards/README");
  read.complete = false;
  EXPECT_EQ(ReadBeforeOf(read, *setup), ReadBefore::kUnknown);
  read = FilesRead{ReadBefore::kUnknown, {}, true};
  EXPECT_EQ(ReadBeforeOf(read, *setup), ReadBefore::kUnknown);
}

TEST_F(ReadBeforeTest, AViewWithoutContainersWaitsForFilesOfItsOwn) {
  ViewConfig config;
  config.policy = "native";
  config.path = "val";
  SetupTools tools = ContainerTools(tree_, test_.pool);
  tools.containers = nullptr;
  const auto setup = *MakeViewSetup(config, catalogue_, tools, nullptr);
  EXPECT_EQ(ReadBeforeOf(Read("val/cat/1.jpg"), *setup),
            ReadBefore::kSomething);
  EXPECT_EQ(ReadBeforeOf(Read("shards/0.bin"), *setup), ReadBefore::kNothing);
  EXPECT_EQ(ReadBeforeOf(Read("validation"), *setup), ReadBefore::kNothing);
}

// Any open may be one of a pass over names.
TEST_F(ReadBeforeTest, NamesThatMoveWaitForAnyFile) {
  ViewConfig config;
  config.policy = "lirs";
  config.substitute = Substitute::kTree;
  const auto setup = SetupOf(config);
  EXPECT_EQ(ReadBeforeOf(Read("gone"), *setup), ReadBefore::kSomething);
}

}  // namespace
}  // namespace shufflefs
