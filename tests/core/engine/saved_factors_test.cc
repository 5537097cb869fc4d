// SPDX-License-Identifier: Apache-2.0
#include "core/engine/saved_factors.h"

#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/files/atomic_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/mount-tools/temp_dir.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Key = SavedFactors::Key;

class SavedFactorsTest : public ::testing::Test {
 protected:
  void Write(absl::string_view text) {
    ASSERT_TRUE(ReplaceFile(path_, {text}).ok());
  }

  // What the log says while `text` is read; nothing must be in it then.
  std::string WarningOf(absl::string_view text) {
    Write(text);
    testing::internal::CaptureStderr();
    const SavedFactors saved(path_);
    EXPECT_THAT(saved.Load(key_), IsEmpty()) << text;
    return testing::internal::GetCapturedStderr();
  }

  TempDir dir_;
  const std::string path_ = dir_.path() + "/learnt";
  const Key key_ = {std::numeric_limits<uint64_t>::max(), "train", "resnet"};
};

TEST_F(SavedFactorsTest, ComesBackInTheNextRun) {
  {
    SavedFactors saved(path_);
    EXPECT_THAT(saved.Load(key_), IsEmpty());
    ASSERT_TRUE(saved.Store(key_, {4, 0, 1}).ok());
    ASSERT_TRUE(saved.Store(key_, {4, 2, 4294967295}).ok());
    EXPECT_THAT(saved.Load(key_), ElementsAre(4, 2, 4294967295));
  }
  SavedFactors next(path_);
  EXPECT_THAT(next.Load(key_), ElementsAre(4, 2, 4294967295));
  EXPECT_THAT(next.Load({key_.dataset - 1, "train", "resnet"}), IsEmpty());
  EXPECT_THAT(next.Load({key_.dataset, "", "resnet"}), IsEmpty());
  EXPECT_THAT(next.Load({key_.dataset, "train", ""}), IsEmpty());
}

TEST_F(SavedFactorsTest, NamesAreAnyBytes) {
  const Key key = {0, "tr\xff\"\\\n", std::string("m\0\xc3\xa4", 4)};
  ASSERT_TRUE(SavedFactors(path_).Store(key, {3}).ok());
  EXPECT_THAT(SavedFactors(path_).Load(key), ElementsAre(3));
}

TEST_F(SavedFactorsTest, IsBounded) {
  SavedFactors saved(path_);
  const auto key = [](size_t i) { return Key{i, "", ""}; };
  for (size_t i = 0; i < SavedFactors::kMostKeys; ++i) {
    ASSERT_TRUE(saved.Store(key(i), {1}).ok());
  }
  ASSERT_TRUE(saved.Store(key(0), {2}).ok());  // is the last one now
  const std::vector<uint32_t> many(5000, 7);
  ASSERT_TRUE(saved.Store(key(1000), many).ok());
  EXPECT_THAT(saved.Load(key(0)), ElementsAre(2));
  EXPECT_THAT(saved.Load(key(1)), IsEmpty());
  EXPECT_THAT(saved.Load(key(2)), ElementsAre(1));
  EXPECT_EQ(saved.Load(key(1000)).size(), SavedFactors::kMostFactors);
  EXPECT_EQ(SavedFactors(path_).Load(key(1000)).size(),
            SavedFactors::kMostFactors);
}

// [S-7.1d] The factors that were learnt are kept by dataset, view and
// met.model, and a file of them that is damaged counts as empty.
TEST_F(SavedFactorsTest, WhatIsDamagedCountsAsEmptyAndIsReplaced) {
  ASSERT_TRUE(SavedFactors(path_).Store(key_, {4, 2}).ok());
  const std::string whole = *ReadWholeFile(path_, 1 << 30);
  for (size_t size = 0; size + 2 < whole.size(); size += 7) {
    EXPECT_THAT(WarningOf(whole.substr(0, size)), HasSubstr(path_)) << size;
  }
  SavedFactors saved(path_);
  EXPECT_THAT(saved.Load(key_), IsEmpty());
  ASSERT_TRUE(saved.Store(key_, {1}).ok());
  EXPECT_THAT(SavedFactors(path_).Load(key_), ElementsAre(1));
}

TEST_F(SavedFactorsTest, WhatIsForeignCountsAsEmpty) {
  const std::string head = "{\"format\":\"shufflefs learnt factors, 1\"";
  const std::string item = "{\"dataset\":1,\"view\":\"\",\"model\":\"\"";
  const auto list = [&](const std::string& items) {
    return absl::StrCat(head, ",\"learnt\":[", items, "]}");
  };
  EXPECT_EQ(WarningOf(list(item + ",\"factors\":[1]}")), "");
  for (const std::string& text :
       {std::string("PK\x03\x04"), std::string("[]"), std::string("{}"),
        std::string(20, '\0'), std::string(100000, '['), head + "}",
        std::string("{\"format\":\"another\",\"learnt\":[]}"), list("7"),
        list(item + "}"), list(item + ",\"factors\":[-1]}"),
        list(item + ",\"factors\":[4294967296]}"),
        list(item + ",\"factors\":[1.5]}"), list(item + ",\"factors\":7}"),
        list("{\"dataset\":\"1\",\"view\":\"\",\"model\":\"\","
             "\"factors\":[1]}"),
        list("{\"dataset\":1,\"view\":\"\\\\z\",\"model\":\"\","
             "\"factors\":[1]}")}) {
    EXPECT_THAT(WarningOf(text), HasSubstr("factors are dropped")) << text;
  }
}

TEST_F(SavedFactorsTest, AFileThatCannotBeReadOrWritten) {
  testing::internal::CaptureStderr();
  SavedFactors saved(dir_.path());  // a directory
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(dir_.path()));
  SavedFactors nowhere(dir_.path() + "/none/learnt");
  const absl::Status stored = nowhere.Store(key_, {3});
  EXPECT_THAT(std::string(stored.message()), HasSubstr("none/learnt"));
  EXPECT_THAT(nowhere.Load(key_), ElementsAre(3)) << "it is kept in memory";
}

TEST_F(SavedFactorsTest, AnyThreadMayCall) {
  SavedFactors saved(path_);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&saved, t] {
      for (uint32_t i = 0; i < 20; ++i) {
        EXPECT_TRUE(saved.Store({t, "", ""}, {i}).ok());
        EXPECT_THAT(saved.Load({t, "", ""}), ElementsAre(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const SavedFactors next(path_);
  for (uint64_t t = 0; t < 4; ++t) {
    EXPECT_THAT(next.Load({t, "", ""}), ElementsAre(19));
  }
}

}  // namespace
}  // namespace shufflefs
