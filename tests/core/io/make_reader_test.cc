// SPDX-License-Identifier: Apache-2.0
// Which reader is made, and what io_uring alone offers.
#include "core/io/make_reader.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/base/files/unique_fd.h"
#include "core/io/uring_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/base/thread_names.h"
#include "tests/core/io/reader_fixture.h"

namespace shufflefs {
namespace {

using testing_support::AttributesOf;
using testing_support::ErrorOf;
using testing_support::Gate;
using testing_support::RandomBytes;
using testing_support::Results;
using testing_support::TempTree;
using testing_support::ThreadsNamed;

// From now on this process is refused `call` with EPERM, as in a container
// whose sandbox does not know it.
void Refuse(int call) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = {4, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::abort();
  }
}

// The reader that is made now, and "ok" if it reads.
std::string MadeAndRead() {
  TempTree tree;
  tree.File("f", "content");
  SourceDir source = tree.Source();
  Results results;
  std::unique_ptr<FileReader> reader = MakeFileReader(source, {});
  reader->SubmitUrgent(results.Read(0, "f", 7));
  results.Wait(1);
  return reader->how() +
         (results.memory(0).Content(7) == "content" ? " ok" : " wrong");
}

// Exits with 0 when the reader that is made where `call` is refused is one of
// threads, and reads.
[[noreturn]] void ReadRefused(int call) {
  Refuse(call);
  std::exit(MadeAndRead() == "threads ok" ? 0 : 1);
}

TEST(MakeReaderDeathTest, ReadsByThreadsWhereASandboxRefusesIoUring) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ReadRefused(SYS_io_uring_setup), ::testing::ExitedWithCode(0),
              "^shufflefs: info: no io_uring .*io_uring_setup.*8 threads\n$");
  EXPECT_EXIT(ReadRefused(SYS_io_uring_enter), ::testing::ExitedWithCode(0),
              "^shufflefs: info: no io_uring .*io_uring_enter.*8 threads\n$");
  EXPECT_EXIT(ReadRefused(SYS_openat2), ::testing::ExitedWithCode(0),
              "^shufflefs: info: no io_uring .*openat2.*8 threads\n$");
}

TEST(MakeReaderTest, ReadsByIoUringUnlessItIsSwitchedOff) {
  EXPECT_EQ(MadeAndRead(), "io_uring ok");
  TempTree tree;
  SourceDir source = tree.Source();
  FileReaderOptions options;
  options.io_uring = false;
  EXPECT_EQ(MakeFileReader(source, options)->how(), "threads");
}

TEST(ThreadReaderTest, MoreThreadsAreStartedWhenAReadWouldWaitForThem) {
  TempTree tree;
  tree.File("f", "content");
  SourceDir source = tree.Source();
  Results results;
  Gate gate;
  FileReaderOptions options;
  options.io_uring = false;
  options.threads = 3;
  const std::unique_ptr<FileReader> reader = MakeFileReader(source, options);
  EXPECT_EQ(ThreadsNamed("sfs-read-"), 1);
  FileRead held = results.Read(0, "f", 7);
  held.done = [&](const absl::Status& status) {
    gate.Pass();
    results.Done(0, status);
  };
  reader->SubmitUrgent(std::move(held));
  gate.WaitForArrival();
  EXPECT_EQ(ThreadsNamed("sfs-read-"), 1);
  reader->SubmitUrgent(results.Read(1, "f", 7));
  results.Wait(1);
  EXPECT_EQ(results.memory(1).Content(7), "content");
  EXPECT_EQ(ThreadsNamed("sfs-read-", 2), 2);
  gate.Open();
  results.Wait(2);
}

// Opens of a file wait until they are answered. As root.
class HeldOpens {
 public:
  explicit HeldOpens(const std::string& path)
      : fd_(fanotify_init(FAN_CLASS_CONTENT, O_RDONLY | O_CLOEXEC)) {
    marked_ =
        fd_.valid() && fanotify_mark(fd_.get(), FAN_MARK_ADD, FAN_OPEN_PERM,
                                     AT_FDCWD, path.c_str()) == 0;
  }
  bool marked() const { return marked_; }
  // Waits for one.
  void WaitForOne() { ASSERT_GT(read(fd_.get(), &event_, sizeof event_), 0); }
  void LetItGo() {
    const fanotify_response answer = {event_.fd, FAN_ALLOW};
    EXPECT_EQ(write(fd_.get(), &answer, sizeof answer), ssize_t{sizeof answer});
    close(event_.fd);
  }

 private:
  const UniqueFd fd_;
  bool marked_ = false;
  fanotify_event_metadata event_ = {};
};

// Reads of "far" and "near", on two devices as far as readers know.
class TwoDevicesTest : public ::testing::Test {
 protected:
  TwoDevicesTest() {
    tree_.File("far", "content");
    tree_.File("near", "content");
  }

