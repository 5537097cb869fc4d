// SPDX-License-Identifier: Apache-2.0
// Files that stay open between their reads: fewer opens, and no read of a file
// that is another one by now.
#include "core/source/open_files.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/io/file_reader.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/io/reader_fixture.h"

namespace shufflefs {
namespace {

using testing_support::ErrorOf;
using testing_support::FileReaderTest;

OpenFile Opened(const std::string& path) {
  OpenFile file;
  file.fd = UniqueFd(open(path.c_str(), O_RDONLY));
  return file;
}

// Descriptors of this process that lead to `path`, or to what it was.
int DescriptorsOf(const std::string& path) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target =
        std::filesystem::read_symlink(entry.path(), gone).string();
    if (!gone && target.compare(0, path.size(), path) == 0) ++count;
  }
  return count;
}

TEST(OpenFilesTest, ClosesWhatWasUsedLongestAgo) {
  testing_support::TempTree tree;
  OpenFiles files(2);
  for (const char* name : {"a", "b", "c"}) {
    tree.File(name, name);
    files.Keep(name, Opened(tree.At(name)));
    files.Find("a");
  }
  EXPECT_NE(files.Find("a"), nullptr);
  EXPECT_EQ(files.Find("b"), nullptr);
  const std::shared_ptr<const OpenFile> used = files.Find("c");
  ASSERT_NE(used, nullptr);
  EXPECT_EQ(DescriptorsOf(tree.At("b")), 0);

  files.Drop("c");
  EXPECT_EQ(files.Find("c"), nullptr);
  EXPECT_EQ(DescriptorsOf(tree.At("c")), 1);  // whoever reads it has it

  files.Keep("a", Opened(tree.At("c")));  // there is one
  char first = 0;
  EXPECT_EQ(pread(files.Find("a")->fd.get(), &first, 1, 0), 1);
  EXPECT_EQ(first, 'a');
}

TEST(OpenFilesTest, WhoLetsGoLastCloses) {
  testing_support::TempTree tree;
  tree.Files({"a", "b"});
  std::vector<UniqueFd> to_close;
  OpenFiles files(1, [&](UniqueFd fd) { to_close.push_back(std::move(fd)); });
  files.Keep("a", Opened(tree.At("a")));
  std::shared_ptr<const OpenFile> used = files.Find("a");
  files.Keep("b", Opened(tree.At("b")));
  EXPECT_EQ(files.Find("a"), nullptr);
  EXPECT_TRUE(to_close.empty());
  used.reset();
  EXPECT_EQ(to_close.size(), 1u);
  files.Drop("b");
  ASSERT_EQ(to_close.size(), 2u);
  EXPECT_TRUE(to_close[0].valid() && to_close[1].valid());
}

class OpenFilesOfReadersTest : public FileReaderTest {};
INSTANTIATE_TEST_SUITE_P(Readers, OpenFilesOfReadersTest,
                         testing_support::AllReaders(),
                         testing_support::NameOfKind);

// How often files below a directory were opened since it was made.
class CountedOpens {
 public:
  explicit CountedOpens(const std::string& dir)
      : events_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    EXPECT_GE(inotify_add_watch(events_.get(), dir.c_str(), IN_OPEN), 0);
  }
  int Of(const std::string& name) {
    alignas(inotify_event) char buffer[4096];
    for (;;) {
      const ssize_t got = read(events_.get(), buffer, sizeof buffer);
      if (got <= 0) return counts_[name];
      for (const char* at = buffer; at < buffer + got;) {
        const auto* event = reinterpret_cast<const inotify_event*>(at);
        if (event->len > 0) ++counts_[event->name];
        at += sizeof *event + event->len;
      }
    }
  }

 private:
  UniqueFd events_;
  std::map<std::string, int> counts_;
};

TEST_P(OpenFilesOfReadersTest, AFileOfWhichMuchIsReadStaysOpen) {
  tree_.File("f", std::string(20000, 'a'));
  tree_.File("g", std::string(20000, 'b'));
  CountedOpens opens(tree_.At(""));
  for (int id = 0; id < 20; ++id) {
    FileRead read = Whole(id, id % 2 == 0 ? "f" : "g");
    read.one_of_many = id % 2 == 0;
    ASSERT_TRUE(ReadNext(std::move(read), id).ok());
    ASSERT_EQ(results_.memory(id).Content(20000),
              std::string(20000, id % 2 == 0 ? 'a' : 'b'));
    // Each time: the kernel tells the same event twice in a row once.
    ASSERT_EQ(opens.Of("f"), 1);
    ASSERT_EQ(opens.Of("g"), (id + 1) / 2);
  }
  EXPECT_EQ(DescriptorsOf(tree_.At("f")), 1);
  reader_.reset();
  EXPECT_EQ(DescriptorsOf(tree_.At("f")) + DescriptorsOf(tree_.At("g")), 0);
}

TEST_P(OpenFilesOfReadersTest, AnOpenFileThatChangesIsStale) {
  tree_.File("f", std::string(10000, 'a'));
  for (int id : {0, 1, 2}) {
    FileRead read = Whole(id, "f");
    read.one_of_many = true;
    if (id == 1) tree_.File("f", std::string(10000, 'b'));
    if (id == 1) tree_.SetTime("f", 1000000000);
    const absl::Status status = ReadNext(std::move(read), id);
    EXPECT_EQ(ErrorOf(status), id == 1 ? ESTALE : 0) << id;
  }
  EXPECT_EQ(results_.memory(2).Content(10000), std::string(10000, 'b'));
}

// A file that has taken the place of the one that is open is opened: it is
// stale, or has the same size and time. That the other one is still there, by
// another name, changes nothing.
// Also one of the same size and time: the file that is held open is not what
// the path leads to, and what it leads to is not what was asked for.
TEST_P(OpenFilesOfReadersTest, AFileThatTookItsPlaceIsStale) {
  tree_.File("f", std::string(10000, 'a'));
  tree_.SetTime("f", 1000000000);
  for (int id : {0, 1, 2, 3}) {
    FileRead read = Whole(id, "f");
    read.one_of_many = true;
    const char* now = id == 1 ? "b" : id == 2 ? "c" : nullptr;
    if (now != nullptr) {
      tree_.File(now, std::string(10000, *now));
      tree_.SetTime(now, id == 1 ? 1000000000 : 1000000001);
      std::filesystem::rename(tree_.At("f"), tree_.At("old"));
      std::filesystem::rename(tree_.At(now), tree_.At("f"));
    }
    const absl::Status status = ReadNext(std::move(read), id);
    ASSERT_EQ(ErrorOf(status), now != nullptr ? ESTALE : 0) << id;
    if (id == 3) {
      EXPECT_EQ(results_.memory(id).Content(10000), std::string(10000, 'c'));
    }
  }
  FileRead gone = Whole(4, "f");
  gone.one_of_many = true;
  std::filesystem::remove(tree_.At("f"));
  EXPECT_EQ(ErrorOf(ReadNext(std::move(gone), 4)), ESTALE);
}

}  // namespace
}  // namespace shufflefs
