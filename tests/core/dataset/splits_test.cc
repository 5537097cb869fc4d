// SPDX-License-Identifier: Apache-2.0
#include "core/dataset/splits.h"

#include <random>
#include <regex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

// [S-3.5b] A split is told by its name.
TEST(SplitsTest, ValidationSplits) {
  for (const char* name :
       {"val", "Val2017", "VAL", "valid", "validation", "dev", "eval", "Dev",
        "val_256", "imagenet-val-0001.tar", "ILSVRC2012_val_00000001.JPEG",
        "validation-00000-of-00128", "dev-clean", "my.eval.jsonl", "2val3",
        "x_VALIDATION", "cifar10-dev.tfrecord", "\xc3\xa9val", "val."}) {
    EXPECT_EQ(SplitOf(name), SplitKind::kValidation) << name;
  }
}

TEST(SplitsTest, TestSplits) {
  for (const char* name :
       {"test", "Testing", "my-test_set", "test2", "t10k-images",
        "t10k-images-idx3-ubyte", "T10K", "mnist_t10k.gz", "a9a.t", "mnist.t",
        "test.csv", "20news-bydate-test", "testing_list.txt", "TEST_01",
        "GT-final_test.csv", "\xe6\xb5\x8b\xe8\xaf\x95test"}) {
    EXPECT_EQ(SplitOf(name), SplitKind::kTest) << name;
  }
}

TEST(SplitsTest, WordsThatOnlyHoldOne) {
  for (const char* name :
       {"validated", "device",   "contest",   "latest", "evaluation",
        "develop",   "interval", "testament", "valley", "tests",
        "devices",   "evals",    "attest",    "tested", "protest",
        "invalid",   "carnival", "medieval",  "train",  "",
        ".",         "a",        "t",         "a9a",    "a.tt",
        "xt10k",     "t10kx",    "t100k",     "10k",    "a.txt",
        "data.tar",  "unit.ts"}) {
    EXPECT_EQ(SplitOf(name), SplitKind::kNone) << name;
  }
}

TEST(SplitsTest, DirectoriesBelowASplitAreInIt) {
  testing_support::TempTree tree;
  tree.Files({"train/cat/1", "val/cat/1", "x/test/y/z/1", "x/testy/1"});
  Catalogue catalogue = tree.Scanned();
  std::vector<bool> split = SplitDirs(catalogue);
  auto of = [&](const char* path) {
    return split[catalogue.FindDir(path)->value()];
  };
  for (const char* path : {"val", "val/cat", "x/test", "x/test/y/z"}) {
    EXPECT_TRUE(of(path)) << path;
  }
  for (const char* path : {"", "train", "train/cat", "x", "x/testy"}) {
    EXPECT_FALSE(of(path)) << path;
  }
}

// Against the rule as a regular expression, on names of pieces of its words.
TEST(SplitsTest, AgreesWithAPlainSearchOnRandomNames) {
  const std::regex validation(
      "(^|[^a-z])(val|valid|validation|dev|eval)($|[^a-z])", std::regex::icase);
  const std::regex test("(^|[^a-z])(test|testing|t10k)($|[^a-z])|\\.t$",
                        std::regex::icase);
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> pieces = {
      "val", "VALID", "dev", "Test",  "testing", "T10k", "t", ".", "_",
      "1",   "jpeg",  "e",   "ation", "ing",     "10",   "k", "-", "eval"};
  int splits = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string name;
    for (unsigned k = 1 + random() % 5; k > 0; --k) {
      name += pieces[random() % pieces.size()];
    }
    const bool expected =
        std::regex_search(name, validation) || std::regex_search(name, test);
    EXPECT_EQ(SplitOf(name) != SplitKind::kNone, expected) << name;
    splits += expected;
  }
  EXPECT_GT(splits, 1000);
  EXPECT_LT(splits, 19000);
}

}  // namespace
}  // namespace shufflefs
