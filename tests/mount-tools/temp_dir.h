// SPDX-License-Identifier: Apache-2.0
// A directory that is removed with what is in it when the test ends.
#ifndef SHUFFLEFS_TESTS_MOUNT_TOOLS_TEMP_DIR_H_
#define SHUFFLEFS_TESTS_MOUNT_TOOLS_TEMP_DIR_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"

namespace shufflefs {

class TempDir {
 public:
  TempDir() : path_(testing::TempDir() + "shufflefs.XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  // Writes a file and makes the directories above it.
  std::string Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(path_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_TESTS_MOUNT_TOOLS_TEMP_DIR_H_
