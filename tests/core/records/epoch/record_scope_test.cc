// SPDX-License-Identifier: Apache-2.0
// Which containers are mixed with each other, and what an epoch then shows.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/mutex.h"
#include "core/records/containers/container_set.h"
#include "core/records/epoch/record_epoch.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/formats/tfrecord/tfrecord_fixture.h"
#include "tests/core/pool/test_memory.h"
#include "tests/core/records/containers/record_fixture.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::PolicyOf;
using testing_support::TempTree;
using testing_support::Tfrecord;
using testing_support::Tfrecords;

using Contents = std::map<std::string, std::string>;  // by path

// Answers at once.
class StringSource : public SampleSource {
 public:
  explicit StringSource(std::map<EntryId, std::string> contents)
      : contents_(std::move(contents)) {}
  void Fetch(std::vector<FilePiece> pieces) override {
    for (FilePiece& piece : pieces) FetchNow(std::move(piece));
  }
  void FetchNow(FilePiece piece) override {
    const std::string& content = contents_.at(piece.file);
    uint64_t at = piece.offset;
    for (const iovec& run : piece.into) {
      if (at >= content.size()) break;
      const size_t bytes = std::min<uint64_t>(run.iov_len, content.size() - at);
      std::memcpy(run.iov_base, content.data() + at, bytes);
      at += bytes;
    }
    piece.done(absl::OkStatus());
  }
  uint64_t bytes_read() const override { return 0; }
  uint64_t reads() const override { return 0; }
  std::string how() const override { return "strings"; }

 private:
  const std::map<EntryId, std::string> contents_;
};

class RecordScopeTest : public ::testing::Test {
 protected:
  void Make(const Contents& contents, RecordScope scope,
            RecordOptions record = {}) {
    for (const auto& [path, content] : contents) tree_.File(path, content);
    ViewConfig config;
    record.scope = scope;
    config.record = record;
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    set_ =
        std::make_shared<ContainerSet>(*Dataset::Make(catalogue_, config, ""),
                                       *RecordRules::Parse(config.record));
    std::map<EntryId, std::string> by_entry;
    for (const auto& [path, content] : contents) {
      by_entry[Entry(path)] = content;
    }
    RecordProducer::Parts parts;
    parts.source = std::make_unique<StringSource>(std::move(by_entry));
    parts.memory = testing_support::TestMemory(RecordProducer::kLeastMemory);
    pool_ = *RecordProducer::Make(std::move(parts));
  }
  void Index() { set_->Index(tree_.Source(), {}); }
  EntryId Entry(const std::string& path) const {
    return *catalogue_->FindPath(path);
  }
  std::map<std::string, std::string> Untouched() const {
    std::map<std::string, std::string> untouched;
    for (const auto& each : set_->Report().untouched) {
      untouched[each.path] = each.why;
    }
    return untouched;
  }
  std::shared_ptr<RecordEpoch> EpochOf(uint64_t epoch, const char* policy) {
    PolicyOptions options;
    options.Set("reimu.block", 4096);
    options.Set("reimu.window", 3);
    options.Set("window.samples", 30);
    RecordEpoch::Parts parts;
    parts.containers = set_;
    parts.producer = pool_;
    parts.policy = PolicyOf(policy, options);
    parts.seed = Seed(1);
    parts.epoch = Epoch(epoch);
    return std::make_shared<RecordEpoch>(std::move(parts));
  }
  std::string Whole(RecordEpoch& epoch, const std::string& path) {
    const EntryId file = Entry(path);
    const uint64_t size = epoch.bytes(file);
    std::string all;
    for (uint64_t at = 0; at < size; at += 40000) {
      epoch.Read(file, at, 40000,
                 [&](absl::StatusOr<absl::Span<const iovec>> got) {
                   ASSERT_TRUE(got.ok()) << got.status();
                   for (const iovec& piece : *got) {
                     all.append(static_cast<const char*>(piece.iov_base),
                                piece.iov_len);
                   }
                 });
    }
    EXPECT_EQ(all.size(), size) << path;
    return all;
  }

  TempTree tree_;
  std::shared_ptr<const Catalogue> catalogue_;
  std::shared_ptr<ContainerSet> set_;
  std::shared_ptr<RecordProducer> pool_;
};

std::vector<std::string> Numbers(uint64_t from, uint64_t count) {
  std::vector<std::string> data;
  for (uint64_t i = from; i < from + count; ++i) {
    data.push_back(absl::StrCat(i, ":", std::string(i * 37 % 500, 'x')));
  }
  return data;
}

