// SPDX-License-Identifier: Apache-2.0
#include "core/staging/pack/pack_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "core/base/files/append_log.h"
#include "core/base/files/unique_fd.h"
#include "core/base/mutex.h"
#include "core/base/parallel.h"
#include "core/base/status.h"
#include "core/source/physical.h"
#include "core/source/source_files.h"
#include "core/staging/pack/pack_dir.h"
#include "core/staging/pack/pack_meter.h"
#include "core/staging/pack/pack_rights.h"
#include "core/staging/pack/pack_takeup.h"

namespace shufflefs {
namespace {

constexpr uint64_t kPackBlock = 4096;
// A pass syncs up to this many of its chunks one by one. If it has more chunks,
// which are small then, it syncs the whole file system.
constexpr size_t kSyncedAlone = 64;

uint64_t RoundUp(uint64_t bytes) {
  return (bytes + kPackBlock - 1) / kPackBlock * kPackBlock;
}

class PackRun {
 public:
  PackRun(const SourceDir& source, const Catalogue& catalogue,
          const PackComposition& composition, const PackOptions& options)
      : source_(source),
        catalogue_(catalogue),
        options_(options),
        layout_(LayOutPack(catalogue, composition)),
        files_(source, catalogue, 4 * ThreadsForSource(options.threads)) {}

  absl::StatusOr<PackResult> Run(const std::string& destination);

 private:
  absl::Status CheckSpace() const;
  absl::Status WriteMissing();
  absl::Status ReadPass(PackPass& pass);
  absl::Status ReadPiece(const PackPiece& piece);
  absl::Status WritePass(const PackPass& pass);
  absl::Status WriteStretch(const PackStretch& stretch);
  absl::Status SyncFilled();
  absl::Status Commit();
  absl::Status RecordFilled();
  absl::Status Finish();

  // Constant after construction.
  const SourceDir& source_;
  const Catalogue& catalogue_;
  const PackOptions& options_;

  PackLayout layout_;
  SourceFiles files_;
  std::unique_ptr<PackDir> dir_;
  std::unique_ptr<PackMeter> meter_;
  mode_t mode_ = 0600;
  PackState state_;
  std::vector<uint64_t> addresses_;  // by file
  std::unique_ptr<char[]> memory_;
  std::unique_ptr<AppendLog> journal_;
  UniqueFd open_;                 // the chunk that is partly written
  std::vector<uint32_t> filled_;  // chunks written but not yet recorded
  std::vector<UniqueFd> held_;    // the first of these
};

absl::StatusOr<PackResult> PackRun::Run(const std::string& destination) {
  mode_ = PackModeOf(source_, catalogue_, layout_.entries, options_.threads);
  ASSIGN_OR_RETURN(PackDir dir, PackDir::Open(destination, source_));
  dir_ = std::make_unique<PackDir>(std::move(dir));
  ASSIGN_OR_RETURN(state_, TakeUpPack(*dir_, options_.restart, mode_, layout_));
  const PackManifest& manifest = layout_.manifest;
  PackResult result;
  result.files = manifest.files.size();
  result.chunks = manifest.chunks.size();
  result.bytes = manifest.bytes();
  result.was_complete = state_.complete;
  result.resumed_chunks = result.chunks - state_.missing.size();
  if (!state_.complete) {
    for (uint32_t chunk : state_.missing) {
      result.written_bytes += manifest.chunks[chunk].bytes;
    }
    RETURN_IF_ERROR(CheckSpace());
    meter_ = std::make_unique<PackMeter>(manifest, state_.missing, options_);
    RETURN_IF_ERROR(WriteMissing());
    RETURN_IF_ERROR(Finish());
    meter_->Finished();
  }
  ASSIGN_OR_RETURN(result.disk_bytes, dir_->UsedBytes());
  return result;
}

absl::Status PackRun::CheckSpace() const {
  const PackManifest& manifest = layout_.manifest;
  // For the manifest, and for the journal next to it.
  uint64_t wanted = RoundUp(manifest.paths.size() + 16 * manifest.files.size() +
                            16 * manifest.checks.size() +
                            48 * manifest.chunks.size() + 2 * kPackBlock);
  for (uint32_t chunk : state_.missing) {
    wanted += RoundUp(manifest.chunks[chunk].bytes);
  }
  ASSIGN_OR_RETURN(const uint64_t free, dir_->FreeBytes());
  if (wanted <= free) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "%s: %d MiB are needed and %d MiB are free; free space there, or "
      "give another DEST",
      dir_->path(), (wanted >> 20) + 1, free >> 20));
}

absl::Status PackRun::WriteMissing() {
  PhysicalOptions physical;
  physical.threads = options_.threads;
  physical.stop = options_.stop;
  ASSIGN_OR_RETURN(
      DeviceLayout device,
      DeviceAddresses(source_, catalogue_, layout_.entries, physical));
  addresses_ = std::move(device.addresses);
  ASSIGN_OR_RETURN(journal_, AppendLog::Open(dir_->PathOf(kPackJournal),
                                             state_.journal_words));
  const uint64_t memory =
      std::min(std::max(options_.memory_bytes, kLeastPackMemory),
               std::max(layout_.manifest.bytes(), kLeastPackMemory));
  memory_.reset(new char[memory]);  // not zeroed: touched as needed
  PackPasses passes(layout_.manifest, state_.missing, memory);
  for (PackPass pass; passes.Next(pass);) {
    RETURN_IF_ERROR(ReadPass(pass));
    RETURN_IF_ERROR(WritePass(pass));
    RETURN_IF_ERROR(Commit());
  }
  return absl::OkStatus();
}

