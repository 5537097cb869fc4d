// SPDX-License-Identifier: Apache-2.0
#include "core/records/aligned/padded_dirs.h"

#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/records/aligned/aligned_pack.h"
#include "core/records/index/container_index.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"
#include "tests/core/formats/tfrecord/tfrecord_fixture.h"

namespace shufflefs {
namespace {

using ::testing::HasSubstr;
using testing_support::TempTree;
using testing_support::Tfrecords;

class PaddedDirsTest : public ::testing::Test {
 protected:
  PaddedDirsTest() {
    unpacked_.File("a.tfrecord", Tfrecords({"one", std::string(4090, 'x'),
                                            "three", std::string(4090, 'y')}));
    AlignOptions options;
    options.page_bytes = 4096;
    EXPECT_TRUE(WriteAligned(unpacked_.At(""), tree_.At("pack"), options).ok());
  }
  void Own(const std::string& name, uid_t owner) {
    const std::string path = absl::StrCat(tree_.At("pack/"), name);
    ASSERT_EQ(chown(path.c_str(), owner, static_cast<gid_t>(-1)), 0);
  }
  void Load() {
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
    dirs_ = PaddedDirs::Load(tree_.Source(), catalogue_, DirId(0));
  }
  // Whether the file counts as padded, or why not.
  std::string Found() {
    Load();
    const auto found = dirs_->Find(*catalogue_->FindPath("pack/a.tfrecord"));
    if (!found.ok()) return std::string(found.status().message());
    return found->has_value() ? "padded" : "not padded";
  }
  absl::Status Indexed() {
    Load();
    const EntryId file = *catalogue_->FindPath("pack/a.tfrecord");
    const PaddedDirs::Padded padded = **dirs_->Find(file);
    IndexRequest request;
    request.path = catalogue_->path(file);
    request.expected = catalogue_->attributes(file);
    request.index = SidecarIndex{catalogue_->path(padded.index),
                                 catalogue_->attributes(padded.index), nullptr};
    request.padded = padded.file;
    return IndexContainer(tree_.Source(), request).status();
  }
  // Writes a byte behind the first record, which has 19.
  void WriteIntoThePadding() {
    std::fstream file(tree_.At("pack/a.tfrecord"),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(2000);
    file.put('z');
  }

  TempTree unpacked_;
  TempTree tree_;
  std::shared_ptr<const Catalogue> catalogue_;
  std::shared_ptr<const PaddedDirs> dirs_;
};

TEST_F(PaddedDirsTest, AFileOfAnotherUserTakesNothingOutOfOnes) {
  ASSERT_EQ(Found(), "padded");
  if (geteuid() != 0) return;
  Own("aligned.manifest", 12345);
  EXPECT_THAT(Found(), HasSubstr("aligned.manifest is the file of another"));
  Own("a.tfrecord", 12346);
  EXPECT_THAT(Found(), HasSubstr("aligned.manifest is the file of another"));
  Own("a.tfrecord", 12345);
  EXPECT_EQ(Found(), "padded");  // his own, or root's
  Own("aligned.manifest", 0);
  EXPECT_EQ(Found(), "padded");
  Own("a.tfrecord.idx", 12346);
  EXPECT_THAT(Found(), HasSubstr("a.tfrecord.idx is the file of another"));
  Own("a.tfrecord.idx", 12345);
  EXPECT_EQ(Found(), "padded");
}

TEST_F(PaddedDirsTest, DataInThePlaceOfPaddingIsFound) {
  EXPECT_TRUE(Indexed().ok()) << Indexed();
  WriteIntoThePadding();
  EXPECT_THAT(std::string(Indexed().message()),
              HasSubstr("not the one that was written"));
}

}  // namespace
}  // namespace shufflefs
