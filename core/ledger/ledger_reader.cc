// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/ledger_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/base/files/unique_fd.h"
#include "core/base/status.h"
#include "core/ledger/ledger_pairs.h"

namespace shufflefs {
namespace {

using ledger_format::RecordType;
using ledger_format::WordKind;

constexpr uint64_t kReadWords = 1 << 15;
// A daemon that appends a whole pass stores its first word last. A word that is
// missing is read again until nobody has written to the file for kPatience, but
// not longer than kMostWait. Each pause is twice as long as the one before.
constexpr useconds_t kFirstPause = 32;  // microseconds, as the others
constexpr useconds_t kPatience = 100000;
constexpr useconds_t kMostWait = 10000000;

// Waits for whoever may be writing to a file.
class WriterWait {
 public:
  explicit WriterWait(int fd) : fd_(fd) {}

  void Begin() { since_written_ = waited_ = 0; }
  // Returns false if it is no use to wait longer.
  bool Pause() {
    struct stat st = {};
    if (::fstat(fd_, &st) != 0) return false;
    if (st.st_size != size_ || st.st_mtim.tv_sec != written_.tv_sec ||
        st.st_mtim.tv_nsec != written_.tv_nsec) {
      size_ = st.st_size;
      written_ = st.st_mtim;
      since_written_ = 0;
    }
    if (since_written_ >= kPatience || waited_ >= kMostWait) return false;
    const useconds_t pause = std::max(kFirstPause, since_written_);
    ::usleep(pause);
    since_written_ += pause;
    waited_ += pause;
    return true;
  }

 private:
  const int fd_;
  off_t size_ = -1;
  timespec written_ = {};
  useconds_t since_written_ = 0;
  useconds_t waited_ = 0;
};

// A window of the file's words that moves forward.
class WordSource {
 public:
  explicit WordSource(int fd) : fd_(fd) {}

  // The number of the next word.
  uint64_t at() const { return at_; }

  // The next `count` words; fewer only at the end of the file.
  absl::StatusOr<absl::Span<const uint64_t>> Peek(uint64_t count) {
    while (words_.size() - used_ < count) {
      ASSIGN_OR_RETURN(const bool more, Fill());
      if (!more) break;
    }
    return absl::MakeConstSpan(words_).subspan(used_, count);
  }
  void Skip(uint64_t count) {
    used_ += count;
    at_ += count;
  }
  // Drops the words that were read ahead, so that they are read again.
  void Refresh() {
    words_.clear();
    used_ = 0;
  }

 private:
  absl::StatusOr<bool> Fill() {
    words_.erase(words_.begin(),
                 words_.begin() + static_cast<std::ptrdiff_t>(used_));
    used_ = 0;
    const uint64_t have = words_.size();
    words_.resize(have + kReadWords);
    char* into = reinterpret_cast<char*>(words_.data() + have);
    uint64_t bytes = 0;
    while (bytes < kReadWords * 8) {
      const ssize_t got = ::pread(fd_, into + bytes, kReadWords * 8 - bytes,
                                  static_cast<off_t>((at_ + have) * 8 + bytes));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoStatus(errno, "read");
      if (got == 0) break;
      bytes += static_cast<uint64_t>(got);
    }
    words_.resize(have + bytes / 8);  // ignores a torn last word
    return bytes >= 8;
  }

  const int fd_;
  uint64_t at_ = 0;
  uint64_t used_ = 0;  // words of words_ already taken
  std::vector<uint64_t> words_;
};

}  // namespace

// Parses one item after the other and checks that it fits the earlier ones.
class LedgerReader::Impl {
 public:
  explicit Impl(UniqueFd fd)
      : fd_(std::move(fd)), source_(fd_.get()), writer_(fd_.get()) {}

  absl::Status Header() {
    ASSIGN_OR_RETURN(const auto header,
                     source_.Peek(ledger_format::kHeaderWords));
    RETURN_IF_ERROR(ledger_format::CheckHeader(header));
    current_ = ledger_format::IsCurrent(header);
    source_.Skip(ledger_format::kHeaderWords);
    return absl::OkStatus();
  }

