// SPDX-License-Identifier: Apache-2.0
#include "core/records/epoch/record_epoch.h"

#include <time.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/records/order/index_text.h"
#include "core/records/order/record_order.h"
#include "core/records/order/source_order.h"

namespace shufflefs {
namespace {

// As /proc counts the start of a process.
uint64_t TicksAfterBoot() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const auto second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  return static_cast<uint64_t>(now.tv_sec) * second +
         static_cast<uint64_t>(now.tv_nsec) * second / 1000000000;
}

}  // namespace

RecordEpoch::RecordEpoch(Parts parts)
    : parts_(std::move(parts)),
      repeats_(!shows_source() &&
               parts_.policy->record_repeats(parts_.epoch).repeats()),
      noted_by_hand_(parts_.containers->by_hand()) {}

RecordEpoch::~RecordEpoch() { ReleaseOrders(); }

void RecordEpoch::ReleaseOrders() {
  absl::flat_hash_map<EntryId, std::shared_ptr<const RecordFile>> files;
  {
    MutexLock lock(mu_);
    files.swap(files_);
    orders_.clear();
  }
  if (files.empty()) return;
  std::vector<std::shared_ptr<const RecordFile>> forgotten;
  for (auto& [entry, file] : files) forgotten.push_back(std::move(file));
  parts_.producer->Forget(forgotten);
}

RecordOrderOptions RecordEpoch::OptionsOf(EntryId file) const {
  RecordOrderOptions options;
  options.key = parts_.containers->key(file);
  options.seed = parts_.seed;
  options.epoch = parts_.epoch;
  options.whole_bytes = parts_.producer->whole_bytes();
  options.most_part_bytes = parts_.producer->largest_part();
  return options;
}

std::shared_ptr<const PartedFile> RecordEpoch::ContentOf(EntryId file) {
  const EntryId container = ContainerOf(file);
  ContainerShape shape = *parts_.containers->Shape(container);
  const bool is_index = container != file;
  // Without its padding, a file is not as in the source.
  const bool is_plain =
      is_index ? !shape.index : shows_source() && shape.placed == nullptr;
  if (is_plain) {
    ContainerShape plain;
    plain.file_bytes = parts_.containers->bytes(file);
    return std::make_shared<ShuffledFile>(std::move(plain), nullptr);
  }
  if (shows_source()) {
    shape.family = nullptr;
    shape.keeps_order = true;
  }
  RecordOrderOptions options = OptionsOf(container);
  if (shape.family != nullptr && shape.family->table->count() > 0) {
    std::shared_ptr<const FamilyOrder>& order = orders_[shape.family.get()];
    if (order == nullptr) {
      auto made = std::make_shared<FamilyOrder>();
      made->table = shape.family->table;
      options.may_repeat = true;
      for (size_t m = 0; m < made->table->members(); ++m) {
        options.strata.push_back(made->table->first(m));
        options.may_repeat &= made->table->member(m).columnar == nullptr;
      }
      made->order = MakeRecordOrder(*parts_.policy, *made->table, options);
      order = std::move(made);
    }
    return std::make_shared<ShuffledFile>(order, shape.member);
  }
  std::unique_ptr<const RecordOrder> order;
  if (shape.records != nullptr && shape.records->count() > 0) {
    options.order_by = shape.order_by.get();
    options.records_are_blocks = shape.columnar != nullptr;
    options.of_a_file = true;
    options.may_repeat = shape.may_repeat();
    order = shape.keeps_order
                ? MakeSourceOrder(*shape.records)
                : MakeRecordOrder(*parts_.policy, *shape.records, options);
  }
  if (is_index) {
    return std::make_shared<IndexText>(std::move(shape), std::move(order));
  }
  return std::make_shared<ShuffledFile>(std::move(shape), std::move(order));
}

std::shared_ptr<const RecordFile> RecordEpoch::FileOf(EntryId file) {
  MutexLock lock(mu_);
  std::shared_ptr<const RecordFile>& known = files_[file];
  if (known != nullptr) return known;
  auto made = std::make_shared<RecordFile>();
  made->id = parts_.producer->NewId();
  made->file = file;
  made->content = ContentOf(file);
  const ContainerShape shape = *parts_.containers->Shape(ContainerOf(file));
  if (shape.family != nullptr && !shows_source()) {
    made->family = shape.family->files;
  }
  known = std::move(made);
  return known;
}

uint64_t RecordEpoch::bytes(EntryId file) {
  const absl::optional<ContainerShape> shape =
      parts_.containers->Shape(ContainerOf(file));
  // Most sizes do not need the order.
  if (!shape || !SizeFollowsOrder(*shape)) {
    return parts_.containers->ShownBytes(file).bytes;
  }
  return FileOf(file)->content->bytes();
}

