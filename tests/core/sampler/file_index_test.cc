// SPDX-License-Identifier: Apache-2.0
#include "core/sampler/file_index.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs {
namespace {

class FileIndexTest : public testing::Test {
 protected:
  void Scan() {
    catalogue_ = std::make_shared<const Catalogue>(tree_.Scanned());
  }
  FileIndex Of(const std::vector<std::string>& opened,
               const std::string& top = "") {
    std::vector<EntryId> files;
    for (const std::string& path : opened) {
      files.push_back(*catalogue_->FindPath(path));
    }
    return FileIndex::Of(catalogue_, *catalogue_->FindDir(top), files);
  }
  std::vector<std::string> Paths(const FileIndex& index) {
    std::vector<std::string> paths;
    for (uint32_t i = 0; i < index.size(); ++i) {
      paths.push_back(catalogue_->path(index.file(i)));
    }
    return paths;
  }

  testing_support::TempTree tree_;
  std::shared_ptr<const Catalogue> catalogue_;
};

TEST_F(FileIndexTest, ImagesAreNumberedAsImageFolderDoes) {
  tree_.Files({"train/b/2.JPEG", "train/a/10.jpg", "train/a/9.png",
               "train/a/notes.txt", "val/a/1.jpg", "labels.csv"});
  Scan();
  const FileIndex index = Of({"train/b/2.JPEG", "train/a/9.png"});
  const std::vector<std::string> expected = {"train/a/10.jpg", "train/a/9.png",
                                             "train/b/2.JPEG"};
  EXPECT_EQ(Paths(index), expected);
  EXPECT_EQ(index.path(), "train");
  EXPECT_EQ(index.bytes(), 3u);
  for (uint32_t i = 0; i < index.size(); ++i) {
    EXPECT_EQ(index.IndexOf(index.file(i)), i);
  }
  EXPECT_EQ(index.IndexOf(*catalogue_->FindPath("train/a/notes.txt")),
            std::nullopt);
  EXPECT_EQ(index.IndexOf(*catalogue_->FindPath("val/a/1.jpg")), std::nullopt);
  EXPECT_EQ(index.IndexOf(*catalogue_->FindPath("labels.csv")), std::nullopt);
}

TEST_F(FileIndexTest, FilesOfOneClassBelongToAllClasses) {
  tree_.Files({"cats/1.jpg", "cats/2.jpg", "dogs/1.jpg"});
  Scan();
  EXPECT_EQ(Of({"cats/1.jpg", "cats/2.jpg"}).size(), 3u);
}

TEST_F(FileIndexTest, ButNotToAnotherSplitNorBeyondTheView) {
  tree_.Files({"train/1.jpg", "val/1.jpg", "more/1.jpg"});
  Scan();
  EXPECT_EQ(Of({"train/1.jpg"}).path(), "train");
  EXPECT_EQ(Of({"val/1.jpg"}).path(), "val");
  tree_.Files({"deep/a/1.jpg", "deep/b/1.jpg"});
  Scan();
  EXPECT_EQ(Of({"deep/a/1.jpg"}, "deep/a").path(), "deep/a");
  EXPECT_EQ(Of({"deep/a/1.jpg"}).path(), "deep");
}

TEST_F(FileIndexTest, KindsOfOtherFilesAreTheirExtensions) {
  tree_.Files({"x/1.npy", "x/1.NPY.gz", "x/2.NPY", "x/1", "x/1.jpg"});
  Scan();
  EXPECT_EQ(Of({"x/1.npy"}).size(), 2u);
  EXPECT_EQ(Of({"x/1"}).size(), 1u);
  EXPECT_EQ(ListedKindOf("frame.0001"), ListedKindOf("frame.0002"));
  EXPECT_EQ(ListedKindOf("a.TIFF"), ListedKindOf("b.webp"));
  EXPECT_NE(ListedKindOf("a.npy"), ListedKindOf("a.npz"));
}

TEST_F(FileIndexTest, OneContainsWhatIsBelowIt) {
  tree_.Files({"a/b/1.jpg", "a/b/c/1.jpg", "a/x/1.jpg", "d/1.jpg"});
  Scan();
  const FileIndex all = Of({"a/b/1.jpg", "d/1.jpg"});
  const FileIndex below = Of({"a/b/1.jpg", "a/b/c/1.jpg"});
  EXPECT_TRUE(all.Contains(below));
  EXPECT_FALSE(below.Contains(all));
}

}  // namespace
}  // namespace shufflefs