absl::Status PackRun::ReadPass(PackPass& pass) {
  std::sort(pass.pieces.begin(), pass.pieces.end(),
            [this](const PackPiece& a, const PackPiece& b) {
              const uint64_t x = addresses_[a.file];
              const uint64_t y = addresses_[b.file];
              return x != y ? x < y : a.from < b.from;
            });
  Mutex mu;
  absl::Status failed;
  ParallelOptions parallel;
  parallel.threads = options_.threads;
  parallel.chunk = 1;
  parallel.name = "pack";
  ParallelFor(pass.pieces.size(), parallel, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      absl::Status status = ReadPiece(pass.pieces[i]);
      if (status.ok() && options_.stop.stop_requested()) {
        status = absl::CancelledError("packing was stopped");
      }
      if (!status.ok()) {
        MutexLock lock(mu);
        failed.Update(status);
        return false;
      }
    }
    return true;
  });
  MutexLock lock(mu);
  return failed;
}

absl::Status PackRun::ReadPiece(const PackPiece& piece) {
  const PackManifest::File& file = layout_.manifest.files[piece.file];
  const absl::Span<char> into(memory_.get() + piece.at, piece.length);
  ASSIGN_OR_RETURN(const size_t got,
                   files_.Read(layout_.entries[piece.file], piece.from, into));
  if (got != into.size()) {  // Read promises this
    return absl::InternalError(
        absl::StrCat(layout_.manifest.path(file), ": is shorter than itself"));
  }
  for (uint64_t at = 0; at < piece.length; at += kPackCheckBytes) {
    const absl::Span<char> checked = into.subspan(at, kPackCheckBytes);
    layout_.manifest
        .checks[file.first_check + (piece.from + at) / kPackCheckBytes] =
        PackCheck(absl::string_view(checked.data(), checked.size()));
  }
  meter_->Read(piece.length, piece.from + piece.length == file.length);
  return absl::OkStatus();
}

absl::Status PackRun::WritePass(const PackPass& pass) {
  for (const PackStretch& stretch : pass.stretches) {
    if (options_.stop.stop_requested()) {
      return absl::CancelledError("packing was stopped");
    }
    RETURN_IF_ERROR(WriteStretch(stretch));
    meter_->Wrote(stretch.length);
  }
  return absl::OkStatus();
}

absl::Status PackRun::WriteStretch(const PackStretch& stretch) {
  const std::string name = PackChunkName(stretch.chunk);
  if (stretch.from == 0) {
    ASSIGN_OR_RETURN(
        open_, dir_->Create(name, layout_.manifest.chunks[stretch.chunk].bytes,
                            mode_));
  }
  RETURN_IF_ERROR(
      WriteAt(open_.get(),
              absl::MakeConstSpan(memory_.get() + stretch.at, stretch.length),
              stretch.from, dir_->PathOf(name)));
  // Starts writing now, so that the wait at the end of the pass is short.
  sync_file_range(open_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  if (!stretch.last) return absl::OkStatus();
  filled_.push_back(stretch.chunk);
  if (held_.size() < kSyncedAlone) {
    held_.push_back(std::move(open_));
  }
  open_.reset();
  return absl::OkStatus();
}

absl::Status PackRun::SyncFilled() {
  if (held_.size() < filled_.size()) RETURN_IF_ERROR(dir_->SyncAll());
  for (size_t i = 0; i < held_.size(); ++i) {
    if (fsync(held_[i].get()) != 0) {
      return ErrnoStatus(errno, dir_->PathOf(PackChunkName(filled_[i])));
    }
    // The chunk will not be read soon, but cached data of others may be.
    posix_fadvise(held_[i].get(), 0, 0, POSIX_FADV_DONTNEED);
  }
  return absl::OkStatus();
}

// Puts the filled chunks on the device under their names, and only then records
// them.
absl::Status PackRun::Commit() {
  if (filled_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(SyncFilled());
  for (uint32_t chunk : filled_) {
    RETURN_IF_ERROR(dir_->Publish(PackChunkName(chunk)));
  }
  RETURN_IF_ERROR(dir_->SyncNames());
  RETURN_IF_ERROR(RecordFilled());
  filled_.clear();
  held_.clear();
  return absl::OkStatus();
}

absl::Status PackRun::RecordFilled() {
  const PackManifest& manifest = layout_.manifest;
  std::vector<uint64_t> records;
  for (uint32_t chunk : filled_) {
    const PackManifest::Chunk& place = manifest.chunks[chunk];
    const PackManifest::File& first = manifest.files[place.first_file];
    const PackManifest::File& last =
        manifest.files[place.first_file + place.file_count - 1];
    const uint64_t end = last.first_check + PackChecksOf(last.length);
    const std::vector<uint64_t> record =
        JournalRecord(chunk,
                      absl::MakeConstSpan(manifest.checks)
                          .subspan(first.first_check, end - first.first_check),
                      journal_->size() + records.size());
    records.insert(records.end(), record.begin(), record.end());
  }
  RETURN_IF_ERROR(journal_->Append(records));
  return journal_->Sync();
}

absl::Status PackRun::Finish() {
  RETURN_IF_ERROR(
      dir_->Write(kPackManifest, SerializeManifest(layout_.manifest), mode_));
  RETURN_IF_ERROR(dir_->Remove(kPackJournal));
  return dir_->SyncNames();
}

}  // namespace

absl::StatusOr<PackResult> WritePack(const SourceDir& source,
                                     const Catalogue& catalogue,
                                     const PackComposition& composition,
                                     const std::string& destination,
                                     const PackOptions& options) {
  return PackRun(source, catalogue, composition, options).Run(destination);
}

}  // namespace shufflefs
