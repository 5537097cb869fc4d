// SPDX-License-Identifier: Apache-2.0
// Feeds a record scanner a file in every way that pieces can be cut, and holds
// what it said.
#ifndef SHUFFLEFS_TESTS_CORE_FORMATS_SCANNER_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_FORMATS_SCANNER_FIXTURE_H_

#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/formats/record_scanner.h"
#include "gtest/gtest.h"

namespace shufflefs::testing_support {

struct Scanned {
  absl::Status status;
  absl::optional<uint64_t> begin;  // nothing: no Begin
  std::vector<uint64_t> sizes;

  // The bytes of each record of `file`.
  std::vector<std::string> Records(const std::string& file) const {
    std::vector<std::string> records;
    uint64_t at = begin.value_or(0);
    for (const uint64_t size : sizes) {
      records.push_back(file.substr(at, size));
      at += size;
    }
    return records;
  }
  // Where the last record ends; 0 if there is none.
  uint64_t end() const {
    uint64_t at = begin.value_or(0);
    for (const uint64_t size : sizes) at += size;
    return at;
  }
  friend bool operator==(const Scanned& a, const Scanned& b) {
    return a.status == b.status && a.begin == b.begin && a.sizes == b.sizes;
  }
  friend std::ostream& operator<<(std::ostream& out, const Scanned& s) {
    out << s.status << ", begin "
        << (s.begin ? absl::StrCat(*s.begin) : std::string("none")) << ":";
    for (const uint64_t size : s.sizes) out << " " << size;
    return out;
  }
};

// Holds what a scanner says, and it to the contract of RecordSink.
class RecordingSink : public RecordSink {
 public:
  explicit RecordingSink(Scanned& scanned) : scanned_(scanned) {}
  void Begin(uint64_t offset) override {
    EXPECT_FALSE(scanned_.begin.has_value()) << "a second Begin";
    scanned_.begin = offset;
  }
  void Add(uint64_t bytes) override {
    EXPECT_TRUE(scanned_.begin.has_value()) << "Add before Begin";
    EXPECT_GT(bytes, 0u);
    scanned_.sizes.push_back(bytes);
  }

 private:
  Scanned& scanned_;
};

using MakeScanner = std::function<std::unique_ptr<RecordScanner>()>;

// Feeds `file`, each piece as long as `piece` says, which is called with the
// bytes that are left and answers from 0 to as many. Of the bytes that are not
// to be read, as many are passed over as `skip` says.
inline Scanned ScanInPieces(
    RecordScanner& scanner, absl::string_view file,
    const std::function<size_t(size_t)>& piece,
    const std::function<size_t(size_t)>& skip = [](size_t) { return 0; }) {
  Scanned scanned;
  RecordingSink sink(scanned);
  while (!file.empty()) {
    // A copy, so that a sanitizer sees a look beyond its end.
    const std::string bytes(file.substr(0, piece(file.size())));
    file.remove_prefix(bytes.size());
    scanned.status = scanner.Feed(bytes, sink);
    if (!scanned.status.ok()) return scanned;
    const size_t skipped = skip(scanner.unread());
    EXPECT_LE(skipped, file.size());
    file.remove_prefix(std::min(skipped, file.size()));
    if (skipped > 0) scanner.Skip(skipped);
  }
  scanned.status = scanner.Finish(sink);
  EXPECT_EQ(scanned.begin.has_value(), !scanned.sizes.empty());
  return scanned;
}

// What a scanner says of `file`, fed at once; the same must come from other
// pieces. An error must be the same too, but may come with records that
// others leave out.
inline Scanned ScanEveryWay(const MakeScanner& make, const std::string& file) {
  const Scanned once =
      ScanInPieces(*make(), file, [](size_t left) { return left; });
  const auto expect_same = [&once](const Scanned& other) {
    EXPECT_EQ(other.status, once.status);
    if (once.status.ok()) {
      EXPECT_EQ(other, once);
    }
  };
  {
    SCOPED_TRACE("byte by byte");
    expect_same(ScanInPieces(*make(), file, [](size_t) { return 1; }));
  }
  {
    SCOPED_TRACE("byte by byte, without what need not be read");
    expect_same(ScanInPieces(
        *make(), file, [](size_t) { return 1; },
        [](size_t unread) { return unread; }));
  }
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  for (int i = 0; i < 8; ++i) {
    SCOPED_TRACE(absl::StrCat("random pieces, seed ", seed, ", run ", i));
    // Small ones, so that every place is a border at some time, and large.
    const size_t most = i < 4 ? 1 + random() % 20 : 1 + random() % 40000;
    expect_same(ScanInPieces(*make(), file, [&](size_t left) {
      return std::min(left, static_cast<size_t>(random() % (most + 1)));
    }));
    expect_same(ScanInPieces(
        *make(), file,
        [&](size_t left) {
          return std::min(left, static_cast<size_t>(random() % (most + 1)));
        },
        [&](size_t unread) { return random() % (unread + 1); }));
  }
  return once;
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_FORMATS_SCANNER_FIXTURE_H_