  absl::Status Run(LedgerVisitor& visitor, uint64_t end) {
    source_.Refresh();
    writer_.Begin();
    while (source_.at() < end) {
      ASSIGN_OR_RETURN(const auto next, source_.Peek(1));
      if (next.empty()) return absl::OkStatus();
      switch (ledger_format::KindOf(next[0])) {
        case WordKind::kNothing: {
          ASSIGN_OR_RETURN(const bool last, NothingBehind());
          if (last) return absl::OkStatus();
          // The daemon may be writing just here.
          if (!writer_.Pause()) {
            return absl::DataLossError(
                "nothing was written here, but something follows: a record was "
                "lost or not finished");
          }
          source_.Refresh();
          continue;
        }
        case WordKind::kConsumed:
          RETURN_IF_ERROR(Consumed(next[0], visitor));
          break;
        case WordKind::kRecord:
          RETURN_IF_ERROR(Record(next[0], visitor));
          break;
      }
      writer_.Begin();
    }
    return absl::OkStatus();
  }

  uint64_t at() const { return source_.at(); }
  bool current() const { return current_; }

 private:
  absl::Status Consumed(uint64_t word, LedgerVisitor& visitor) {
    ASSIGN_OR_RETURN(const auto consumed,
                     ledger_format::ParseConsumed(word, source_.at()));
    RETURN_IF_ERROR(CheckSample(consumed.view, consumed.sample));
    visitor.OnConsumed(consumed.view, consumed.sample);
    source_.Skip(1);
    return absl::OkStatus();
  }

  absl::Status Record(uint64_t first, LedgerVisitor& visitor) {
    ASSIGN_OR_RETURN(const uint64_t length, ledger_format::RecordLength(first));
    ASSIGN_OR_RETURN(const auto record, source_.Peek(length));
    if (record.size() < length) {
      return absl::DataLossError("a record is cut off");
    }
    RETURN_IF_ERROR(ledger_format::CheckRecord(record, source_.at()));
    RETURN_IF_ERROR(Visit(record, visitor));
    source_.Skip(length);
    return absl::OkStatus();
  }

  absl::Status Visit(absl::Span<const uint64_t> record,
                     LedgerVisitor& visitor) {
    switch (ledger_format::TypeOf(record[0])) {
      case RecordType::kEpoch: {
        ASSIGN_OR_RETURN(const auto epoch, ledger_format::DecodeEpoch(record));
        names_[epoch.view] = epoch.names;
        visitor.OnEpoch(epoch);
        return absl::OkStatus();
      }
      case RecordType::kHold: {
        ASSIGN_OR_RETURN(const auto hold, ledger_format::DecodeHold(record));
        visitor.OnHold(hold);
        return absl::OkStatus();
      }
      case RecordType::kSwitch: {
        ASSIGN_OR_RETURN(const auto change,
                         ledger_format::DecodeSwitch(record));
        visitor.OnSwitch(change);
        return absl::OkStatus();
      }
      case RecordType::kConsumedSet:
        return VisitSet(record, visitor);
      case RecordType::kShown: {
        const uint8_t view = ledger_format::ViewOf(record[0]);
        ASSIGN_OR_RETURN(const auto pair, ledger_format::DecodeShown(record));
        RETURN_IF_ERROR(CheckPair(view, pair));
        visitor.OnShown(view, pair);
        return absl::OkStatus();
      }
      case RecordType::kPairSet:
        return VisitPairs(record, visitor);
      case RecordType::kOpens: {
        const uint8_t view = ledger_format::ViewOf(record[0]);
        ASSIGN_OR_RETURN(const auto opens, ledger_format::DecodeOpens(record));
        for (const LedgerOpen& open : opens.opens) {
          RETURN_IF_ERROR(CheckSample(view, open.number));
        }
        visitor.OnOpens(view, opens);
        return absl::OkStatus();
      }
      case RecordType::kContainers: {
        const uint8_t view = ledger_format::ViewOf(record[0]);
        ASSIGN_OR_RETURN(const auto containers,
                         ledger_format::DecodeContainers(record));
        visitor.OnContainers(view, containers);
        return absl::OkStatus();
      }
    }
    return absl::DataLossError("a record has an unknown type");
  }