bool RecordEpoch::SizeFollowsOrder(const ContainerShape& shape) const {
  return !shows_source() &&
         (shape.family != nullptr || (repeats_ && shape.may_repeat()));
}

absl::optional<ContainerSet::Shown> RecordEpoch::KnownBytes(EntryId file) {
  const bool is_container = parts_.containers->Has(file) && !shows_source();
  if (!is_container || !(repeats_ || parts_.containers->IsMixed(file))) {
    return parts_.containers->ShownBytes(file);
  }
  const absl::optional<ContainerShape> shape = parts_.containers->Shape(file);
  if (!shape) return absl::nullopt;
  if (!SizeFollowsOrder(*shape)) return parts_.containers->ShownBytes(file);
  const std::shared_ptr<const RecordFile> shown = FileOf(file);
  if (!shown->content->is_quick()) return absl::nullopt;
  return ContainerSet::Shown{shown->content->bytes(), /*is_final=*/true};
}

void RecordEpoch::WhenSized(EntryId file, SizeDone done) {
  parts_.containers->WhenReady(
      file, [self = shared_from_this(), file,
             done = std::move(done)](const absl::Status& indexed) {
        if (!indexed.ok()) return done(indexed);
        done(self->bytes(file));
      });
}

bool RecordEpoch::IsResident(EntryId file) const {
  std::shared_ptr<const RecordFile> known;
  {
    MutexLock lock(mu_);
    const auto found = files_.find(file);
    if (found == files_.end()) return false;
    known = found->second;
  }
  return known->content->is_quick();
}

bool RecordEpoch::CountsAsRead(EntryId file) const {
  const ContainerSet& containers = *parts_.containers;
  return parts_.read_before != ReadBefore::kUnknown && containers.PassesEnd() &&
         containers.Has(file) && containers.IsShuffled(file);
}

void RecordEpoch::TellByHand() {
  const uint32_t why = parts_.containers->by_hand();
  if (noted_by_hand_.load() == why || parts_.notes.by_hand == nullptr) return;
  parts_.notes.by_hand(why);
  noted_by_hand_ = why;  // now that it is recorded
}

PassTracker::OpenIs RecordEpoch::Open(EntryId file, const PassReader& reader,
                                      PassTracker::IsGone is_gone) {
  NoteOpenOfPiece(file, reader.process);
  TellByHand();
  if (!CountsAsRead(file)) return PassTracker::OpenIs::kOfThisPass;
  const uint64_t files = parts_.containers->count();
  MutexLock lock(mu_);
  watch_.Opened(file, reader.process);
  return tracker_.Open(file, reader, files, is_gone);
}

void RecordEpoch::NoteOpenOfPiece(EntryId file, uint32_t process) {
  if (!CountsAsRead(file)) return;
  MutexLock lock(mu_);
  const bool is_new = follows_ && tracker_.complete() == 0;
  if (!tracker_.IsOpen(file) &&
      watch_.OpensPieces(
          file, process,
          is_new ? PositionWatch::Pass::kNew : PositionWatch::Pass::kAny)) {
    parts_.containers->NoteByHand(ContainerSet::kPositionsKept);
  }
}

void RecordEpoch::Follow(std::shared_ptr<RecordEpoch> before) {
  MutexLock lock(mu_);
  before_ = std::move(before);
  follows_ = true;
}

bool RecordEpoch::BegunByMistake() const {
  if ((by_hand() & ContainerSet::kPositionsKept) == 0) return false;
  MutexLock lock(mu_);
  return follows_ && tracker_.complete() == 0;
}

std::shared_ptr<RecordEpoch> RecordEpoch::NoteWanted(EntryId file,
                                                     uint64_t begin,
                                                     uint64_t end) {
  std::shared_ptr<RecordEpoch> before;  // is destroyed without the lock
  bool may_be_last = false;
  {
    MutexLock lock(mu_);
    const bool jumps = watch_.Wanted(file, begin, end);
    if (shows_before_) return before_;
    if (!jumps) {
      before = std::move(before_);
      return nullptr;
    }
    // The first read of a pass that follows another one is no step of reading
    // ahead. In doubt its reader has positions of the pass before.
    may_be_last = before_ == nullptr && watch_.MayBeLastStep(file, begin);
  }
  if (may_be_last) {
    const absl::optional<ContainerSet::Shown> shown = KnownBytes(file);
    if (shown && end >= shown->bytes) return nullptr;
  }
  return NoteJump(file);
}

std::shared_ptr<RecordEpoch> RecordEpoch::NoteJump(EntryId file) {
  const absl::optional<ContainerShape> shape = parts_.containers->Shape(file);
  // Readers of a columnar file begin with its footer.
  if (shape && shape->columnar != nullptr) return nullptr;
  parts_.containers->NoteByHand(ContainerSet::kPositionsKept);
  TellByHand();
  MutexLock lock(mu_);
  if (shape && !SizeFollowsOrder(*shape)) shows_before_ = before_ != nullptr;
  return shows_before_ ? before_ : nullptr;
}