  // Returns read `id` of the file.
  FileRead Read(int id, const std::string& path) {
    FileRead read = results_.Read(id, path, 7);
    read.expected = AttributesOf(tree_.At(path));
    if (path == "far") ++read.expected->device;
    return read;
  }
  void Submit(FileReader& reader, int id, const std::string& path) {
    std::vector<FileRead> reads;
    reads.push_back(Read(id, path));
    reader.Submit(std::move(reads));
  }
  // Only a failure ends this by the clock.
  void WaitForOne() {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (results_.order().empty() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  // As many reads of "far" as the bounds allow hang. A read of "near" ends.
  void ReadNearWhileFarHangs(FileReader& reader);

  TempTree tree_;
  const SourceDir source_ = tree_.Source();
  Results results_;
};

TEST_F(TwoDevicesTest, AnOpenThatHangsStopsNoOther) {
  const auto reader = UringReader::Make(source_, FileReaderOptions());
  HeldOpens held(tree_.At("far"));
  if (!reader.ok() || !held.marked()) return;  // not allowed here
  Submit(**reader, 0, "far");
  held.WaitForOne();
  Submit(**reader, 1, "near");
  WaitForOne();
  EXPECT_EQ(results_.order(), std::vector<int>{1});
  held.LetItGo();
  results_.Wait(2);
  EXPECT_EQ(results_.status(1), absl::OkStatus());
  EXPECT_EQ(ErrorOf(results_.status(0)), ESTALE);
}

void TwoDevicesTest::ReadNearWhileFarHangs(FileReader& reader) {
  HeldOpens held(tree_.At("far"));
  if (!held.marked()) return;  // not allowed here
  for (int id = 0; id < 3; ++id) Submit(reader, id, "far");
  reader.SubmitUrgent(Read(3, "far"));
  held.WaitForOne();
  Submit(reader, 4, "near");
  WaitForOne();
  EXPECT_EQ(results_.order(), std::vector<int>{4});
  EXPECT_EQ(results_.status(4), absl::OkStatus());
  held.LetItGo();
  for (int others = 0; others < 3; ++others) {
    held.WaitForOne();
    held.LetItGo();
  }
  results_.Wait(5);
}

TEST_F(TwoDevicesTest, ADeviceThatHangsLeavesTheRingToOthers) {
  FileReaderOptions options;
  options.depth = 1;
  const auto reader = UringReader::Make(source_, options);
  if (reader.ok()) ReadNearWhileFarHangs(**reader);
}

TEST_F(TwoDevicesTest, ADeviceThatHangsLeavesThreadsToOthers) {
  FileReaderOptions options;
  options.io_uring = false;
  options.threads = 1;
  ReadNearWhileFarHangs(*MakeFileReader(source_, options));
}

class RegisteredMemoryTest : public ::testing::Test {
 protected:
  RegisteredMemoryTest()
      : region_(
            static_cast<char*>(std::aligned_alloc(kReadAlignment, kBytes))) {
    Rng rng{RandomKey(3)};
    content_ = RandomBytes(rng, 150000);
    tree_.File("f", content_);
  }
  ~RegisteredMemoryTest() override { std::free(region_); }

  // Reads the file to `base` and says whether it is there.
  bool ReadsTo(FileReader& reader, char* base) {
    const int id = next_++;
    FileRead read = results_.Read(id, "f", content_.size());
    read.expected = AttributesOf(tree_.At("f"));
    read.into = {{base, 37 * kReadAlignment}};
    reader.SubmitUrgent(std::move(read));
    results_.Wait(static_cast<size_t>(next_));
    return results_.status(id).ok() &&
           content_ == std::string(base, content_.size());
  }

  static constexpr size_t kBytes = 256 * kReadAlignment;
  TempTree tree_;
  SourceDir source_ = tree_.Source();
  std::string content_;
  char* region_;
  Results results_;
  int next_ = 0;
};

TEST_F(RegisteredMemoryTest, ReadsIntoItAndBesideIt) {
  absl::StatusOr<std::unique_ptr<UringReader>> reader =
      UringReader::Make(source_, {});
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE(ReadsTo(**reader, region_));
  // The middle half of the region.
  char* const begin = region_ + 64 * kReadAlignment;
  const absl::Status pinned =
      (*reader)->RegisterMemory(absl::MakeSpan(begin, kBytes / 2));
  ASSERT_TRUE(pinned.ok()) << pinned;
  EXPECT_TRUE(ReadsTo(**reader, begin));                         // its start
  EXPECT_TRUE(ReadsTo(**reader, begin + 91 * kReadAlignment));   // its end
  EXPECT_TRUE(ReadsTo(**reader, begin + 100 * kReadAlignment));  // over it
  EXPECT_TRUE(ReadsTo(**reader, begin - kReadAlignment));        // before it
  EXPECT_TRUE(ReadsTo(**reader, region_ + 200 * kReadAlignment));
  EXPECT_TRUE(ReadsTo(**reader, region_));
}

TEST_F(RegisteredMemoryTest, MemoryThatIsNotThereIsRefusedAndNotNeeded) {
  absl::StatusOr<std::unique_ptr<UringReader>> reader =
      UringReader::Make(source_, {});
  ASSERT_TRUE(reader.ok()) << reader.status();
  char* const nowhere = reinterpret_cast<char*>(uintptr_t{1} << 20);
  EXPECT_EQ(ErrorOf((*reader)->RegisterMemory(
                absl::MakeSpan(nowhere, kReadAlignment))),
            EFAULT);
  EXPECT_TRUE(ReadsTo(**reader, region_));
}

TEST_F(RegisteredMemoryTest, TheOptionPinsIt) {
  FileReaderOptions options;
  options.memory = absl::MakeSpan(region_, kBytes);
  std::unique_ptr<FileReader> reader = MakeFileReader(source_, options);
  EXPECT_EQ(reader->how(), "io_uring");
  EXPECT_TRUE(ReadsTo(*reader, region_ + kReadAlignment));
}

}  // namespace
}  // namespace shufflefs
