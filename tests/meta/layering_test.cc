// SPDX-License-Identifier: Apache-2.0
// The arrows of the architecture: what a folder may include. The build
// enforces most of it by include directories; this names the culprit, and
// covers the system headers that a compiler finds anyway.
#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

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
      {"core", "(fs|policies|peers|mount-tools|tests)/.*", "-"},
      {"policies", "(fs|peers|mount-tools|tests)/.*", "-"},
      {"fs", "(policies|peers|mount-tools|tests)/.*", "-"},
      {"mount-tools", "(peers|tests)/.*", "-"},
      {"peers", "(fs|policies|mount-tools|tests)/.*", "-"},
      // The module has no code of core, which is in the program that loads it.
      {"peers",
       "core/(?!peers/peer_transport[.]h|config/config[.]h|base/(interruptible_"
       "sleep|log|mutex|published|status|thread)[.]h).*",
       "-"},
      // A policy is a pure function: no I/O, threads, locks or clocks.
      {"policies",
       "thread|mutex|atomic|chrono|fstream|iostream|cstdio|unistd.h|fcntl.h|"
       "core/base/(mutex|thread|log)[.]h|sys/.*",
       "-"},
      {"", "fuse.*|linux/fuse.h", "fs/.*|tests/.*"},
      {"", "toml[+][+]/.*|toml.hpp", "mount-tools/.*[.]cc|tests/.*"},
      {"", "CLI/.*", "mount-tools/.*|tests/bench/.*"},
      {"", "liburing.*", "core/io/.*"},
      {"", "spdlog/.*", "core/base/log.cc"},
      {"", "grpc.*|google/.*|openssl/.*",
       "(tests/)?peers/.*|tests/fuzz/peer_.*"},
      // Sequences that differ between library versions.
      {"", "absl/random/.*", "-"},
      // A mutex that ThreadSanitizer misreads. gRPC has it.
      {"", "absl/synchronization/.*", "peers/module[.]cc"},
  };
}

// The folders of core, each with those that it may include besides itself.
constexpr char kCoreFolders[] = R"(
base:
base/files: base
random: base
config: base
catalogue: base base/files
source: base base/files random catalogue
io: base base/files catalogue source
scan: base base/files catalogue source
dataset: base config catalogue formats/table
policy: base random config dataset
binding: base random dataset policy
binding/nodes: base random dataset policy binding
quality: base random policy binding
readers: base base/files
epoch: base config binding readers
job_epochs: base epoch peers readers
ledger: base base/files config policy
verify: base base/files dataset policy binding quality ledger
staging: base
pool/memory: base
peers: base base/files random config catalogue source io binding/nodes
  pool/memory
pool: base random catalogue source io dataset policy binding binding/nodes
  staging pool/memory
formats: base base/files config
formats/tar: base formats
formats/tfrecord: base base/files config formats
formats/columnar: base base/files source formats
formats/table: base config formats formats/tar formats/tfrecord
  formats/columnar
records/aligned: base base/files catalogue source formats formats/tfrecord
  formats/table
records/order: base random policy formats formats/tfrecord formats/columnar
records/index: base base/files config catalogue source formats
  formats/tfrecord formats/columnar records/aligned records/order
records/containers: base base/files config catalogue source dataset policy quality
  formats/tfrecord formats/table formats records/aligned records/order
  records/index
records/content: base catalogue source io pool pool/memory formats
  records/order
records/tfrecord_api: base base/files random policy formats formats/tfrecord
  records/aligned records/order records/index
records/epoch: base config catalogue io policy staging pool formats
  records/order records/containers records/content
staging/pack: base base/files catalogue source io dataset pool pool/memory
staging/tier: base base/files catalogue source io staging
staging/stager: base base/files catalogue io staging pool pool/memory
  staging/pack staging/tier
sampler/search: base
sampler: base catalogue io dataset readers pool sampler/search
view: base base/files config source dataset policy binding binding/nodes
  quality readers
  epoch ledger staging pool records/containers records/content records/epoch
  sampler
engine: base base/files config catalogue source io scan dataset policy readers
  ledger peers job_epochs pool pool/memory records/containers records/content records/epoch
  staging/pack staging/tier staging/stager sampler view
)";

std::map<std::string, std::set<std::string>> CoreFolders() {
  std::map<std::string, std::set<std::string>> folders;
  std::istringstream words(kCoreFolders);
  std::string folder;
  for (std::string word; words >> word;) {
    if (word.back() == ':') {
      folder = word.substr(0, word.size() - 1);
      folders[folder];
    } else {
      folders[folder].insert(word);
    }
  }
  return folders;
}

// Of "core/records/order/x.h": "records/order".
std::string CoreFolder(const std::filesystem::path& path) {
  return std::filesystem::relative(path.parent_path(), "core").string();
}

TEST(LayeringTest, TheFoldersOfCoreFollowTheArrows) {
  const std::map<std::string, std::set<std::string>> folders = CoreFolders();
  for (const auto& file : FilesWith({".h", ".cc"})) {
    if (file.string().rfind("core/", 0) != 0) continue;
    const std::string folder = CoreFolder(file);
    const auto own = folders.find(folder);
    ASSERT_NE(own, folders.end()) << file << " lies in no known folder";
    for (const std::string& include : Includes(file)) {
      if (include.rfind("core/", 0) != 0) continue;
      const std::string other = CoreFolder(include);
      EXPECT_TRUE(other == folder || own->second.count(other) != 0)
          << file << " includes " << include;
    }
  }
}

// Folders whose arrows all end in folders that are done are done themselves.
TEST(LayeringTest, TheArrowsOfCoreHaveNoCycle) {
  const std::map<std::string, std::set<std::string>> folders = CoreFolders();
  std::set<std::string> done;
  for (size_t round = 0; round < folders.size(); ++round) {
    for (const auto& [folder, uses] : folders) {
      if (std::includes(done.begin(), done.end(), uses.begin(), uses.end())) {
        done.insert(folder);
      }
    }
  }
  EXPECT_EQ(done.size(), folders.size());
}

TEST(LayeringTest, FoldersAreSmall) {
  constexpr size_t kMostFiles = 25;
  std::map<std::string, size_t> files;
  for (const auto& file : FilesWith({".h", ".cc"})) {
    if (file.string().rfind("tests/", 0) == 0) continue;
    ++files[file.parent_path().string()];
  }
  for (const auto& [folder, count] : files) {
    EXPECT_LE(count, kMostFiles) << folder;
  }
  EXPECT_EQ(files.count("core"), 0u);
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

// So a build without precompiled headers proves the header complete. headers.py
// proves it for all.
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

}  // namespace
}  // namespace shufflefs::meta
