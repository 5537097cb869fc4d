// SPDX-License-Identifier: Apache-2.0
#include "fs/tree/record_slots.h"

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/source/source_files.h"
#include "fs/tree/tree.h"
#include "gtest/gtest.h"
#include "tests/core/records/content/record_producer_fixture.h"
#include "tests/core/view/container_setup.h"

namespace shufflefs {
namespace {

using testing_support::Blocks;
using testing_support::TempTree;
using testing_support::TestPool;

class RecordSlotsTest : public ::testing::Test {
 protected:
  std::shared_ptr<RecordEpoch> SomeEpoch() {
    RecordEpoch::Parts parts;
    parts.policy = Blocks(65536, 4);
    parts.containers = containers_;
    return std::make_shared<RecordEpoch>(std::move(parts));
  }

 private:
  TempTree tree_;
  const std::shared_ptr<ContainerSet> containers_ =
      std::make_shared<ContainerSet>(
          *Dataset::Make(std::make_shared<const Catalogue>(tree_.Scanned()),
                         ViewConfig(), ""),
          *RecordRules::Parse({}));
};

TEST_F(RecordSlotsTest, ASlotHoldsItsEpochWhileTheKernelKnowsIt) {
  RecordSlots slots;
  auto first = SomeEpoch();
  const auto second = SomeEpoch();
  const std::weak_ptr<RecordEpoch> gone = first;
  const uint32_t slot = *slots.Take(first);
  const uint32_t other = *slots.Take(second);
  EXPECT_NE(slot, other);
  EXPECT_EQ(*slots.Take(first), slot);  // another file, or the same again
  first.reset();
  slots.Forget(slot, 1);
  EXPECT_EQ(slots.At(slot), gone.lock());
  EXPECT_FALSE(gone.expired());
  slots.Forget(slot, 1);
  EXPECT_TRUE(gone.expired());
  EXPECT_EQ(slots.At(slot), nullptr);
  EXPECT_EQ(slots.At(other), second);
  EXPECT_EQ(slots.in_use(), 1u);
  // Nobody's, or never given: the kernel may say what it likes.
  slots.Forget(slot, 1);
  slots.Forget(77, 1);
  EXPECT_EQ(slots.At(77), nullptr);
  EXPECT_EQ(*slots.Take(SomeEpoch()), slot);
  EXPECT_EQ(slots.in_use(), 2u);
}

TEST_F(RecordSlotsTest, WhereAllAreInUseTheNextOneWaitsForOneThatIsLetGo) {
  RecordSlots slots(2);
  const uint32_t slot = *slots.Take(SomeEpoch());
  ASSERT_TRUE(slots.Take(SomeEpoch()).ok());
  const auto third = SomeEpoch();
  EXPECT_EQ(ErrnoOf(slots.Take(third).status()), ENOSPC);
  slots.Forget(slot, 1);
  EXPECT_TRUE(slots.Take(third).ok());
}

// A tree of one container, a.bin.
class ContainerTreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    tree_.File("a.bin", std::string(1000000, 'x'));
    source_ = std::make_unique<SourceDir>(tree_.Source());
    auto catalogue = std::make_shared<const Catalogue>(tree_.Scanned());
    auto parts = testing_support::ContainerParts(
        testing_support::ContainerConfig(), catalogue,
        testing_support::ContainerTools(tree_, test_.pool), job_tracker_);
    ASSERT_TRUE(parts.ok()) << parts.status();
    std::vector<std::unique_ptr<View>> views;
    views.push_back(std::make_unique<View>(*std::move(parts)));
    served_ = std::make_unique<ServedDataset>(
        catalogue,
        std::make_unique<PlainReads>(
            PlainReads::Parts{source_.get(), catalogue, 8}),
        std::move(views), OpensSeen());
    rights_ = std::make_unique<ShownRights>(*source_, *served_);
    Tree::Parts of_tree;
    of_tree.served = served_.get();
    of_tree.rights = rights_.get();
    of_tree.epochs = &epochs_;
    shown_ = std::make_unique<Tree>(of_tree);
  }
  View& view() { return *served_->views()[0]; }

  TempTree tree_;
  TestPool test_{64 << 20};
  JobTracker job_tracker_;
  std::unique_ptr<SourceDir> source_;
  std::unique_ptr<ServedDataset> served_;
  std::unique_ptr<ShownRights> rights_;
  EpochSlots epochs_;
  std::unique_ptr<Tree> shown_;
};

TEST_F(ContainerTreeTest, EpochsThatTheKernelForgotAreLetGo) {
  std::weak_ptr<RecordEpoch> first;
  for (uint64_t epoch = 0; epoch < 40; ++epoch) {
    const auto root = shown_->FixedRoot(view(), Epoch(epoch), false);
    ASSERT_TRUE(root.ok());
    const Node dir = UnpackNode(root->nodeid);
    const auto file = shown_->Lookup(dir, "a.bin", 0);
    ASSERT_TRUE(file.ok()) << file.status();
    const Node node = UnpackNode(file->nodeid);
    ASSERT_EQ(node.kind, NodeKind::kContainer);
    EXPECT_EQ(node.slot, 0u);
    ASSERT_NE(shown_->RecordsOf(node), nullptr);
    EXPECT_EQ(shown_->RecordsOf(node)->epoch(), Epoch(epoch));
    if (epoch == 0) first = shown_->RecordsOf(node);
    shown_->Forget(dir, 1);
    // Another one, that the kernel goes on to know.
    ASSERT_TRUE(shown_->Lookup({NodeKind::kLiveDir, 0, 0, 0}, "a.bin", 0).ok());
    shown_->Forget(node, 1);
    EXPECT_EQ(shown_->RecordsOf(node), nullptr);
    EXPECT_FALSE(shown_->Attributes(node).ok());
  }
  EXPECT_TRUE(first.expired());
}

}  // namespace
}  // namespace shufflefs