bool RecordEpoch::BeginsByLookup(EntryId file) {
  if (!CountsAsRead(file)) return false;
  const uint64_t files = parts_.containers->count();
  MutexLock lock(mu_);
  return tracker_.BeginsByLookup(file, files);
}

void RecordEpoch::Close(EntryId file) {
  if (parts_.staging != nullptr) parts_.staging->NoteClosed(file);
  MutexLock lock(mu_);
  tracker_.Close(file);
}

uint64_t RecordEpoch::complete() const {
  MutexLock lock(mu_);
  return tracker_.complete();
}

void RecordEpoch::NoteDelivered(EntryId file, uint64_t begin, uint64_t end) {
  TellByHand();
  if (!CountsAsRead(file)) return;
  // A file that turned out to be no container need not be read.
  if (parts_.containers->Shape(file)->records == nullptr) return;
  const uint64_t size = bytes(file);
  bool is_complete = false;
  {
    MutexLock lock(mu_);
    is_complete = tracker_.Delivered(file, begin, end, size, TicksAfterBoot());
    if (is_complete) watch_.Complete(file);
  }
  if (is_complete && parts_.notes.read_whole != nullptr) {
    parts_.notes.read_whole(file);
  }
}

void RecordEpoch::NotePassed(EntryId file, uint64_t begin, uint64_t end) {
  if (ContainerOf(file) != file) {
    parts_.containers->NoteByHand(ContainerSet::kIndexWasRead);
    return TellByHand();
  }
  parts_.containers->WhenReady(file, [self = shared_from_this(), file, begin,
                                      end](const absl::Status& indexed) {
    if (indexed.ok()) self->NoteDelivered(file, begin, end);
  });
}

void RecordEpoch::Restore(absl::Span<const EntryId> files) {
  MutexLock lock(mu_);
  for (const EntryId file : files) {
    if (parts_.containers->Has(file)) tracker_.Restore(file);
  }
}

std::vector<EntryId> RecordEpoch::WholeFiles() const {
  if (WasReadToItsEnd()) return {};
  MutexLock lock(mu_);
  return tracker_.whole();
}

bool RecordEpoch::WasReadToItsEnd() const {
  return complete() >= parts_.containers->count();
}

void RecordEpoch::GoOnFrom(absl::Span<const EntryId> files) {
  absl::flat_hash_set<EntryId> whole;
  for (const EntryId file : files) {
    if (parts_.containers->Has(file)) whole.insert(file);
  }
  {
    MutexLock lock(mu_);
    tracker_.GoOnFrom(whole);
  }
  if (parts_.notes.goes_on_from != nullptr) parts_.notes.goes_on_from(files);
}

bool RecordEpoch::IsReadAgain(EntryId file) const {
  MutexLock lock(mu_);
  return tracker_.IsReadAgain(file);
}

ContentProvider::ReadDone RecordEpoch::Noting(EntryId file, uint64_t offset,
                                              ReadDone done) {
  return [self = shared_from_this(), file, offset, done = std::move(done)](
             absl::StatusOr<absl::Span<const iovec>> bytes) {
    if (bytes.ok()) {
      uint64_t end = offset;
      for (const iovec& piece : *bytes) end += piece.iov_len;
      self->NoteDelivered(file, offset, end);
    }
    done(std::move(bytes));
  };
}

void RecordEpoch::Read(EntryId file, uint64_t offset, uint64_t length,
                       ReadDone done) {
  const EntryId container = ContainerOf(file);
  if (container == file && length > 0) {
    if (const auto other = NoteWanted(file, offset, offset + length)) {
      return other->Read(file, offset, length, std::move(done));
    }
  }
  done = Noting(file, offset, std::move(done));
  if (container != file && parts_.live) {
    parts_.containers->NoteByHand(ContainerSet::kIndexWasRead);
    TellByHand();  // before the reader knows a position
  }
  if (parts_.containers->Shape(container)) {
    ReadShown(file, offset, length, std::move(done));
    return;
  }
  parts_.containers->WhenReady(
      container, [self = shared_from_this(), file, offset, length,
                  done = std::move(done)](const absl::Status& indexed) mutable {
        if (!indexed.ok()) return done(indexed);
        self->ReadShown(file, offset, length, std::move(done));
      });
}

void RecordEpoch::ReadShown(EntryId file, uint64_t offset, uint64_t length,
                            ReadDone done) {
  const std::shared_ptr<const RecordFile> shown = FileOf(file);
  // Before the read, so that the bytes it brings are kept.
  if (parts_.staging != nullptr && length > 0) {
    parts_.staging->NoteRead(shown, offset, offset + length);
  }
  parts_.producer->Read(shown, offset, length, std::move(done));
}

}  // namespace shufflefs
