// SPDX-License-Identifier: Apache-2.0
// A directory tree for one test, below TMPDIR, removed at its end.
#ifndef SHUFFLEFS_TESTS_CORE_BASE_TEMP_TREE_H_
#define SHUFFLEFS_TESTS_CORE_BASE_TEMP_TREE_H_

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/catalogue/catalogue.h"
#include "core/scan/scan.h"
#include "core/source/source_dir.h"
#include "gtest/gtest.h"

namespace shufflefs::testing_support {

class TempTree {
 public:
  TempTree() {
    std::string name =
        (std::filesystem::temp_directory_path() / "shufflefs-test-XXXXXX")
            .string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    root_ = name;
  }
  ~TempTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;

  const std::string& root() const { return root_; }
  std::string At(const std::string& path) const {
    return path.empty() ? root_ : root_ + "/" + path;
  }

  // Parents are made as needed.
  void Dir(const std::string& path) {
    std::filesystem::create_directories(At(path));
  }
  void File(const std::string& path, const std::string& content = "x") {
    std::filesystem::create_directories(
        std::filesystem::path(At(path)).parent_path());
    std::ofstream out(At(path), std::ios::binary);
    out << content;
    if (!out.good()) ADD_FAILURE() << "cannot write " << At(path);
  }
  void Files(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) File(path);
  }
  void Link(const std::string& path, const std::string& target) {
    std::filesystem::create_directories(
        std::filesystem::path(At(path)).parent_path());
    ASSERT_EQ(symlink(target.c_str(), At(path).c_str()), 0);
  }
  void Fifo(const std::string& path) {
    ASSERT_EQ(mkfifo(At(path).c_str(), 0600), 0);
  }
  // Sets the time of last change, in whole seconds.
  void SetTime(const std::string& path, int64_t seconds) {
    timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, At(path).c_str(), times, AT_SYMLINK_NOFOLLOW),
              0);
  }

  SourceDir Source() const {
    absl::StatusOr<SourceDir> source = SourceDir::At(root_);
    EXPECT_TRUE(source.ok()) << source.status();
    return *std::move(source);
  }
  Catalogue Scanned(const ScanOptions& options = {}) const {
    absl::StatusOr<Catalogue> catalogue = Scan(Source(), options);
    EXPECT_TRUE(catalogue.ok()) << catalogue.status();
    return *std::move(catalogue);
  }

 private:
  std::string root_;
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_BASE_TEMP_TREE_H_
