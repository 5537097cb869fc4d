// SPDX-License-Identifier: Apache-2.0
#include "core/records/containers/container_set.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/base/parallel.h"
#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/formats/tfrecord/tfrecord_fixture.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing_support::TempTree;
using testing_support::Tfrecords;

class ContainerSetTest : public ::testing::Test {
 protected:
  // Of the tree as it is now.
  std::shared_ptr<ContainerSet> Make(const ViewConfig& config = {},
                                     const ContainerSetOptions& options = {}) {
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    auto dataset = Dataset::Make(catalogue_, config, "");
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    auto rules = RecordRules::Parse(config.record);
    EXPECT_TRUE(rules.ok()) << rules.status();
    return std::make_shared<ContainerSet>(*std::move(dataset),
                                          *std::move(rules), options);
  }
  EntryId Entry(const std::string& path) const {
    return *catalogue_->FindPath(path);
  }
  std::vector<std::string> Containers(const ContainerSet& set) const {
    std::vector<std::string> paths;
    for (uint32_t e = 0; e < catalogue_->entry_count(); ++e) {
      if (set.Has(EntryId(e))) paths.push_back(catalogue_->path(EntryId(e)));
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  static std::map<std::string, std::string> Untouched(const ContainerSet& set) {
    std::map<std::string, std::string> untouched;
    for (const auto& each : set.Report().untouched) {
      untouched[each.path] = each.why;
    }
    return untouched;
  }
  static ViewConfig As(const std::string& as) {
    ViewConfig config;
    config.record.as = as;
    return config;
  }

  TempTree tree_;
  TempTree state_;
  std::shared_ptr<const Catalogue> catalogue_;
};

TEST_F(ContainerSetTest, NamesSayWhatIsAContainer) {
  tree_.Files({"a/x.tar", "train-00000-of-00002", "b.tfrecord", "notes.txt",
               "c.csv", "d.npy", "train-images-idx3-ubyte"});
  const auto set = Make();
  EXPECT_THAT(Containers(*set),
              ElementsAre("a/x.tar", "b.tfrecord", "train-00000-of-00002"));
  EXPECT_THAT(Untouched(*set), IsEmpty());
  EXPECT_EQ(set->count(), 3u);
  EXPECT_FALSE(set->empty());
}

TEST_F(ContainerSetTest, SplitsHiddenEmptyFilesAndLinksAreNone) {
  tree_.Files(
      {"train/x.tar", "val/x.tar", "x-test.tar", ".cache/x.tar", ".x.tar"});
  tree_.File("empty.tar", "");
  tree_.Link("link.tar", "train/x.tar");
  tree_.Dir("folder.tar");
  const auto set = Make();
  EXPECT_THAT(Containers(*set), ElementsAre("train/x.tar"));
  const auto untouched = Untouched(*set);
  for (const char* path : {"val/x.tar", "x-test.tar", "empty.tar"}) {
    ASSERT_TRUE(untouched.contains(path)) << path;
    EXPECT_THAT(untouched.at(path), HasSubstr("split, hidden, empty")) << path;
  }
  EXPECT_FALSE(untouched.contains("link.tar"));
  EXPECT_FALSE(untouched.contains("folder.tar"));
}

TEST_F(ContainerSetTest, AFileWithASidecarIsUntouched) {
  tree_.Files({"pair/a.tar", "pair/a.idx", "own/b.tar", "own/b.tar.idx",
               "own/c.tfrecord", "own/c.tfrecord.index", "own/free.tar",
               "mds/d.tar", "mds/index.json"});
  for (const PairMode pair : {PairMode::kStem, PairMode::kOff}) {
    ViewConfig config;
    config.pair = pair;
    const auto set = Make(config);
    EXPECT_THAT(Containers(*set), ElementsAre("own/free.tar"));
    const auto untouched = Untouched(*set);
    EXPECT_EQ(untouched.size(), 4u);
    for (const auto& [path, why] : untouched) {
      EXPECT_THAT(why, HasSubstr("sidecar")) << path;
    }
  }
}

TEST_F(ContainerSetTest, ARuleThatDecidesNoFileIsNamed) {
  tree_.Files({"a/x.npy", "val/y.csv", "X.bin", "y.bin", "z.tar"});
  ViewConfig config =
      As("*.npyy:npy;a/*:npy;x.npy:npy;y.csv:lines;y.bin:fixed,bytes=1");
  config.record.align = "X.bin:y.bin";
  EXPECT_THAT(
      Make(config)->Report().warnings,
      ElementsAre("record.as: *.npyy:npy decides no file: none matches, or an "
                  "earlier rule does; correct its pattern",
                  ::testing::StartsWith("record.as: x.npy:npy decides no ")));
  EXPECT_THAT(Make(As("*:tar"))->Report().warnings, IsEmpty());
  ContainerSetOptions options;
  options.rules_are_shared = true;
  EXPECT_THAT(Make(As("*.npyy:npy"), options)->Report().warnings, IsEmpty());
}

TEST_F(ContainerSetTest, FilesThatShareAnIndexAreUntouched) {
  tree_.Files({"a.tfrecord", "a.tfrecords", "a.idx", "b.tfrecord", "b.idx"});
  ViewConfig config;
  config.pair = PairMode::kOff;
  const auto set = Make(config);
  EXPECT_THAT(Containers(*set), ElementsAre("b.tfrecord"));
  EXPECT_FALSE(set->IndexedBy(Entry("a.idx")).has_value());
  EXPECT_EQ(Untouched(*set).size(), 2u);
}

// Only families compare what is before their records.
TEST_F(ContainerSetTest, HeadsAreReadForFamiliesOnly) {
  tree_.Files({"X.bin", "y.bin", "a-00000-of-00002.tar", "a-00001-of-00002.tar",
               "u.parquet", "v.parquet"});
  for (const RecordScope scope : {RecordScope::kFile, RecordScope::kSet}) {
    ViewConfig config;
    config.record.as = "*.bin:fixed,bytes=1";
    config.record.align = "X.bin:y.bin";
    config.record.scope = scope;
    const auto set = Make(config);
    ContainerSet::IndexOptions options;
    std::atomic<int> asked{0};
    std::atomic<int> hashed{0};
    options.find = [&](const SourceDir& source, const IndexRequest& request) {
      ++asked;
      hashed += request.wants_head_hash;
      return IndexContainer(source, request);
    };
    set->Index(tree_.Source(), options);
    EXPECT_GE(asked, 4);
    EXPECT_EQ(hashed, scope == RecordScope::kSet ? 2 : 0);
  }
}

TEST_F(ContainerSetTest, WhatTheUserNamesIsOneWhateverItsSidecars) {
  tree_.Files({"train.svm", "train.json", "deep/more.svm", "val/v.svm", "a.tar",
               "a.tar.idx"});
  const auto set = Make(As("*.svm:lines;a.tar:lines"));
  EXPECT_THAT(Containers(*set),
              ElementsAre("a.tar", "deep/more.svm", "train.svm"));
  EXPECT_TRUE(Untouched(*set).contains("val/v.svm"));
}

TEST_F(ContainerSetTest, NothingIsAContainerWhereNamesMove) {
  tree_.Files({"cats/a.tar", "cats/b.tar", "dogs/c.tar", "dogs/d.tar"});
  ViewConfig config;
  config.substitute = Substitute::kDirectory;
  const auto set = Make(config);
  EXPECT_TRUE(set->empty());
  EXPECT_EQ(set->count(), 0u);
  EXPECT_EQ(set->Report().containers, 0u);
  EXPECT_EQ(Untouched(*set).size(), 4u);
  EXPECT_THAT(Untouched(*set)["cats/a.tar"],
              HasSubstr("names show other files"));
}

TEST_F(ContainerSetTest, AViewSeesItsSubtreeAndNamesItFromThere) {
  tree_.Files({"train/a.svm", "other/a.svm", "a.svm"});
  ViewConfig config = As("*.svm:lines");
  const auto all = Make(config);
  const uint64_t at_the_top = all->key(Entry("a.svm"));
  EXPECT_NE(all->key(Entry("train/a.svm")), at_the_top);
  config.path = "train";
  const auto set = Make(config);
  EXPECT_THAT(Containers(*set), ElementsAre("train/a.svm"));
  EXPECT_EQ(set->key(Entry("train/a.svm")), at_the_top);
}

TEST_F(ContainerSetTest, WhatIsInAViewInsideIsOfThatView) {
  tree_.Files({"a.tar", "train/b.tar", "train/in/c.tar", "zoo/d.tar",
               "val/e.tar", "val/f.tar"});
  catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
  auto dataset = Dataset::Make(catalogue_, ViewConfig(), "");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const std::shared_ptr<const Dataset> shared = *std::move(dataset);
  const ContainerSet set(shared, RecordRules(),
                         {"train/in", "train", "val", "no/such"});
  EXPECT_THAT(Containers(set), ElementsAre("a.tar", "zoo/d.tar"));
  EXPECT_EQ(set.Report().containers, 2u);
  EXPECT_THAT(Untouched(set), IsEmpty());
  EXPECT_THAT(Untouched(ContainerSet(shared, RecordRules(), {"train"})),
              SizeIs(2));
}

TEST_F(ContainerSetTest, TheIndexIsMadeAndSaved) {
  tree_.File("a.tfrecord", Tfrecords({"one", "two", "three"}));
  tree_.File("b.tfrecord", "nothing of the kind");
  tree_.File("c.svm", "1 1:1\n-1 2:1");
  const auto set = Make(As("*.svm:lines"));
  EXPECT_EQ(set->count(), 3u);
  EXPECT_FALSE(set->Shape(Entry("a.tfrecord")).has_value());
  int ready = 0;
  set->WhenReady(Entry("b.tfrecord"), [&](const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status;
    ++ready;
  });
  EXPECT_EQ(ready, 0);
  std::atomic<uint64_t> most{0};
  ContainerSet::IndexOptions options;
  options.saved = *OwnedDir::Make(state_.root());
  options.progress = [&](uint64_t done, uint64_t all) {
    EXPECT_LE(done, all);
    for (uint64_t was = most; was < done;) {
      if (most.compare_exchange_weak(was, done)) break;
    }
  };
  set->Index(tree_.Source(), options);
  EXPECT_EQ(ready, 1);
  set->WhenReady(Entry("a.tfrecord"),
                 [&](const absl::Status& status) { ready += status.ok(); });
  EXPECT_EQ(ready, 2);
  EXPECT_EQ(set->Shape(Entry("a.tfrecord"))->records->count(), 3u);
  EXPECT_TRUE(set->Shape(Entry("c.svm"))->lacks_newline);
  EXPECT_EQ(set->Shape(Entry("b.tfrecord"))->records, nullptr);
  EXPECT_EQ(set->Shape(Entry("b.tfrecord"))->file_bytes, 19u);
  EXPECT_EQ(most, 59u + 12u + 19u);
  const ContainerReport report = set->Report();
  EXPECT_EQ(report.containers, 2u);
  EXPECT_EQ(report.indexed, 2u);
  EXPECT_EQ(report.read_through, 2u);
  EXPECT_EQ(report.records, 5u);
  EXPECT_GT(report.index_bytes, 0u);
  EXPECT_EQ(set->count(), 2u);
  EXPECT_THAT(Untouched(*set)["b.tfrecord"], HasSubstr("first bytes"));
  // A mount later the files are not read.
  const auto again = Make(As("*.svm:lines"));
  again->Index(tree_.Source(), options);
  EXPECT_EQ(again->Report().records, 5u);
  EXPECT_EQ(again->Report().indexed, 2u);
  EXPECT_EQ(again->Report().read_through, 0u);
}

TEST_F(ContainerSetTest, WhatReadersWaitForIsIndexedFirst) {
  const auto threads = static_cast<uint64_t>(ThreadsForSource(0));
  const uint64_t files = threads + 40;
  const std::vector<uint64_t> wanted = {files - 1, threads + 9, files - 7};
  const auto name = [](uint64_t f) {
    return absl::StrCat("f", 1000 + f, ".tfrecord");
  };
  for (uint64_t f = 0; f < files; ++f) {
    tree_.File(name(f), Tfrecords({"one"}));
  }
  for (const uint64_t f : wanted) {
    tree_.File(name(f), Tfrecords({std::string(5000, 'x')}));
  }
  const auto set = Make();
  for (const uint64_t f : wanted) {
    set->WhenReady(Entry(name(f)), [](const absl::Status&) {});
  }
  // When all threads have read their first file none has taken its second.
  std::barrier begun(static_cast<std::ptrdiff_t>(threads));
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> bytes_of_the_first{0};
  ContainerSet::IndexOptions options;
  options.progress = [&](uint64_t done, uint64_t) {
    if (++calls > threads) return;
    for (uint64_t was = bytes_of_the_first; was < done;) {
      if (bytes_of_the_first.compare_exchange_weak(was, done)) break;
    }
    begun.arrive_and_wait();
  };
  set->Index(tree_.Source(), options);
  EXPECT_GE(bytes_of_the_first, 3 * 5000u);
  EXPECT_EQ(set->Report().indexed, files);
}

TEST_F(ContainerSetTest, WhoWaitsIsToldThatIndexingWasStopped) {
  tree_.File("a.tfrecord", Tfrecords({"one", "two"}));
  tree_.File("b.tfrecord", Tfrecords({"one", "two"}));
  const auto set = Make();
  std::vector<absl::Status> told;
  const auto note = [&](const absl::Status& status) { told.push_back(status); };
  set->WhenReady(Entry("a.tfrecord"), note);
  set->WhenReady(Entry("b.tfrecord"), note);
  std::stop_source stop;
  stop.request_stop();
  ContainerSet::IndexOptions options;
  options.stop = stop.get_token();
  set->Index(tree_.Source(), options);
  ASSERT_EQ(told.size(), 2u);
  set->WhenReady(Entry("a.tfrecord"), note);
  ASSERT_EQ(told.size(), 3u);
  for (const absl::Status& status : told) {
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
    EXPECT_THAT(std::string(status.message()), HasSubstr(".tfrecord"));
  }
  EXPECT_FALSE(set->Shape(Entry("a.tfrecord")).has_value());
}

// Fails `times` times for each file, with `error`, then finds records.
class Faults {
 public:
  Faults(int times, int error) : times_(times), error_(error) {}
  absl::StatusOr<ContainerShape> Find(const SourceDir& source,
                                      const IndexRequest& request) {
    MutexLock lock(mu_);
    if (++tries_[request.path] <= times_) {
      request.progress(4);  // some of it was read
      return ErrnoStatus(error_, "read at byte 4");
    }
    return IndexContainer(source, request);
  }
  int tries(const std::string& path) {
    MutexLock lock(mu_);
    return tries_[path];
  }

 private:
  const int times_;
  const int error_;
  Mutex mu_;
  std::map<std::string, int> tries_ ABSL_GUARDED_BY(mu_);
};

ContainerSet::IndexOptions With(Faults& faults) {
  ContainerSet::IndexOptions options;
  options.retry = std::chrono::milliseconds(1);
  options.find = [&faults](const SourceDir& source,
                           const IndexRequest& request) {
    return faults.Find(source, request);
  };
  return options;
}

TEST_F(ContainerSetTest, AFileThatCannotBeReadForNowIsTriedAgain) {
  tree_.File("a.tfrecord", Tfrecords({"one", "two"}));
  tree_.File("b.tfrecord", Tfrecords({"one"}));
  tree_.File("c.tfrecord", "nothing of the kind");
  for (int times = 1; times < ContainerSet::kMostTries; ++times) {
    const auto set = Make();
    int ready = 0;
    set->WhenReady(Entry("a.tfrecord"), [&](const absl::Status& status) {
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_NE(set->Shape(Entry("a.tfrecord"))->records, nullptr);
      ++ready;
    });
    Faults faults(times, EIO);
    ContainerSet::IndexOptions options = With(faults);
    uint64_t last = 0;
    Mutex mu;
    options.progress = [&](uint64_t done, uint64_t all) {
      MutexLock lock(mu);
      EXPECT_LE(done, all);
      last = std::max(last, done);
    };
    set->Index(tree_.Source(), options);
    EXPECT_EQ(ready, 1);
    EXPECT_EQ(last, set->total_bytes());
    EXPECT_EQ(faults.tries("a.tfrecord"), times + 1);
    EXPECT_EQ(set->Report().indexed, 2u);
    // What is none is not tried again for that.
    EXPECT_EQ(faults.tries("c.tfrecord"), times + 1);
    EXPECT_THAT(Untouched(*set), SizeIs(1));
    EXPECT_THAT(Untouched(*set)["c.tfrecord"], HasSubstr("first bytes"));
  }
}

TEST_F(ContainerSetTest, AFileThatCannotBeReadAtAllIsShownAsItIs) {
  tree_.File("a.tfrecord", Tfrecords({"one", "two"}));
  const auto set = Make();
  Faults faults(1000, EIO);
  set->Index(tree_.Source(), With(faults));
  EXPECT_EQ(faults.tries("a.tfrecord"), ContainerSet::kMostTries);
  EXPECT_THAT(Untouched(*set)["a.tfrecord"], HasSubstr("read at byte 4"));
  EXPECT_EQ(set->Shape(Entry("a.tfrecord"))->records, nullptr);
}

TEST_F(ContainerSetTest, AFileThatChangedIsNotTriedAgain) {
  tree_.File("a.tfrecord", Tfrecords({"one", "two"}));
  for (const int error : {ESTALE, EACCES}) {
    const auto set = Make();
    Faults faults(1, error);
    set->Index(tree_.Source(), With(faults));
    EXPECT_EQ(faults.tries("a.tfrecord"), 1);
    EXPECT_THAT(Untouched(*set), SizeIs(1));
  }
}

TEST_F(ContainerSetTest, WaitingForTheNextTryCanBeStopped) {
  tree_.File("a.tfrecord", Tfrecords({"one", "two"}));
  const auto set = Make();
  absl::Status told;
  set->WhenReady(Entry("a.tfrecord"),
                 [&](const absl::Status& status) { told = status; });
  std::stop_source stop;
  ContainerSet::IndexOptions options;
  options.retry = std::chrono::hours(1);
  options.stop = stop.get_token();
  options.find = [&](const SourceDir&, const IndexRequest&) {
    stop.request_stop();
    return absl::StatusOr<ContainerShape>(ErrnoStatus(EIO, "read"));
  };
  set->Index(tree_.Source(), options);
  EXPECT_EQ(told.code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace shufflefs