  absl::Status VisitSet(absl::Span<const uint64_t> record,
                        LedgerVisitor& visitor) {
    const uint8_t view = ledger_format::ViewOf(record[0]);
    ASSIGN_OR_RETURN(const auto set, ledger_format::DecodeConsumedSet(record));
    for (const SampleBits& bits : set) {
      const uint64_t highest =
          bits.index * 64 + 63 -
          static_cast<uint64_t>(std::countl_zero(bits.bits | 1));
      RETURN_IF_ERROR(CheckSample(view, highest));
    }
    for (const SampleBits& bits : set) {
      for (uint64_t rest = bits.bits; rest != 0; rest &= rest - 1) {
        visitor.OnConsumed(view, bits.index * 64 + static_cast<uint64_t>(
                                                       std::countr_zero(rest)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status VisitPairs(absl::Span<const uint64_t> record,
                          LedgerVisitor& visitor) {
    const uint8_t view = ledger_format::ViewOf(record[0]);
    ASSIGN_OR_RETURN(const auto set, ledger_format::DecodePairSet(record));
    for (uint64_t i = 0; i < set.pairs.size(); ++i) {
      RETURN_IF_ERROR(CheckPair(view, set.pairs[i]));
    }
    if (!set.consumed) {
      visitor.OnBound(view, set.pairs);
      return absl::OkStatus();
    }
    for (uint64_t i = 0; i < set.pairs.size(); ++i) {
      visitor.OnShown(view, set.pairs[i]);
    }
    return absl::OkStatus();
  }

  absl::Status CheckPair(uint8_t view, const NameBinding& pair) const {
    return CheckSample(view, std::max(pair.name, pair.sample));
  }

  absl::Status CheckSample(uint8_t view, uint64_t sample) const {
    if (sample < names_[view]) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("sample ", sample, " of view ",
                                            view, " which has ", names_[view],
                                            " samples"));
  }

  // Returns whether only unwritten words follow.
  absl::StatusOr<bool> NothingBehind() {
    const auto at = static_cast<off_t>(source_.at() * 8);
    if (::lseek(fd_.get(), at, SEEK_DATA) < 0 && errno == ENXIO) return true;
    WordSource behind = source_;
    for (;;) {
      ASSIGN_OR_RETURN(const auto words, behind.Peek(kReadWords));
      if (words.empty()) return true;
      if (std::any_of(words.begin(), words.end(),
                      [](uint64_t word) { return word != 0; })) {
        return false;
      }
      behind.Skip(words.size());
    }
  }

  const UniqueFd fd_;
  WordSource source_;
  WriterWait writer_;
  bool current_ = true;
  std::array<uint64_t, 256> names_{};  // by view; 0 before its first epoch
};

LedgerReader::LedgerReader(FilePlace place, std::unique_ptr<Impl> impl)
    : place_(std::move(place)), impl_(std::move(impl)) {}

LedgerReader::~LedgerReader() = default;

absl::StatusOr<std::unique_ptr<LedgerReader>> LedgerReader::Open(
    FilePlace place) {
  ASSIGN_OR_RETURN(UniqueFd fd, place.Open(O_RDONLY));
  auto impl = std::make_unique<Impl>(std::move(fd));
  RETURN_IF_ERROR(Annotate(impl->Header(), place.path()));
  return absl::WrapUnique(new LedgerReader(std::move(place), std::move(impl)));
}

absl::Status LedgerReader::Run(LedgerVisitor& visitor, uint64_t end) {
  const absl::Status run = impl_->Run(visitor, end);
  return Annotate(run,
                  absl::StrCat(place_.path(), ": offset ", valid_words() * 8));
}

uint64_t LedgerReader::valid_words() const { return impl_->at(); }

bool LedgerReader::current() const { return impl_->current(); }

absl::Status ReplayLedger(const FilePlace& place, LedgerVisitor& visitor) {
  ASSIGN_OR_RETURN(const auto reader, LedgerReader::Open(place));
  return reader->Run(visitor);
}

}  // namespace shufflefs
