// SPDX-License-Identifier: Apache-2.0
// fuzz_replay TARGET DIRECTORY: runs a fuzz target over the files of a corpus
// directory, and over each of them cut off and with single bytes changed, where
// libFuzzer is not linked.
#include "tests/fuzz/replay.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/random/random.h"

namespace {

constexpr int kVariants = 200;

void RunOne(const FuzzTarget& target, const std::string& input) {
  target.run(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

void RunVariants(const FuzzTarget& target, const std::string& input) {
  using shufflefs::RandomKey;
  shufflefs::Rng random(RandomKey(input.size()));
  for (int i = 0; i < kVariants && !input.empty(); ++i) {
    RunOne(target, input.substr(0, random.Bounded(input.size())));
    std::string changed = input;
    changed[random.Bounded(input.size())] =
        static_cast<char>(random.Bounded(256));
    RunOne(target, changed);
  }
}

// How many files there were.
int Replay(const FuzzTarget& target, const std::string& directory) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), {}};
    RunOne(target, input);
    RunVariants(target, input);
    ++files;
  }
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (const FuzzTarget& target : FuzzTargets()) {
    if (target.name != argv[1]) continue;
    const int files = Replay(target, argv[2]);
    std::printf("%d files\n", files);
    return files > 0 ? 0 : 1;
  }
  std::fprintf(stderr, "fuzz_replay: no target %s\n", argv[1]);
  return 2;
}