// The data of a TFRecord file, by its lengths alone.
std::vector<std::string> DataOf(const std::string& file) {
  std::vector<std::string> data;
  for (size_t at = 0; at < file.size();) {
    uint64_t length = 0;
    std::memcpy(&length, file.data() + at, 8);
    data.push_back(file.substr(at + 12, length));
    EXPECT_EQ(file.substr(at, 16 + length), Tfrecord(data.back()));
    at += 16 + length;
  }
  return data;
}

std::vector<std::string> Sorted(std::vector<std::string> data) {
  std::sort(data.begin(), data.end());
  return data;
}

TEST_F(RecordScopeTest, ASetIsMixedAsAWhole) {
  const std::map<std::string, uint64_t> counts = {{"a/t-00000-of-00003", 900},
                                                  {"a/t-00001-of-00003", 40},
                                                  {"a/t-00002-of-00003", 1300}};
  Contents contents;
  std::vector<std::string> all;
  for (const auto& [path, count] : counts) {
    const auto data = Numbers(all.size(), count);
    contents[path] = Tfrecords(data);
    all.insert(all.end(), data.begin(), data.end());
  }
  contents["a/alone.tfrecord"] = Tfrecords(Numbers(5000, 300));
  contents["val/t-00000-of-00001"] = Tfrecords(Numbers(7000, 3));
  Make(contents, RecordScope::kSet);
  Index();
  EXPECT_EQ(set_->count(), 4u);
  for (const char* policy : {"lirs", "reimu", "window"}) {
    std::vector<std::string> shown_before;
    for (uint64_t e = 0; e < 2; ++e) {
      const auto epoch = EpochOf(e, policy);
      const auto again = EpochOf(e, policy);
      std::vector<std::string> shown;
      for (const auto& [path, count] : counts) {
        const std::string content = Whole(*epoch, path);
        EXPECT_TRUE(content == Whole(*again, path));
        const auto data = DataOf(content);
        EXPECT_EQ(data.size(), count);
        shown.insert(shown.end(), data.begin(), data.end());
      }
      EXPECT_TRUE(Sorted(shown) == Sorted(all)) << policy;
      EXPECT_TRUE(shown != all && shown != shown_before) << policy;
      shown_before = shown;
      const auto alone = DataOf(Whole(*epoch, "a/alone.tfrecord"));
      EXPECT_TRUE(Sorted(alone) == Sorted(Numbers(5000, 300)));
      epoch->ReleaseOrders();
      EXPECT_EQ(DataOf(Whole(*epoch, "a/t-00001-of-00003")).size(), 40u);
      EXPECT_EQ(epoch->complete(), 4u);
    }
  }
}

TEST_F(RecordScopeTest, WhatAContainerIsIsToldWhenThatOfAllIsKnown) {
  Make({{"t-00000-of-00002", Tfrecords(Numbers(0, 9))},
        {"t-00001-of-00002", Tfrecords(Numbers(9, 9))}},
       RecordScope::kSet);
  int told = 0;
  set_->WhenReady(Entry("t-00000-of-00002"), [&](const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(set_->Shape(Entry("t-00000-of-00002"))->family->table->count(),
              18u);
    ++told;
  });
  EXPECT_EQ(told, 0);
  Index();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(set_->Report().records, 18u);
}

TEST_F(RecordScopeTest, ASetThatIsNotWholeIsUntouched) {
  Make({{"t-00000-of-00003", Tfrecords(Numbers(0, 9))},
        {"t-00002-of-00003", Tfrecords(Numbers(9, 9))},
        {"u-00000-of-00002", Tfrecords(Numbers(0, 9))},
        {"u-00001-of-00002", "something else"}},
       RecordScope::kSet);
  Index();
  EXPECT_EQ(set_->count(), 0u);
  EXPECT_THAT(Untouched()["t-00000-of-00003"],
              HasSubstr("of its set 2 containers of 3 are there"));
  EXPECT_THAT(Untouched()["u-00000-of-00002"],
              HasSubstr("u-00001-of-00002: its first bytes"));
}

