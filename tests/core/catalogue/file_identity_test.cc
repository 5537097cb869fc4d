// SPDX-License-Identifier: Apache-2.0
#include "core/catalogue/file_identity.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "core/base/status.h"
#include "core/catalogue/catalogue.h"
#include "core/source/file_check.h"
#include "core/source/source_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::TempTree;

constexpr int64_t kSet = 1'000'000'000;  // the time that all files have

class FileIdentityTest : public ::testing::Test {
 protected:
  FileIdentityTest() { Write("f", "old bytes"); }

  // In place where the file is there; with the same time as any other.
  void Write(const std::string& path, const std::string& bytes) {
    tree_.File(path, bytes);
    tree_.SetTime(path, kSet);
  }
  FileAttributes Known(const std::string& path = "f") const {
    struct stat st = {};
    EXPECT_EQ(lstat(tree_.At(path).c_str(), &st), 0);
    return AttributesOf(st);
  }
  absl::Status Check(const FileAttributes& known) const {
    const UniqueFd fd(open(tree_.At("f").c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(fd.valid());
    return CheckUnchanged(fd.get(), known);
  }
  static int ErrorOf(const absl::Status& status) {
    return ErrnoOf(status).value_or(0);
  }

  TempTree tree_;
};

TEST_F(FileIdentityTest, AFileThatTookItsNameIsAnother) {
  const FileAttributes known = Known();
  EXPECT_TRUE(Check(known).ok());
  Write("g", "new bytes");
  std::filesystem::rename(tree_.At("g"), tree_.At("f"));
  ASSERT_EQ(Known().size, known.size);
  ASSERT_EQ(Known().mtime_ns, known.mtime_ns);
  const absl::Status status = Check(known);
  EXPECT_EQ(ErrorOf(status), ESTALE);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another file"));
}

TEST_F(FileIdentityTest, AFileThatWasWrittenAndSetBackIsAnother) {
  const FileAttributes known = Known();
  Write("f", "new bytes");
  ASSERT_EQ(Known().inode, known.inode);
  ASSERT_EQ(Known().mtime_ns, known.mtime_ns);
  const absl::Status status = Check(known);
  EXPECT_EQ(ErrorOf(status), ESTALE);
  EXPECT_THAT(std::string(status.message()), HasSubstr("its metadata changed"));
}

TEST_F(FileIdentityTest, AnotherDeviceIsAnotherFile) {
  FileAttributes known = Known();
  known.device += 1;
  EXPECT_EQ(ErrorOf(Check(known)), ESTALE);
}

TEST_F(FileIdentityTest, WhatTellsWhyItsCtimeIsNewChangesNothing) {
  const FileAttributes known = Known();
  ASSERT_EQ(chmod(tree_.At("f").c_str(), (known.mode & 07777) | 0111), 0);
  EXPECT_NE(Known().ctime_ns, known.ctime_ns);
  EXPECT_TRUE(Check(known).ok());
  const FileAttributes now = Known();
  ASSERT_EQ(link(tree_.At("f").c_str(), tree_.At("backup").c_str()), 0);
  EXPECT_NE(Known().ctime_ns, now.ctime_ns);
  EXPECT_TRUE(Check(now).ok());
}

TEST_F(FileIdentityTest, AFileThatWasRemovedIsStaleAlsoWhereItIsOpen) {
  const FileAttributes known = Known();
  const UniqueFd fd(open(tree_.At("f").c_str(), O_RDONLY | O_CLOEXEC));
  std::filesystem::remove(tree_.At("f"));
  EXPECT_EQ(ErrorOf(CheckUnchanged(fd.get(), known)), ESTALE);
}

TEST_F(FileIdentityTest, AnInodeNumberThatDoesNotLastIsNotCompared) {
  FileAttributes known = Known();
  known.inode = 0;
  EXPECT_TRUE(Check(known).ok());
  Write("f", "new bytes");
  EXPECT_EQ(ErrorOf(Check(known)), ESTALE);
}

TEST_F(FileIdentityTest, WhatIsSavedNamesNoDeviceThatIsNumberedAnew) {
  FileIdentity identity = Known().identity();
  identity.device = makedev(0, 57);
  EXPECT_EQ(Lasting(identity).device, 0u);
  identity.device = makedev(8, 1);
  EXPECT_EQ(Lasting(identity), identity);
  EXPECT_NE(HashOf(Known().identity()), HashOf(identity));
}

TEST_F(FileIdentityTest, ACatalogueKnowsEachFileByItsIdentity) {
  const Catalogue catalogue = tree_.Scanned();
  const EntryId file = *catalogue.FindPath("f");
  EXPECT_EQ(catalogue.attributes(file).identity(), Known().identity());
  // The same dataset, in another state.
  Write("f", "new bytes");
  const Catalogue after = tree_.Scanned();
  EXPECT_EQ(after.fingerprint(), catalogue.fingerprint());
  EXPECT_NE(after.state(), catalogue.state());
}

TEST_F(FileIdentityTest, ReadsOfOneFileNeverMixTwoStatesOfIt) {
  const SourceDir source = tree_.Source();
  for (const bool in_place : {false, true}) {
    const Catalogue catalogue = tree_.Scanned();
    const EntryId file = *catalogue.FindPath("f");
    SourceFiles files(source, catalogue, 4);
    std::string out(3, '\0');
    ASSERT_TRUE(files.Read(file, 0, absl::MakeSpan(out)).ok());
    const std::string other = in_place ? "f" : "g";
    Write(other, "new bytes");
    if (!in_place) std::filesystem::rename(tree_.At("g"), tree_.At("f"));
    for (uint64_t at : {3, 0}) {
      EXPECT_EQ(ErrorOf(files.Read(file, at, absl::MakeSpan(out)).status()),
                ESTALE)
          << in_place << at;
    }
  }
}

}  // namespace
}  // namespace shufflefs
