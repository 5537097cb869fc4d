// SPDX-License-Identifier: Apache-2.0
#include "core/peers/peer_reader.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/source/file_check.h"

namespace shufflefs {
namespace {

// Requests to peers that are under way. Their owners read in parallel, and a
// network needs some in flight.
constexpr size_t kMostAsked = 64;
constexpr uint64_t kMostAskedBytes = uint64_t{32} << 20;
// A peer that reads a busy source takes a while. One that is gone is noticed by
// the transport, sooner.
constexpr std::chrono::milliseconds kWithin{10000};

constexpr uint64_t RoundUp(uint64_t bytes) {
  return (bytes + kReadAlignment - 1) / kReadAlignment * kReadAlignment;
}

// Ends a read when all of its pieces ended. The first error counts.
class Joint {
 public:
  Joint(size_t pieces, std::function<void(absl::Status)> done)
      : left_(pieces), done_(std::move(done)) {}

  void Ended(const absl::Status& status) {
    absl::Status result;
    {
      MutexLock lock(mu_);
      if (status_.ok()) status_ = status;
      if (--left_ > 0) return;
      result = status_;
    }
    done_(result);
  }

 private:
  Mutex mu_;
  size_t left_ ABSL_GUARDED_BY(mu_);
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  const std::function<void(absl::Status)> done_;
};

// The bytes [begin, end) of what `read` wants, as a read of its own.
FileRead PieceOf(const FileRead& read, uint64_t begin, uint64_t end,
                 std::function<void(absl::Status)> done) {
  FileRead piece;
  piece.path = read.path;
  piece.expected = read.expected;
  piece.one_of_many = true;
  piece.offset = begin;
  piece.length = end - begin;
  piece.into =
      SlicePieces(read.into, begin - read.offset, RoundUp(piece.length));
  piece.done = std::move(done);
  return piece;
}

}  // namespace

PeerReader::PeerReader(Parts parts)
    : parts_(std::move(parts)),
      // The network is one device, whatever the files are on.
      remote_(kMostAsked, kMostAskedBytes, /*devices=*/1) {}

PeerReader::~PeerReader() {
  Cancel();
  MutexLock lock(mu_);
  while (busy_ > 0) idle_.Wait(mu_);
}

std::string PeerReader::how() const {
  return absl::StrCat(parts_.local->how(), " and peers");
}

void PeerReader::Begin() {
  MutexLock lock(mu_);
  ++busy_;
}

void PeerReader::End() {
  MutexLock lock(mu_);
  if (--busy_ == 0) idle_.SignalAll();
}

void PeerReader::Submit(std::vector<FileRead> reads) {
  const std::shared_ptr<const Owners> owners = parts_.owners();
  Routed routed;
  for (FileRead& read : reads) Route(std::move(read), *owners, routed);
  Send(std::move(routed));
}

void PeerReader::SubmitUrgent(FileRead read) {
  const std::shared_ptr<const Owners> owners = parts_.owners();
  Routed routed;
  routed.urgent = true;
  Route(std::move(read), *owners, routed);
  Send(std::move(routed));
}

void PeerReader::Cancel() {
  parts_.local->Cancel();
  {
    MutexLock lock(mu_);
    remote_.Cancel();
  }
  AskMore();
}

void PeerReader::Send(Routed routed) {
  for (const FileRead& read : routed.local) {
    parts_.counts->bytes_from_source += read.length;
  }
  if (!routed.local.empty() && !routed.urgent) {
    parts_.local->Submit(std::move(routed.local));
  } else {
    for (FileRead& read : routed.local) {
      parts_.local->SubmitUrgent(std::move(read));
    }
  }
  if (routed.remote.empty()) return;
  {
    MutexLock lock(mu_);
    if (routed.urgent) {
      for (FileRead& read : routed.remote) remote_.PushUrgent(std::move(read));
    } else {
      remote_.Push(std::move(routed.remote));
    }
  }
  AskMore();
}

void PeerReader::Route(FileRead read, const Owners& owners, Routed& routed) {
  absl::optional<EntryId> file;
  if (owners.has_others() && read.expected && read.length > 0) {
    file = parts_.catalogue->FindPath(read.path);
  }
  const bool known =
      file && parts_.catalogue->kind(*file) == EntryKind::kFile &&
      read.expected->size == parts_.catalogue->file_size(*file) &&
      read.offset % kReadAlignment == 0 && read.offset < read.expected->size &&
      read.length <= read.expected->size - read.offset;
  if (!known) {
    routed.local.push_back(std::move(read));
  } else {
    RouteParts(std::move(read), *file, owners, routed);
  }
}

void PeerReader::RouteParts(FileRead read, EntryId file, const Owners& owners,
                            Routed& routed) {
  const uint64_t end = read.offset + read.length;
  const auto first = static_cast<uint32_t>(read.offset / ExtentId::kBytes);
  const auto last = static_cast<uint32_t>((end - 1) / ExtentId::kBytes);
  if (first == last) {
    return RoutePart(std::move(read), {file, first}, owners, routed);
  }
  auto joint = std::make_shared<Joint>(last - first + 1, std::move(read.done));
  for (uint32_t part = first; part <= last; ++part) {
    const uint64_t begin = part * ExtentId::kBytes;
    FileRead piece =
        PieceOf(read, std::max(begin, read.offset),
                std::min(begin + ExtentId::kBytes, end),
                [joint](absl::Status status) { joint->Ended(status); });
    if (part == first) piece.place = read.place;
    RoutePart(std::move(piece), {file, part}, owners, routed);
  }
}

void PeerReader::RoutePart(FileRead piece, ExtentId id, const Owners& owners,
                           Routed& routed) {
  if (const absl::optional<Owner> owner = OwnerOf(id, owners)) {
    const PeerGroup::Member& member = owners.group()->members[owner->index];
    if (member.self && owner->keeps) {
      return RouteOwn(std::move(piece), id, routed);
    }
    if (!owner->keeps && RouteSent(piece, id, routed)) return;
    if (member.self) parts_.checked->NoteWhenRead(id.file, piece);
    if (!member.self && member.joined && !IsSilent(member.name)) {
      return routed.remote.push_back(std::move(piece));
    }
  }
  ++parts_.counts->reads_from_source;
  routed.local.push_back(std::move(piece));
}

absl::optional<PeerReader::Owner> PeerReader::OwnerOf(
    ExtentId id, const Owners& owners) const {
  const absl::optional<PeerHolder> holder =
      parts_.holder ? parts_.holder(id.file) : absl::nullopt;
  if (!holder) return Owner{owners.Of(id)};
  const std::vector<PeerGroup::Member>& members = owners.group()->members;
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].name == holder->member) return Owner{i, /*keeps=*/false};
  }
  return absl::nullopt;
}

