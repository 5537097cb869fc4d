// SPDX-License-Identifier: Apache-2.0
// A tar archive with any bytes at all: the pieces it comes in change nothing,
// its records lie inside it, and in another order they are records again.
// Blocks that look like headers get a checksum that fits, as an attacker would
// give them one.
#include <stdint.h>
#include <stdlib.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/formats/tar/tar_header.h"
#include "core/formats/tar/tar_scanner.h"
#include "tests/core/formats/tar/tar_fixture.h"

namespace shufflefs {
namespace {

void Require(bool holds) {
  if (!holds) abort();
}

struct Found : public RecordSink {
  void Begin(uint64_t offset) override { begin = offset; }
  void Add(uint64_t bytes) override {
    Require(bytes > 0 && bytes % kTarBlockBytes == 0);
    sizes.push_back(bytes);
  }
  uint64_t begin = 0;
  std::vector<uint64_t> sizes;
};

absl::Status Scan(absl::string_view file, size_t piece, Found& found) {
  const auto scanner = MakeTarScanner(file.size());
  while (!file.empty()) {
    const absl::Status status = scanner->Feed(file.substr(0, piece), found);
    if (!status.ok()) return status;
    file.remove_prefix(std::min(piece, file.size()));
  }
  return scanner->Finish(found);
}

void Seal(std::string& file) {
  for (size_t at = 0; at + kTarBlockBytes <= file.size();
       at += kTarBlockBytes) {
    std::string block = file.substr(at, kTarBlockBytes);
    if (block.compare(257, 5, "ustar") != 0) continue;
    testing_support::SealTar(block);
    file.replace(at, kTarBlockBytes, block);
  }
}

void Run(std::string file) {
  Seal(file);
  Found found;
  const absl::Status status = Scan(file, file.size() + 1, found);
  Found other;
  Require(Scan(file, 97, other) == status);
  Require(!status.ok() || other.sizes == found.sizes);
  if (!status.ok() || found.sizes.empty()) return;
  std::string backwards;
  uint64_t at = found.begin;
  for (const uint64_t size : found.sizes) {
    Require(at <= file.size() && size <= file.size() - at);
    backwards.insert(0, file, at, size);
    at += size;
  }
  backwards = file.substr(0, found.begin) + backwards + file.substr(at);
  Found again;
  Require(Scan(backwards, backwards.size(), again).ok());
  Require(again.sizes.size() == found.sizes.size());
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shufflefs::Run(std::string(data, data + size));
  return 0;
}