TEST_F(RecordScopeTest, HeadersMustBeTheSame) {
  RecordOptions record;
  record.as = "*.csv:lines";
  record.header = 1;
  const Contents same = {
      {"x/a-0-of-2.csv", absl::StrCat("h\n", "1\n22\n333\n4444")},
      {"x/a-1-of-2.csv", absl::StrCat("h\n", "aaaaaaaaaaaaa\nb\nc\n")},
      {"y/a-0-of-2.csv", absl::StrCat("h\n", "1\n2\n")},
      {"y/a-1-of-2.csv", absl::StrCat("g\n", "1\n2\n")}};
  Make(same, RecordScope::kSet, record);
  Index();
  EXPECT_EQ(set_->count(), 2u);
  EXPECT_THAT(Untouched()["y/a-0-of-2.csv"],
              HasSubstr("y/a-1-of-2.csv begins with another header than "
                        "y/a-0-of-2.csv"));
  std::vector<std::string> lines;
  const auto epoch = EpochOf(4, "lirs");
  for (const auto& [path, count] : std::map<std::string, size_t>{
           {"x/a-0-of-2.csv", 4}, {"x/a-1-of-2.csv", 3}}) {
    std::vector<std::string> shown = absl::StrSplit(Whole(*epoch, path), '\n');
    EXPECT_EQ(shown.front(), "h");
    if (shown.back().empty()) shown.pop_back();
    EXPECT_EQ(shown.size(), count + 1) << path;
    lines.insert(lines.end(), shown.begin() + 1, shown.end());
  }
  EXPECT_EQ(Sorted(lines),
            (std::vector<std::string>{"1", "22", "333", "4444", "aaaaaaaaaaaaa",
                                      "b", "c"}));
  EXPECT_EQ(Whole(*epoch, "y/a-0-of-2.csv"), same.at("y/a-0-of-2.csv"));
}

TEST_F(RecordScopeTest, AViewIsMixedWithoutItsSplits) {
  Make({{"a/x.tfrecord", Tfrecords(Numbers(0, 300))},
        {"b/y.tfrecord", Tfrecords(Numbers(300, 200))},
        {"val/z.tfrecord", Tfrecords(Numbers(900, 100))}},
       RecordScope::kView);
  Index();
  EXPECT_EQ(set_->count(), 2u);
  EXPECT_FALSE(set_->Has(Entry("val/z.tfrecord")));
  const auto epoch = EpochOf(0, "lirs");
  auto shown = DataOf(Whole(*epoch, "a/x.tfrecord"));
  EXPECT_EQ(shown.size(), 300u);
  const auto more = DataOf(Whole(*epoch, "b/y.tfrecord"));
  EXPECT_EQ(more.size(), 200u);
  EXPECT_TRUE(Sorted(shown) != Sorted(Numbers(0, 300)));
  shown.insert(shown.end(), more.begin(), more.end());
  EXPECT_TRUE(Sorted(shown) == Sorted(Numbers(0, 500)));
}

TEST_F(RecordScopeTest, AViewIsMixedByFormatAndHeader) {
  RecordOptions record;
  record.as = "*.csv:lines;*.tsv:lines";
  record.header = 1;
  const Contents contents = {{"a/1.csv", "h\n1\n2\n3\n"},
                             {"a/2.csv", "g\n4\n5\n"},
                             {"a/3.tsv", "h\n6\n7\n"},
                             {"b/4.csv", "h\n8\n9\n"},
                             {"b/bad.tfrecord", "something else"},
                             {"b/x.tfrecord", Tfrecords(Numbers(0, 9))},
                             {"b/y.tfrecord", Tfrecords(Numbers(9, 9))}};
  Make(contents, RecordScope::kView, record);
  Index();
  const auto family = [&](const char* path) {
    return set_->Shape(Entry(path))->family;
  };
  EXPECT_NE(family("a/1.csv"), nullptr);
  EXPECT_EQ(family("a/1.csv"), family("b/4.csv"));
  EXPECT_EQ(family("a/1.csv")->table->count(), 5u);
  EXPECT_EQ(family("a/2.csv"), nullptr);
  EXPECT_EQ(family("a/3.tsv"), nullptr);
  EXPECT_EQ(family("b/bad.tfrecord"), nullptr);
  EXPECT_EQ(family("b/x.tfrecord"), family("b/y.tfrecord"));
  EXPECT_EQ(family("b/x.tfrecord")->table->count(), 18u);
  EXPECT_EQ(Untouched().size(), 1u);
  EXPECT_THAT(Untouched()["b/bad.tfrecord"], HasSubstr("first bytes"));
  const auto epoch = EpochOf(0, "lirs");
  EXPECT_EQ(Whole(*epoch, "a/2.csv").size(), 6u);
  EXPECT_EQ(Whole(*epoch, "b/bad.tfrecord"), "something else");
}

