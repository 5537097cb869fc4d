// SPDX-License-Identifier: Apache-2.0
#include "core/peers/kept_extents.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using testing_support::TempTree;

// Files that members send.
class KeptExtentsTest : public ::testing::Test {
 protected:
  KeptExtentsTest() {
    for (const char* const name : {"a", "b", "c"}) {
      tree_.File(name, text_);
    }
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    kept_ = KeptExtents::Make(
        catalogue_, *pool_->Open({.name = "peers", .guarantee = 1 << 20}),
        [] { return nullptr; });
    kept_->BeginSent(epoch_);
  }
  EntryId File(const std::string& name) const {
    return *catalogue_->FindPath(name);
  }
  void Take(const std::string& name) {
    kept_->TakeSent(epoch_, File(name),
                    {{{text_.data(), text_.size()}}, nullptr}, 0);
  }
  bool Give(const std::string& name) {
    return kept_->GiveSent(File(name), text_.size()).has_value();
  }

  std::string text_ = "bytes of a file";
  const KeptExtents::SentFor epoch_ = {.view = "v", .binding = 9};
  const std::shared_ptr<BufferPool> pool_ =
      BufferPool::Make({.bytes = uint64_t{4} << 20});
  TempTree tree_;
  std::shared_ptr<const Catalogue> catalogue_;
  std::shared_ptr<KeptExtents> kept_;
};

// A file that came again is there once.
TEST_F(KeptExtentsTest, AnotherEpochOfTheViewLeavesNothing) {
  Take("a");
  Take("b");
  EXPECT_TRUE(Give("b"));
  EXPECT_FALSE(Give("b"));
  Take("b");
  kept_->BeginSent({.view = "other", .binding = 1});
  EXPECT_TRUE(Give("b"));
  EXPECT_FALSE(Give("b"));
  kept_->BeginSent({.view = "v", .binding = 10});
  EXPECT_FALSE(Give("a"));
  EXPECT_EQ(kept_->bytes(), 0u);
}

}  // namespace
}  // namespace shufflefs
