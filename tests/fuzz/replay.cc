// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over the files of a corpus directory, and over each of
// them cut off and with single bytes changed, where libFuzzer is not linked.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "core/random/random.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr int kVariants = 200;

void RunOne(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()),
                         input.size());
}

void RunVariants(const std::string& input) {
  using shufflefs::RandomKey;
  shufflefs::Rng random(RandomKey(input.size()));
  for (int i = 0; i < kVariants && !input.empty(); ++i) {
    RunOne(input.substr(0, random.Bounded(input.size())));
    std::string changed = input;
    changed[random.Bounded(input.size())] =
        static_cast<char>(random.Bounded(256));
    RunOne(changed);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), {}};
    RunOne(input);
    RunVariants(input);
    ++files;
  }
  std::printf("%d files\n", files);
  return files > 0 ? 0 : 1;
}
