// SPDX-License-Identifier: Apache-2.0
// The arrows of the architecture: what a folder may include. The build
// enforces most of it by include directories; this names the culprit, and
// covers the system headers that a compiler finds anyway.
#include <regex>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/meta/repository.h"

namespace shufflefs::meta {
namespace {

struct Rule {
  std::string folder;     // files below it
  std::string forbidden;  // regex over included names
  std::string except;     // regex over paths that may
};

std::vector<Rule> Rules() {
  return {
      {"core", "(fs|policies|mount-tools|tests)/.*", "-"},
      {"policies", "(fs|mount-tools|tests)/.*", "-"},
      {"fs", "(policies|mount-tools|tests)/.*", "-"},
      {"mount-tools", "tests/.*", "-"},
      // A policy is a pure function: no I/O, threads, locks or clocks.
      {"policies",
       "thread|mutex|atomic|chrono|fstream|iostream|cstdio|unistd.h|fcntl.h|"
       "core/(mutex|thread|log)[.]h|sys/.*",
       "-"},
      {"", "fuse.*|linux/fuse.h", "fs/.*|tests/.*"},
      {"", "toml[+][+]/.*|toml.hpp", "mount-tools/.*[.]cc|tests/.*"},
      {"", "CLI/.*", "mount-tools/.*|tests/bench/.*"},
      {"", "liburing.*", "core/io/.*"},
      {"", "spdlog/.*", "core/base/log.cc"},
      // Sequences that differ between library versions, and a mutex that
      // ThreadSanitizer misreads.
      {"", "absl/random/.*|absl/synchronization/.*", "-"},
  };
}

TEST(LayeringTest, IncludesFollowTheArrows) {
  for (const auto& file : FilesWith({".h", ".cc"})) {
    for (const Rule& rule : Rules()) {
      const std::string path = file.string();
      if (path.rfind(rule.folder.empty() ? "" : rule.folder + "/", 0) != 0 ||
          std::regex_match(path, std::regex(rule.except))) {
        continue;
      }
      for (const std::string& include : Includes(file)) {
        EXPECT_FALSE(std::regex_match(include, std::regex(rule.forbidden)))
            << path << " includes " << include;
      }
    }
  }
}

TEST(LayeringTest, NoPermutationFromALibrary) {
  const std::regex forbidden(
      "std::(random_)?shuffle\\b|std::[a-z_]+_distribution\\b|"
      "std::default_random_engine|std::rand\\b|"
      "absl::(Insecure)?BitGen\\b|absl::Mutex\\b");
  for (const auto& file : FilesWith({".h", ".cc"})) {
    if (file == "tests/meta/layering_test.cc") continue;
    const std::vector<std::string> lines = Lines(file);
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string code = lines[i].substr(0, lines[i].find("//"));
      EXPECT_FALSE(std::regex_search(code, forbidden))
          << file << ":" << i + 1 << ": " << lines[i];
    }
  }
}

// A source that includes its own header first proves the header complete.
TEST(LayeringTest, ASourceIncludesItsOwnHeaderFirst) {
  for (const auto& file : FilesWith({".cc"})) {
    std::filesystem::path header = file;
    header.replace_extension(".h");
    if (!std::filesystem::exists(Root() / header)) continue;
    const std::vector<std::string> includes = Includes(file);
    ASSERT_FALSE(includes.empty()) << file;
    EXPECT_EQ(includes.front(), header.string()) << file;
  }
}

// The others are compiled alone.
TEST(LayeringTest, HeadersWithoutASourceCompileAlone) {
  for (const auto& file : FilesWith({".h"})) {
    std::filesystem::path source = file;
    source.replace_extension(".cc");
    if (std::filesystem::exists(Root() / source) ||
        file.string().rfind("tests/", 0) == 0) {
      continue;
    }
    const ShellResult result = Shell(
        "c++ -std=c++20 -fsyntax-only -Wall -Wno-pragma-once-outside-"
        "header $(pkg-config --cflags fuse3) -I. -x c++-header " +
        file.string());
    EXPECT_EQ(result.code, 0) << file << ":\n" << result.output;
  }
}

}  // namespace
}  // namespace shufflefs::meta