TEST_F(RecordScopeTest, GroupsOfRowsAreNotMixed) {
  const Contents contents = {{"p-0-of-2.parquet", "PAR1"},
                             {"p-1-of-2.parquet", "PAR1"},
                             {"q.arrow", "ARROW1"},
                             {"t.tfrecord", Tfrecords(Numbers(0, 9))}};
  Make(contents, RecordScope::kView);
  EXPECT_EQ(set_->count(), 1u);
  EXPECT_THAT(Untouched()["p-0-of-2.parquet"],
              HasSubstr("record.scope: row groups are not mixed"));
  EXPECT_THAT(Untouched()["q.arrow"],
              HasSubstr("record.scope: record batches are not mixed"));
  Make(contents, RecordScope::kSet);
  EXPECT_EQ(set_->count(), 2u);
  EXPECT_THAT(Untouched()["p-1-of-2.parquet"],
              HasSubstr("record.scope: row groups are not mixed"));
  EXPECT_TRUE(set_->Has(Entry("q.arrow")));
}

TEST_F(RecordScopeTest, SizesAreToldWhenTheyAreKnown) {
  const Contents contents = {{"t-0-of-2", Tfrecords(Numbers(0, 90))},
                             {"t-1-of-2", Tfrecords(Numbers(90, 200))},
                             {"u-0-of-2", Tfrecords(Numbers(0, 9))},
                             {"u-1-of-2", "something else"},
                             {"v.tfrecord", Tfrecords(Numbers(0, 9))}};
  Make(contents, RecordScope::kSet);
  EXPECT_EQ(set_->largest_bytes(),
            contents.at("t-0-of-2").size() + contents.at("t-1-of-2").size());
  const auto epoch = EpochOf(0, "lirs");
  EXPECT_FALSE(epoch->KnownBytes(Entry("t-0-of-2")));
  EXPECT_FALSE(epoch->KnownBytes(Entry("u-0-of-2")));
  EXPECT_FALSE(set_->IsMixed(Entry("v.tfrecord")));
  EXPECT_EQ(epoch->KnownBytes(Entry("v.tfrecord"))->bytes,
            contents.at("v.tfrecord").size());
  // Told by the threads that index, of two sets at once.
  Mutex mu;
  std::map<std::string, uint64_t> told;
  for (const char* path : {"t-0-of-2", "t-1-of-2", "u-0-of-2"}) {
    epoch->WhenSized(Entry(path), [&, path](absl::StatusOr<uint64_t> bytes) {
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      MutexLock lock(mu);
      told[path] = *bytes;
    });
  }
  EXPECT_TRUE(told.empty());
  Index();
  EXPECT_EQ(told["t-0-of-2"] + told["t-1-of-2"], set_->largest_bytes());
  EXPECT_NE(told["t-0-of-2"], contents.at("t-0-of-2").size());
  EXPECT_EQ(told["u-0-of-2"], contents.at("u-0-of-2").size());
  for (const auto& [path, bytes] : told) {
    EXPECT_EQ(epoch->KnownBytes(Entry(path))->bytes, bytes);
    EXPECT_EQ(Whole(*epoch, path).size(), bytes);
  }
}

TEST_F(RecordScopeTest, WhoWaitsForASizeIsToldThatIndexingStopped) {
  Make({{"t-0-of-2", Tfrecords(Numbers(0, 9))},
        {"t-1-of-2", Tfrecords(Numbers(9, 9))}},
       RecordScope::kSet);
  const auto epoch = EpochOf(0, "lirs");
  absl::Status told;
  epoch->WhenSized(Entry("t-0-of-2"), [&](absl::StatusOr<uint64_t> bytes) {
    told = bytes.status();
  });
  std::stop_source stop;
  stop.request_stop();
  ContainerSet::IndexOptions options;
  options.stop = stop.get_token();
  set_->Index(tree_.Source(), options);
  EXPECT_TRUE(absl::IsCancelled(told)) << told;
}