void PeerReader::RouteOwn(FileRead piece, ExtentId id, Routed& routed) {
  using What = KeptExtents::Claim::What;
  Begin();
  auto read = std::make_shared<const FileRead>(std::move(piece));
  KeptExtents::Claim claim =
      parts_.kept->Take(id, [this, read](absl::StatusOr<PeerBytes> bytes) {
        // The reader of somebody else may have failed, or was cancelled.
        if (bytes.ok()) {
          Give(*read, *bytes);
        } else {
          ReadHere(*read);
        }
        End();
      });
  PeerCounts& counts = *parts_.counts;
  ++(claim.what == What::kKept || claim.what == What::kComing
         ? counts.reads_from_memory
         : counts.reads_from_source);
  if (claim.what == What::kRead) {
    parts_.checked->NoteWhenRead(id.file, claim.read);
    routed.local.push_back(std::move(claim.read));
  } else if (claim.what == What::kFull) {
    routed.local.push_back(*read);
    End();
  } else if (claim.what == What::kKept) {
    counts.bytes_from_memory += read->length;
    GiveChecked(std::move(read), std::move(claim.bytes), routed.urgent);
  }
}

bool PeerReader::RouteSent(FileRead& piece, ExtentId id, const Routed& routed) {
  if (parts_.catalogue->file_size(id.file) > ExtentId::kBytes) return false;
  absl::optional<PeerBytes> bytes =
      parts_.kept->GiveSent(id.file, piece.length);
  if (!bytes) return false;
  PeerCounts& counts = *parts_.counts;
  ++counts.reads_from_peers;
  ++counts.reads_sent_ahead;
  counts.bytes_from_peers += piece.length;
  Begin();
  GiveChecked(std::make_shared<const FileRead>(std::move(piece)),
              *std::move(bytes), routed.urgent);
  return true;
}

void PeerReader::GiveChecked(std::shared_ptr<const FileRead> piece,
                             PeerBytes bytes, bool urgent) {
  parts_.worker->Post(
      [this, piece = std::move(piece),
       bytes = std::move(bytes)](const absl::Status& turn) {
        if (turn.ok() && Look(*piece).ok()) {
          Give(*piece, bytes);
        } else {
          ReadHere(*piece);  // it says what is wrong
        }
        End();
      },
      urgent);
}

