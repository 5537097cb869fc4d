// SPDX-License-Identifier: Apache-2.0
// Any bytes as a ledger: a clear error or a valid prefix, never a crash, and
// what is kept reads the same again. Half of the inputs get right checksums,
// so that the fields after them are reached.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/ledger/ledger.h"
#include "core/ledger/ledger_reader.h"
#include "core/policy/retained_bindings.h"

namespace shufflefs {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

class Counter : public LedgerVisitor {
 public:
  void OnEpoch(const LedgerEpoch& epoch) override {
    ++records;
    by_hand |= epoch.by_hand;
    names[epoch.view] = epoch.names;
    views.push_back(epoch.view_path);
    // What the view does with it first.
    if (RetainedBindings::Make(epoch.retained).ok()) ++retained;
  }
  void OnConsumed(uint8_t view, uint64_t sample) override {
    ++consumed;
    Require(sample < names[view]);
  }
  void OnShown(uint8_t view, const NameBinding& pair) override {
    OnConsumed(view, pair.sample);
    Require(pair.name < names[view]);
  }
  void OnBound(uint8_t view, const PackedPairs& pairs) override {
    for (uint64_t i = 0; i < pairs.size(); ++i) {
      Require(std::max(pairs[i].name, pairs[i].sample) < names[view]);
    }
    bound += pairs.size();
  }
  void OnOpens(uint8_t view, const LedgerOpens& opens) override {
    ++records;
    for (const LedgerOpen& open : opens.opens) {
      Require(open.number < names[view]);
    }
  }
  void OnContainers(uint8_t, const LedgerContainers& read) override {
    ++records;
    by_hand |= read.by_hand;
    for (const uint64_t file : read.files) Require(file >> 32 == 0);
  }
  void OnHold(const LedgerHold&) override { ++records; }
  void OnSwitch(const LedgerSwitch&) override { ++records; }

  uint64_t records = 0, consumed = 0, bound = 0, retained = 0;
  uint32_t by_hand = 0;
  std::vector<std::string> views;
  std::vector<uint64_t> names = std::vector<uint64_t>(256);
};

// Makes the checks of header, records and consumptions right.
void Repair(std::vector<uint64_t>& words) {
  using namespace ledger_format;
  const Words header = Header();
  words.insert(words.begin(), header.begin(), header.end());
  for (uint64_t at = kHeaderWords; at < words.size();) {
    if (KindOf(words[at]) == WordKind::kRecord) {
      const uint64_t left = words.size() - at;
      if (left < 2) return;
      uint64_t length = words[at] >> 24 & 0xffffff;
      if (length < 2 || length > left) {
        length = std::min<uint64_t>(2 + length % 32, left);
      }
      words[at] = (words[at] & ~(uint64_t{0xffffff} << 24)) | length << 24;
      words[at + length - 1] =
          XXH3_64bits_withSeed(&words[at], (length - 1) * 8, at);
      at += length;
    } else {
      const auto view = static_cast<uint8_t>((words[at] >> 56) % 3);
      words[at] = ConsumedWord(view, words[at] & (kMaxLedgerNames - 1), at);
      ++at;
    }
  }
}

// What the next daemon must know of a view's containers.
struct OfContainers {
  std::vector<uint64_t> whole;
  uint32_t by_hand = 0;
  friend bool operator==(const OfContainers&, const OfContainers&) = default;
};

OfContainers ContainersOf(const LedgerState& state) {
  return {state.containers, state.begin.by_hand};
}

// Goes on with each view's last epoch, as a daemon does that starts again.
std::map<std::string, OfContainers> GoOn(Ledger& ledger, const Counter& seen) {
  std::map<std::string, OfContainers> known;
  for (const std::string& view : seen.views) {
    absl::optional<LedgerState> state = ledger.TakeLastState(view);
    if (!state) continue;
    Require(state->begin.view_path == view);
    known[view] = ContainersOf(*state);
    (void)RetainedBindings::Make(state->bound).ok();
    state->begin.view = static_cast<uint8_t>(state->begin.view / 2);
    Require(ledger.Continue(*state).ok());
  }
  return known;
}

void Play(std::vector<uint64_t> words, bool repair) {
  if (repair) Repair(words);
  const std::string path = (std::filesystem::temp_directory_path() /
                            absl::StrCat("shufflefs-ledger-fuzz.", ::getpid()))
                               .string();
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  Require(fd >= 0);
  const size_t bytes = words.size() * 8;
  Require(::write(fd, words.data(), bytes) == static_cast<ssize_t>(bytes));
  ::close(fd);

  Counter first;
  const absl::Status read = ReplayLedger(path, first);
  auto ledger = Ledger::Open(path, {});
  if (ledger.ok()) {
    Require((*ledger)->cut().ok() == (read.ok() || bytes == 0));
    Require((*ledger)->Compact().ok());
    Counter again;
    Require(ReplayLedger(path, again).ok());
    Require(again.consumed <= first.consumed);
    Require((again.by_hand & ~first.by_hand) == 0);
    const auto known = GoOn(**ledger, first);
    ledger->reset();
    Counter last;
    Require(ReplayLedger(path, last).ok());
    Require(last.consumed + last.bound >= again.consumed + again.bound);
    ledger = Ledger::Open(path, {});
    Require(ledger.ok());
    for (const auto& [view, containers] : known) {
      const auto state = (*ledger)->TakeLastState(view);
      Require(state && ContainersOf(*state) == containers);
    }
  } else {
    Require(!read.ok());
  }
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::vector<uint64_t> words((size - 1) / 8);
  if (!words.empty()) std::memcpy(words.data(), data + 1, words.size() * 8);
  shufflefs::Play(std::move(words), data[0] % 2 == 0);
  return 0;
}