// The line that lacks its end may be shown in front of others.
TEST_F(RecordScopeTest, AnOpenLineGetsTheEndThatTheOthersHave) {
  RecordOptions record;
  record.as = "*.txt:lines";
  const Contents contents = {{"a-0-of-2.txt", "a\r\nbb\r\nccc"},
                             {"a-1-of-2.txt", "dddd\r\ne\r\n"},
                             // Only the other file shows how lines end.
                             {"b-0-of-2.txt", "alone"},
                             {"b-1-of-2.txt", "1\r\n22\r\n333\r\n"},
                             {"c-0-of-2.txt", "alone"},
                             {"c-1-of-2.txt", "1\n22\n333\n"},
                             {"d-0-of-2.txt", "alone"},
                             {"d-1-of-2.txt", "too"}};
  Make(contents, RecordScope::kSet, record);
  Index();
  EXPECT_THAT(Untouched(), ::testing::IsEmpty());
  const std::map<char, std::vector<std::string>> lines = {
      {'a', {"a\r", "bb\r", "ccc\r", "dddd\r", "e\r"}},
      {'b', {"1\r", "22\r", "333\r", "alone\r"}},
      {'c', {"1", "22", "333", "alone"}},
      {'d', {"alone", "too"}}};
  for (const char* policy : {"lirs", "reimu", "window"}) {
    for (uint64_t e = 0; e < 8; ++e) {
      const auto epoch = EpochOf(e, policy);
      std::map<char, std::string> shown;
      for (const auto& [path, content] : contents) {
        shown[path[0]] += Whole(*epoch, path);
      }
      for (const auto& [set, expected] : lines) {
        std::vector<std::string> all = absl::StrSplit(shown[set], '\n');
        EXPECT_EQ(all.back(), "") << set;
        all.pop_back();
        EXPECT_EQ(Sorted(all), expected) << set << " " << policy << " " << e;
      }
    }
  }
}

// Alone, whichever line comes last would have to give up a CR LF, which it may
// not have.
TEST_F(RecordScopeTest, WhatIsNotMixedAndWouldLoseHalfAnEndIsUntouched) {
  RecordOptions record;
  record.as = "*.csv:lines";
  record.header = 1;
  const Contents contents = {{"1.csv", "h\r\n1\r\n2\r\n3"},
                             {"2.csv", "g\r\n4\r\n5"},
                             {"3.csv", "h\r\n6\r\n7\r\n"},
                             {"4.csv", "f\r\n8"}};
  Make(contents, RecordScope::kView, record);
  Index();
  EXPECT_EQ(Untouched(),
            (std::map<std::string, std::string>{
                {"2.csv",
                 "its lines end in CR LF, but the last line does not end"}}));
  EXPECT_EQ(set_->count(), 3u);
  for (uint64_t e = 0; e < 4; ++e) {
    const auto epoch = EpochOf(e, "lirs");
    for (const char* path : {"2.csv", "4.csv"}) {
      EXPECT_EQ(Whole(*epoch, path), contents.at(path));
    }
    const std::string mixed =
        Whole(*epoch, "1.csv").substr(3) + Whole(*epoch, "3.csv").substr(3);
    std::vector<std::string> all = absl::StrSplit(mixed, "\r\n");
    EXPECT_EQ(Sorted(all),
              (std::vector<std::string>{"", "1", "2", "3", "6", "7"}));
  }
}

// A reader of fixed records would get pieces of others.
TEST_F(RecordScopeTest, FilesWhoseRulesDifferAreNotMixed) {
  const std::string of_ten(600, 'a');
  const std::string of_four(400, 'b');
  RecordOptions record;
  record.as = "a*:fixed,bytes=10;b*:fixed,bytes=4";
  Make({{"a0", of_ten}, {"a1", of_ten}, {"b0", of_four}, {"b1", of_four}},
       RecordScope::kView, record);
  Index();
  const auto epoch = EpochOf(0, "lirs");
  for (const char* path : {"a0", "a1"}) EXPECT_EQ(Whole(*epoch, path), of_ten);
  for (const char* path : {"b0", "b1"}) EXPECT_EQ(Whole(*epoch, path), of_four);
}

TEST_F(RecordScopeTest, ASetWhoseRulesDifferIsLeftAsItIs) {
  RecordOptions record;
  record.as = "x-00000*:fixed,bytes=10;x-*:fixed,bytes=4";
  Make({{"x-00000-of-00002", std::string(600, 'a')},
        {"x-00001-of-00002", std::string(400, 'b')}},
       RecordScope::kSet, record);
  Index();
  for (const auto& [path, why] : Untouched()) {
    EXPECT_EQ(why, "record.as: the files of its set have different options");
  }
  EXPECT_EQ(Untouched().size(), 2u);
}

}  // namespace
}  // namespace shufflefs