void PeerReader::Give(const FileRead& piece, const PeerBytes& bytes) {
  CopyPieces(bytes.pieces, piece.offset % ExtentId::kBytes, piece.length,
             piece.into);
  piece.done(absl::OkStatus());
}

void PeerReader::ReadHere(const FileRead& piece) {
  ++parts_.counts->reads_from_source;
  parts_.counts->bytes_from_source += piece.length;
  parts_.local->SubmitUrgent(piece);
}

absl::Status PeerReader::Look(const FileRead& read) const {
  absl::StatusOr<UniqueFd> fd = parts_.source->Open(read.path, O_RDONLY);
  RETURN_IF_ERROR(fd.status());
  return CheckUnchanged(fd->get(), *read.expected);
}

ExtentId PeerReader::ExtentOf(const FileRead& piece) const {
  return {*parts_.catalogue->FindPath(piece.path),
          static_cast<uint32_t>(piece.offset / ExtentId::kBytes)};
}

void PeerReader::AskMore() {
  for (;;) {
    absl::optional<ReadQueue::Next> next;
    {
      MutexLock lock(mu_);
      next = remote_.Take();
      if (!next) return;
      ++busy_;
    }
    auto piece = std::make_shared<const FileRead>(std::move(next->read));
    if (next->cancelled) {
      CountAnswer(*piece, false);
      ReadHere(*piece);  // says that it was cancelled
      End();
      continue;
    }
    parts_.worker->Post(
        [this, piece](const absl::Status& turn) {
          if (turn.ok() && Look(*piece).ok()) {
            Ask(piece);
          } else {
            Answered(piece, false);
          }
        },
        next->urgent);
  }
}

void PeerReader::Ask(std::shared_ptr<const FileRead> piece) {
  const std::shared_ptr<const Owners> owners = parts_.owners();
  // All others, or this daemon, may have left the group since it was routed.
  if (!owners->has_others()) return Answered(piece, false);
  const absl::optional<Owner> owner = OwnerOf(ExtentOf(*piece), *owners);
  if (!owner) return Answered(piece, false);
  const PeerGroup::Member& member = owners->group()->members[owner->index];
  if (member.self || !member.joined || !MayAsk(member.name)) {
    return Answered(piece, false);
  }
  PeerExtent extent;
  extent.path = piece->path;
  extent.size = piece->expected->size;
  extent.mtime_ns = piece->expected->mtime_ns;
  extent.offset = piece->offset;
  extent.length = piece->length;
  ++parts_.counts->byte_requests;
  parts_.transport->ReadExtent(
      owners->group(), owner->index, extent, kWithin, piece->into,
      [this, piece, name = member.name,
       sent = Clock::now()](const absl::Status& status) {
        NoteAnswer(name, sent, status);
        Answered(piece, status.ok());
      });
}

bool PeerReader::IsSilent(const std::string& member) {
  MutexLock lock(mu_);
  const auto silent = silent_.find(member);
  return silent != silent_.end() && Clock::now() < silent->second.until;
}

bool PeerReader::MayAsk(const std::string& member) {
  MutexLock lock(mu_);
  const auto silent = silent_.find(member);
  if (silent == silent_.end()) return true;
  const Clock::time_point now = Clock::now();
  if (now < silent->second.until) return false;
  silent->second.until = now + kWithin;  // this one is the probe
  return true;
}

void PeerReader::NoteAnswer(const std::string& member, Clock::time_point sent,
                            const absl::Status& status) {
  const Clock::time_point now = Clock::now();
  MutexLock lock(mu_);
  if (status.ok()) {
    silent_.erase(member);
    return;
  }
  // One that is gone is noticed soon, and joins again when it is back.
  if (now - sent < kWithin / 2) return;
  Silence& silence = silent_[member];
  if (now < silence.until) return;  // others were under way at the same time
  silence.pause = std::min(std::max(2 * silence.pause, kPause), kLongestPause);
  silence.until = now + silence.pause;
}

void PeerReader::CountAnswer(const FileRead& piece, bool came) {
  MutexLock lock(mu_);
  remote_.End(/*lane=*/0, piece.length, came ? piece.length : 0);
}

void PeerReader::Answered(const std::shared_ptr<const FileRead>& piece,
                          bool came) {
  CountAnswer(*piece, came);
  if (came) {
    ++parts_.counts->reads_from_peers;
    parts_.counts->bytes_from_peers += piece->length;
    piece->done(absl::OkStatus());
  } else {
    ReadHere(*piece);
  }
  AskMore();
  End();
}

}  // namespace shufflefs
