// SPDX-License-Identifier: Apache-2.0
#include "policies/auto/auto_choice.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policies/registry.h"

namespace shufflefs {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// ImageNet-like class folders, ten times as large as memory, on a disk.
DatasetFacts LargeClassFolders() {
  DatasetFacts facts;
  facts.files = 1281167;
  facts.bytes = uint64_t{140} << 30;
  facts.memory_bytes = uint64_t{14} << 30;
  facts.device = DeviceKind::kSeekBound;
  facts.speed = {6300, 1.1, 144e6};
  facts.file_bytes = 110'000;
  facts.pool_bytes = uint64_t{4} << 30;
  facts.options.Set("brand.chunk_files", 64);
  facts.names_may_move = true;
  facts.has_validation_split = true;
  facts.classes = 1000;
  facts.layout = "class folders below train";
  return facts;
}

DatasetFacts OnANetwork() {
  DatasetFacts facts = LargeClassFolders();
  facts.device = DeviceKind::kLatencyBound;
  facts.speed = {4000, 8, 378e6};
  return facts;
}

void ExpectNative(const DatasetFacts& facts, const std::string& because) {
  const AutoChoice choice = ChooseAuto(facts);
  EXPECT_EQ(choice.policy, "native") << choice.why;
  EXPECT_THAT(choice.why, HasSubstr(": native, "));
  EXPECT_THAT(choice.why, HasSubstr(because));
}

TEST(AutoChoiceTest, BrandForLargeClassFoldersOnASeekingSource) {
  const AutoChoice choice = ChooseAuto(LargeClassFolders());
  EXPECT_EQ(choice.policy, "brand");
  EXPECT_EQ(choice.why,
            "class folders below train; 1281167 files, 140.0 GiB, larger than "
            "memory (14.0 GiB); source seeks at each random read: brand, "
            "expect about 5x the files a second of 4 plain readers that draw "
            "at random; names show samples of their class, of 1000, with a "
            "validation split of its own beside them");
}

TEST(AutoChoiceTest, OnANetworkItSaysWhatManyReadersGain) {
  const AutoChoice choice = ChooseAuto(OnANetwork());
  EXPECT_EQ(choice.policy, "brand");
  EXPECT_THAT(choice.why,
              HasSubstr("source has a high latency for each read: brand, "
                        "expect about 2.5x the files a second of 4 plain "
                        "readers that draw at random, no more than 16 get;"));
}

// Each of the conditions for brand alone keeps it away.
TEST(AutoChoiceTest, NativeUnlessAllSpeaksForBrand) {
  DatasetFacts facts = LargeClassFolders();
  facts.bytes = facts.memory_bytes;
  ExpectNative(facts, "no gain in speed to expect after the first epoch");
  facts = LargeClassFolders();
  facts.memory_bytes = 0;
  ExpectNative(facts, "the size of memory is not known");
  facts = LargeClassFolders();
  facts.speed.bytes_per_second = 0;
  ExpectNative(facts, "could not be measured (-o policy=brand)");
  facts = LargeClassFolders();
  facts.held_back = "open = unseen";
  ExpectNative(facts, "not brand because of open = unseen");
  for (DatasetFacts small : {LargeClassFolders(), OnANetwork()}) {
    small.pool_bytes = 16 << 20;
    ExpectNative(small,
                 "brand would gain too little with 16.0 MiB of memory: about");
  }
}

// Names that keep their samples: a table lists them.
DatasetFacts LabelsInATable(DatasetFacts facts) {
  facts.names_may_move = false;
  facts.has_validation_split = false;
  facts.layout = "train/labels.csv lists the files";
  return facts;
}

TEST(AutoChoiceTest, ClairvoyantWhereNamesKeepTheirSamples) {
  AutoChoice choice = ChooseAuto(LabelsInATable(OnANetwork()));
  EXPECT_EQ(choice.policy, "clairvoyant");
  EXPECT_EQ(choice.why,
            "train/labels.csv lists the files; 1281167 files, 140.0 GiB, "
            "larger than memory (14.0 GiB); source has a high latency for each "
            "read: clairvoyant, the order of a stock PyTorch sampler is "
            "recognised from its first opens and read ahead, expect about "
            "2.5x the files a second of 4 plain readers that draw at random, "
            "no more than 16 get; names keep their own samples");
  // What a disk gains by sorting depends on where files lie.
  choice = ChooseAuto(LabelsInATable(LargeClassFolders()));
  EXPECT_EQ(choice.policy, "clairvoyant");
  EXPECT_THAT(choice.why, HasSubstr("read ahead, no gain in speed can be "
                                    "promised; names keep their own samples"));
  EXPECT_THAT(choice.why, Not(HasSubstr("expect")));
  // A split beside what does not move is nothing against it.
  DatasetFacts facts = LabelsInATable(OnANetwork());
  facts.has_validation_split = true;
  EXPECT_EQ(ChooseAuto(facts).policy, "clairvoyant");
  // Nor is what speaks against brand alone.
  facts.held_back = "nodes = 1/2";
  EXPECT_EQ(ChooseAuto(facts).policy, "clairvoyant");
  facts.speed = {};
  EXPECT_EQ(ChooseAuto(facts).policy, "clairvoyant");
  EXPECT_THAT(ChooseAuto(facts).why, HasSubstr("no gain in speed can be"));
}

TEST(AutoChoiceTest, ClairvoyantWhereAClientMaySplitByName) {
  DatasetFacts facts = LargeClassFolders();
  facts.has_validation_split = false;
  const AutoChoice choice = ChooseAuto(facts);
  EXPECT_EQ(choice.policy, "clairvoyant");
  EXPECT_THAT(choice.why,
              HasSubstr("-o policy=brand may give about 5x the files a second "
                        "of 4 plain readers that draw at random, if the job "
                        "does not split by name; samples could move inside "
                        "1000 classes"));
  facts.files = 1000;
  EXPECT_EQ(ChooseAuto(facts).policy, "clairvoyant");
  facts.files = 999;
  ExpectNative(facts, "-o policy=brand may give");
}

// Each of the conditions for clairvoyant alone keeps it away.
TEST(AutoChoiceTest, NativeUnlessAllSpeaksForClairvoyant) {
  const DatasetFacts table = LabelsInATable(OnANetwork());
  DatasetFacts facts = table;
  facts.files = 999;
  ExpectNative(facts, "clairvoyant needs at least 1000 files");
  facts = table;
  facts.bytes = facts.memory_bytes;
  ExpectNative(facts, "no gain in speed to expect after the first epoch");
  facts = table;
  facts.memory_bytes = 0;
  ExpectNative(facts, "-o policy=clairvoyant reads ahead");
  facts = table;
  facts.not_foreseen = "layout = ranked";
  ExpectNative(facts, "not clairvoyant because of layout = ranked");
  for (DeviceKind device :
       {DeviceKind::kFlash, DeviceKind::kMemory, DeviceKind::kUnknown}) {
    facts = table;
    facts.device = device;
    ExpectNative(facts, "");
  }
  facts = table;
  facts.record_files = 2000;
  facts.record_bytes = facts.bytes / 2 + 1;
  facts.passes_are_seen = false;
  ExpectNative(facts, "clairvoyant is for files, not for records");
  facts.record_bytes = facts.bytes / 2;
  EXPECT_EQ(ChooseAuto(facts).policy, "clairvoyant");
  // Files so large that plain readers get all that the device gives.
  facts = table;
  facts.file_bytes = 100 << 20;
  ExpectNative(facts, "clairvoyant would gain too little: about 0.8x");
}

// What is measured may differ from mount to mount; what a restart goes on with
// must not. What makes it safe is looked at again.
TEST(AutoChoiceTest, FinishesAnEpochOfBrand) {
  DatasetFacts facts = LargeClassFolders();
  facts.under_way = "brand";
  EXPECT_THAT(ChooseAuto(facts).why, HasSubstr("brand, expect about"));
  facts.device = DeviceKind::kFlash;
  EXPECT_EQ(ChooseAuto(facts).policy, "brand");
  EXPECT_THAT(ChooseAuto(facts).why,
              HasSubstr("fast: brand, for its epoch is not finished"));
  facts.bytes = facts.memory_bytes;
  EXPECT_EQ(ChooseAuto(facts).policy, "brand");
  DatasetFacts unsafe = facts;
  unsafe.has_validation_split = false;
  ExpectNative(unsafe, "");
  unsafe = facts;
  unsafe.names_may_move = false;
  ExpectNative(unsafe, "");
  unsafe = facts;
  unsafe.held_back = "open = unseen";
  ExpectNative(unsafe, "");
  facts.under_way = "lirs";
  ExpectNative(facts, "");
}

// Shards of 1 GiB, ten times as large as memory, on a disk.
DatasetFacts Shards() {
  DatasetFacts facts;
  facts.files = 144;
  facts.bytes = uint64_t{144} << 30;
  facts.memory_bytes = uint64_t{14} << 30;
  facts.device = DeviceKind::kSeekBound;
  facts.speed = {6300, 1.1, 144e6};
  facts.file_bytes = 1 << 30;
  facts.record_files = 140;
  facts.record_bytes = uint64_t{140} << 30;
  facts.record_memory = uint64_t{3} << 30;
  facts.options.Set("reimu.block", 1 << 20);
  facts.options.Set("reimu.window", 64);
  facts.layout = "files in one directory";
  return facts;
}

TEST(AutoChoiceTest, ReimuForLargeContainersOnASlowSource) {
  const AutoChoice choice = ChooseAuto(Shards());
  EXPECT_EQ(choice.policy, "reimu");
  EXPECT_EQ(choice.why,
            "files in one directory; 144 files, 144.0 GiB, larger than memory "
            "(14.0 GiB); source seeks at each random read: reimu, records "
            "come shuffled in blocks of 1.0 MiB that are read whole, expect "
            "about 3x what 4 plain readers get that draw records of 128.0 KiB "
            "at random; 140 containers, whose records carry their labels");
  DatasetFacts network = Shards();
  network.device = DeviceKind::kLatencyBound;
  network.speed = {4000, 8, 378e6};
  EXPECT_EQ(ChooseAuto(network).policy, "reimu");
  network.speed = {};
  EXPECT_EQ(ChooseAuto(network).policy, "reimu");
  EXPECT_THAT(ChooseAuto(network).why, Not(HasSubstr("expect about")));
}

TEST(AutoChoiceTest, LirsForLargeContainersOnFlash) {
  DatasetFacts facts = Shards();
  facts.device = DeviceKind::kFlash;
  const AutoChoice choice = ChooseAuto(facts);
  EXPECT_EQ(choice.policy, "lirs");
  EXPECT_THAT(choice.why,
              HasSubstr(": lirs, a full shuffle of the records of each file, "
                        "by a random read each; 140 containers, whose records "
                        "carry their labels"));
}

// Each of the conditions alone keeps records where they are.
TEST(AutoChoiceTest, RecordsStayUnlessAllSpeaksForThem) {
  DatasetFacts facts = Shards();
  facts.record_bytes = facts.memory_bytes;
  facts.bytes = facts.memory_bytes + 1;
  ExpectNative(facts, "-o policy=reimu shuffles the records");
  facts = Shards();
  facts.bytes = 2 * facts.record_bytes;  // a part of it
  ExpectNative(facts, "-o policy=reimu shuffles the records");
  facts = Shards();
  facts.record_files = 0;
  facts.record_bytes = 0;
  ExpectNative(facts, "clairvoyant needs at least 1000 files");
  facts = Shards();
  facts.memory_bytes = 0;
  ExpectNative(facts, "the size of memory is not known");
  for (const DeviceKind device : {DeviceKind::kMemory, DeviceKind::kUnknown}) {
    facts = Shards();
    facts.device = device;
    ExpectNative(facts, "");
  }
  facts = Shards();
  facts.passes_are_seen = false;
  ExpectNative(facts, "because of open = unseen");
  facts = Shards();
  facts.several_nodes = true;
  ExpectNative(facts, "another node might choose otherwise");
  facts = Shards();
  facts.record_memory = 319 << 20;
  ExpectNative(facts,
               "not reimu for its records: 64 blocks of 1.0 MiB need 320.0 MiB "
               "of memory, there are 319.0 MiB");
  facts.record_memory = 320 << 20;
  EXPECT_EQ(ChooseAuto(facts).policy, "reimu");
}

TEST(AutoChoiceTest, FinishesAnEpochOfRecords) {
  DatasetFacts facts = Shards();
  facts.under_way = "reimu";
  EXPECT_THAT(ChooseAuto(facts).why, HasSubstr("reimu, records come"));
  facts.device = DeviceKind::kFlash;
  EXPECT_EQ(ChooseAuto(facts).policy, "reimu");
  EXPECT_THAT(ChooseAuto(facts).why, HasSubstr("its epoch is not finished"));
  facts.under_way = "window";
  EXPECT_EQ(ChooseAuto(facts).policy, "lirs");
  facts.under_way = "reimu";
  facts.record_files = 0;
  ExpectNative(facts, "");
}

TEST(AutoChoiceTest, NothingToExpectOfWhatFitsInMemory) {
  DatasetFacts facts = LargeClassFolders();
  facts.bytes = facts.memory_bytes;
  EXPECT_THAT(ChooseAuto(facts).why,
              HasSubstr("fits in memory (14.0 GiB); source seeks at each "
                        "random read: native, no gain in speed to expect "
                        "after the first epoch"));
  ++facts.bytes;
  EXPECT_THAT(ChooseAuto(facts).why, HasSubstr("larger than memory"));
}

TEST(AutoChoiceTest, NothingToExpectOfASourceInMemory) {
  DatasetFacts facts = LargeClassFolders();
  facts.device = DeviceKind::kMemory;
  EXPECT_THAT(
      ChooseAuto(facts).why,
      HasSubstr(
          "source is in memory: native, no policy is expected to be faster"));
}

TEST(AutoChoiceTest, NamesEachDevice) {
  DatasetFacts facts = LargeClassFolders();
  facts.device = DeviceKind::kFlash;
  ExpectNative(facts, "little gain in speed");
  facts.device = DeviceKind::kUnknown;
  ExpectNative(facts, "device not recognised");
  EXPECT_THAT(ChooseAuto(facts).why, HasSubstr("no gain can be promised"));
}

TEST(AutoChoiceTest, WarnsOfASplitByNameWithoutAValidationSplit) {
  DatasetFacts facts = LargeClassFolders();
  EXPECT_THAT(ChooseAuto(facts).why, Not(HasSubstr("split by name")));
  facts.has_validation_split = false;
  EXPECT_THAT(ChooseAuto(facts).why,
              HasSubstr("no validation split beside them, so a client may "
                        "split by name"));
}

TEST(AutoChoiceTest, DoesNotOfferToMoveWhatMustNotMove) {
  DatasetFacts facts = LargeClassFolders();
  facts.names_may_move = false;
  facts.layout = "train/labels.csv lists the files";
  const std::string why = ChooseAuto(facts).why;
  EXPECT_THAT(why, HasSubstr("train/labels.csv lists the files; 1281167"));
  EXPECT_THAT(why, HasSubstr("names keep their own samples"));
  EXPECT_THAT(why, Not(HasSubstr("substitute")));
}

TEST(AutoChoiceTest, SmallAndUnknownFigures) {
  DatasetFacts facts;
  EXPECT_EQ(ChooseAuto(facts).why, "no files: native, nothing to shuffle");
  facts.files = 1;
  facts.bytes = 1023;
  EXPECT_EQ(ChooseAuto(facts).why,
            "1 file, 1023 bytes, the size of memory is not known; device not "
            "recognised: native, no gain can be promised; -o "
            "policy=lirs,layout=ranked gives readers in name order a full "
            "shuffle; names keep their own samples");
  facts.bytes = (1 << 20) - 1;
  EXPECT_THAT(ChooseAuto(facts).why, HasSubstr("1.0 MiB"));
}

TEST(AutoChoiceTest, EveryChoiceIsARegisteredPolicyAndOneLine) {
  for (auto device :
       {DeviceKind::kUnknown, DeviceKind::kMemory, DeviceKind::kFlash,
        DeviceKind::kSeekBound, DeviceKind::kLatencyBound}) {
    for (bool moves : {false, true}) {
      for (uint64_t files : {0, 1, 100000}) {
        DatasetFacts facts = LargeClassFolders();
        facts.device = device;
        facts.names_may_move = moves;
        facts.files = files;
        const AutoChoice choice = ChooseAuto(facts);
        EXPECT_THAT(PolicyNames(), Contains(absl::string_view(choice.policy)));
        EXPECT_THAT(choice.why, Not(HasSubstr("\n")));
      }
    }
  }
}

}  // namespace
}  // namespace shufflefs
