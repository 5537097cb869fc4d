// SPDX-License-Identifier: Apache-2.0
#include "fs/tree/epoch_slots.h"

#include <cerrno>
#include <set>

#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;

TEST(EpochSlotsTest, ASlotIsAnEpochsWhileTheKernelKnowsIt) {
  EpochSlots slots;
  const uint32_t seven = *slots.Take(Epoch(7));
  const uint32_t nine = *slots.Take(Epoch(9));
  EXPECT_NE(seven, nine);
  EXPECT_EQ(*slots.Take(Epoch(7)), seven);
  slots.TakeAgain(seven);
  slots.Forget(seven, 2);
  EXPECT_EQ(slots.At(seven), Epoch(7));
  EXPECT_EQ(slots.in_use(), 2u);
  slots.Forget(seven, 1);
  EXPECT_EQ(slots.in_use(), 1u);
  EXPECT_EQ(*slots.Take(Epoch(11)), seven);
  EXPECT_EQ(slots.At(seven), Epoch(11));
  EXPECT_EQ(slots.At(nine), Epoch(9));
  EXPECT_EQ(slots.At(*slots.Take(Epoch(7))), Epoch(7));
}

TEST(EpochSlotsTest, AMillionThatAreForgottenUseUpNothing) {
  EpochSlots slots;
  for (uint64_t epoch = 0; epoch < 2'000'000; ++epoch) {
    const absl::StatusOr<uint32_t> slot = slots.Take(Epoch(epoch));
    ASSERT_TRUE(slot.ok());
    ASSERT_EQ(slots.At(*slot), Epoch(epoch));
    slots.Forget(*slot, 1);
  }
  EXPECT_EQ(slots.in_use(), 0u);
}

TEST(EpochSlotsTest, WhatNobodyForgetsIsRefusedAtTheLimit) {
  EpochSlots slots(/*crowd=*/4096, /*limit=*/3);
  for (const uint64_t epoch : {0, 1, 2}) {
    ASSERT_TRUE(slots.Take(Epoch(epoch)).ok());
  }
  EXPECT_EQ(ErrnoOf(slots.Take(Epoch(3)).status()), ENOSPC);
  EXPECT_TRUE(slots.Take(Epoch(1)).ok());
  slots.Forget(0, 1);
  EXPECT_EQ(*slots.Take(Epoch(3)), 0u);
}

TEST(EpochSlotsTest, ACrowdIsToldOnceAndTheOldestAreTakenBack) {
  EpochSlots slots(/*crowd=*/4);
  int told = 0;
  slots.SetCrowded([&] { ++told; });
  for (uint64_t epoch = 0; epoch < 7; ++epoch) {
    ASSERT_TRUE(slots.Take(Epoch(epoch)).ok());
    EXPECT_EQ(told, epoch < 4 ? 0 : 1);
  }
  EXPECT_THAT(slots.TakeOldest(), ElementsAre(Epoch(0), Epoch(1), Epoch(2)));
  slots.Forget(0, 1);
  slots.Forget(1, 1);  // the third is in use
  ASSERT_TRUE(slots.Take(Epoch(8)).ok());
  EXPECT_EQ(told, 2);
  EXPECT_THAT(slots.TakeOldest(), ElementsAre(Epoch(3), Epoch(4), Epoch(5)));
}

}  // namespace
}  // namespace shufflefs
