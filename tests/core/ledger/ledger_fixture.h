// SPDX-License-Identifier: Apache-2.0
// A ledger in a directory of its own, and what it says, as lines.
#ifndef SHUFFLEFS_TESTS_CORE_LEDGER_LEDGER_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_LEDGER_LEDGER_FIXTURE_H_

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/ledger/ledger.h"
#include "core/ledger/ledger_reader.h"
#include "gtest/gtest.h"
#include "tests/core/base/full_disk.h"
#include "tests/core/base/temp_tree.h"

namespace shufflefs::testing_support {

// Everything a ledger says, a line a record.
class Transcript : public LedgerVisitor {
 public:
  void OnEpoch(const LedgerEpoch& e) override {
    std::string line = absl::StrCat(
        "epoch ", e.view, " ", e.view_path, " ", e.names, " ", e.fingerprint,
        " ", e.epoch.value(), "/", e.binding.value(), " ", e.seed.value(), " ",
        e.policy, " ", e.options_hash, " ", static_cast<int>(e.substitute), " ",
        e.identity, e.reactive ? " reactive" : "",
        e.continues ? " continues" : "");
    for (const auto& pair : e.retained) {
      absl::StrAppend(&line, " ", pair.name, ">", pair.sample);
    }
    lines.push_back(line);
  }
  void OnConsumed(uint8_t view, uint64_t sample) override {
    lines.push_back(absl::StrCat("consumed ", view, " ", sample));
  }
  void OnShown(uint8_t view, const NameBinding& pair) override {
    lines.push_back(
        absl::StrCat("shown ", view, " ", pair.name, ">", pair.sample));
  }
  void OnBound(uint8_t view, const PackedPairs& pairs) override {
    std::string line = absl::StrCat("bound ", view);
    for (uint64_t i = 0; i < pairs.size(); ++i) {
      absl::StrAppend(&line, " ", pairs[i].name, ">", pairs[i].sample);
    }
    lines.push_back(line);
  }
  void OnOpens(uint8_t view, const LedgerOpens& opens) override {
    std::string line =
        absl::StrCat("opens ", view, opens.anew ? " anew" : "",
                     opens.untold > 0 ? absl::StrCat(" ", opens.untold) : "");
    for (const LedgerOpen& open : opens.opens) {
      absl::StrAppend(&line, " ",
                      std::string(1, "fad"[static_cast<int>(open.kind)]),
                      open.number);
    }
    lines.push_back(line);
  }
  void OnHold(const LedgerHold& hold) override {
    lines.push_back(absl::StrCat("hold ", hold.view, " ", hold.epoch.value(),
                                 " ", std::string(1, hold.rule), " ",
                                 hold.reason));
  }
  void OnSwitch(const LedgerSwitch& change) override {
    lines.push_back(absl::StrCat("switch ", change.view, " ",
                                 change.epoch.value(), " ", change.what));
  }
  std::vector<std::string> lines;
};

inline LedgerEpoch SomeEpoch(uint64_t epoch, uint64_t names = 1000) {
  LedgerEpoch begin;
  begin.view = 1;
  begin.view_path = "train";
  begin.names = names;
  begin.fingerprint = 0xfeed;
  begin.epoch = begin.binding = Epoch(epoch);
  begin.seed = Seed(7);
  begin.policy = "lirs";
  begin.options_hash = 99;
  begin.substitute = Substitute::kDirectory;
  begin.retained = {{1, 2}, {5, 3}};
  return begin;
}

class LedgerTest : public ::testing::Test {
 protected:
  std::string path() const { return tree_.At("ledger"); }

  std::unique_ptr<Ledger> Open(Ledger::Options options = {}) {
    auto ledger = Ledger::Open(path(), options);
    EXPECT_TRUE(ledger.ok()) << ledger.status();
    return ledger.ok() ? *std::move(ledger) : nullptr;
  }
  // Writes one record of each kind, twice over.
  void WriteSome() {
    const auto ledger = Open();
    for (uint64_t epoch = 3; epoch < 5; ++epoch) {
      ASSERT_TRUE(ledger->BeginEpoch(SomeEpoch(epoch)).ok());
      for (const uint64_t sample : {0, 999, 17}) {
        ASSERT_TRUE(ledger->Consumed(1, sample).ok());
      }
      ASSERT_TRUE(ledger->Switch({1, Epoch(epoch), "policy = \"lirs\""}).ok());
      ASSERT_TRUE(ledger->Hold({1, Epoch(epoch + 1), 'c', "partial"}).ok());
      ASSERT_TRUE(ledger->ConsumedUnder(1, 998, 70).ok());
      ASSERT_TRUE(ledger->Consumed(1, 4).ok());
    }
  }
  std::vector<std::string> Read(absl::Status* status = nullptr) {
    Transcript transcript;
    const absl::Status read = ReplayLedger(path(), transcript);
    if (status != nullptr) {
      *status = read;
    } else {
      EXPECT_TRUE(read.ok()) << read;
    }
    return transcript.lines;
  }
  std::string Bytes() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Changes one byte in place: much faster than writing the file anew.
  void PutByte(size_t at, char byte) const {
    std::fstream file(path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }
  void WriteBytes(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary) << bytes;
  }

  TempTree tree_;
};

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_LEDGER_LEDGER_FIXTURE_H_
