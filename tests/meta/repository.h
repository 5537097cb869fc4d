// SPDX-License-Identifier: Apache-2.0
// What the tests of the repository itself share: its files, their lines, and
// running a shell command.
#ifndef SHUFFLEFS_TESTS_META_REPOSITORY_H_
#define SHUFFLEFS_TESTS_META_REPOSITORY_H_

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/testing/paths.h"

namespace shufflefs::meta {

// The source directory, from the build.
inline std::filesystem::path Root() { return testing_support::RepositoryDir(); }

// Files of the repository relative to its root, sorted; without git's, build
// directories and dot directories other than .ci.
inline std::vector<std::filesystem::path> Files() {
  std::vector<std::filesystem::path> files;
  auto it = std::filesystem::recursive_directory_iterator(Root());
  for (const auto& entry : it) {
    const std::string name = entry.path().filename();
    if (entry.is_directory()) {
      const bool hidden = name.front() == '.' && name != ".ci";
      if (hidden || name == "__pycache__" ||
          (name == "build" && it.depth() == 0)) {
        it.disable_recursion_pending();
      }
    } else if (entry.is_regular_file() && name != ".git") {
      files.push_back(std::filesystem::relative(entry.path(), Root()));
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Those whose extension is one of `extensions`, such as {".h", ".cc"}.
inline std::vector<std::filesystem::path> FilesWith(
    const std::vector<std::string>& extensions) {
  std::vector<std::filesystem::path> files = Files();
  std::erase_if(files, [&](const std::filesystem::path& file) {
    return std::find(extensions.begin(), extensions.end(), file.extension()) ==
           extensions.end();
  });
  return files;
}

inline std::vector<std::string> Lines(const std::filesystem::path& file) {
  std::ifstream in(Root() / file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// What `#include` lines of the file name, in order, without <> and "".
inline std::vector<std::string> Includes(const std::filesystem::path& file) {
  std::vector<std::string> includes;
  for (const std::string& line : Lines(file)) {
    if (line.rfind("#include ", 0) != 0) continue;
    const size_t begin = line.find_first_of("<\"") + 1;
    const size_t end = line.find_first_of(">\"", begin);
    includes.push_back(line.substr(begin, end - begin));
  }
  return includes;
}

struct ShellResult {
  int code = 0;        // exit code, -1 if ended by a signal
  std::string output;  // stdout and stderr
};

inline ShellResult Shell(const std::string& command) {
  ShellResult result;
  const std::string line =
      "cd '" + Root().string() + "' && { " + command + "\n} 2>&1 </dev/null";
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return {.code = -1, .output = "popen failed"};
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    result.output.append(buffer, n);
  }
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace shufflefs::meta

#endif  // SHUFFLEFS_TESTS_META_REPOSITORY_H_
