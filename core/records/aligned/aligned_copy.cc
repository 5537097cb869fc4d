// SPDX-License-Identifier: Apache-2.0
#include "core/records/aligned/aligned_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/files/unique_fd.h"
#include "core/base/status.h"
#include "core/catalogue/file_identity.h"
#include "core/formats/tfrecord/tfrecord_index.h"
#include "core/formats/tfrecord/tfrecord_scanner.h"
#include "core/records/aligned/fresh_file.h"
#include "core/source/posix_acl.h"

namespace shufflefs {
namespace {

constexpr size_t kCopyBytes = size_t{1} << 20;

struct HashDeleter {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

// The padded file and its index.
class PaddedOutput : public PlacedRecords {
 public:
  PaddedOutput(FreshFile file, FreshFile index, uint64_t page_bytes)
      : file_(std::move(file)),
        index_(std::move(index)),
        page_bytes_(page_bytes),
        hash_(XXH3_createState()) {
    XXH3_64bits_reset(hash_.get());
  }

  absl::Status Put(uint64_t offset, absl::string_view record) override {
    RETURN_IF_ERROR(file_.AppendZeros(offset - file_.bytes()));
    RETURN_IF_ERROR(file_.Append(record));
    line_.clear();
    AppendTfrecordIndexLine({offset, record.size()}, {}, &line_);
    XXH3_64bits_update(hash_.get(), line_.data(), line_.size());
    ++result_.records;
    result_.stripped_bytes += record.size();
    result_.padded_pages += PagesOf(offset, record.size(), page_bytes_);
    return index_.Append(line_);
  }

  absl::StatusOr<AlignedFile> Finish() {
    RETURN_IF_ERROR(file_.Finish());
    RETURN_IF_ERROR(index_.Finish());
    result_.padded_bytes = file_.bytes();
    result_.idx_bytes = index_.bytes();
    result_.idx_checksum = XXH3_64bits_digest(hash_.get());
    return result_;
  }

  void Leave() {
    file_.Leave();
    index_.Leave();
  }

 private:
  FreshFile file_;
  FreshFile index_;
  const uint64_t page_bytes_;
  std::unique_ptr<XXH3_state_t, HashDeleter> hash_;
  std::string line_;
  AlignedFile result_;
};

// Receives sizes from the scanner, until their bytes are taken.
class FoundSizes : public RecordSink {
 public:
  void Begin(uint64_t /*offset*/) override {}
  void Add(uint64_t bytes) override { sizes.push_back(bytes); }

  std::vector<uint64_t> sizes;
};

// One pass over the source.
class AlignedCopier {
 public:
  AlignedCopier(const AlignedCopyOptions& options, const struct stat& st,
                PaddedOutput& out)
      : options_(options),
        scanner_(MakeTfrecordScanner(static_cast<uint64_t>(st.st_size))),
        packer_(options.page_bytes, options.fit, out) {}

  // Adds up the pages of the source in `pages`.
  absl::Status Run(int fd, uint64_t* pages) {
    std::vector<char> buffer(kCopyBytes);
    for (;;) {
      const ssize_t got = read(fd, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoStatus(errno, options_.source);
      if (got == 0) break;
      const auto count = static_cast<size_t>(got);
      const absl::Status fed = scanner_->Feed({buffer.data(), count}, found_);
      if (!fed.ok()) return Damaged(fed);
      held_.append(buffer.data(), count);
      RETURN_IF_ERROR(PackFound());
      if (options_.progress && !options_.progress(count)) {
        return absl::CancelledError(absl::StrCat(options_.source, ": stopped"));
      }
    }
    const absl::Status finished = scanner_->Finish(found_);
    if (!finished.ok()) return Damaged(finished);
    *pages = pages_;
    return packer_.Finish();
  }

 private:
  absl::Status Damaged(const absl::Status& status) const {
    return WithNext(Annotate(status, options_.source),
                    "get a whole copy of this TFRecord file");
  }

  // Packs the records whose bytes are all held.
  absl::Status PackFound() {
    absl::string_view rest = held_;
    for (const uint64_t bytes : found_.sizes) {
      RETURN_IF_ERROR(packer_.Add(rest.substr(0, bytes)));
      rest.remove_prefix(bytes);
      pages_ += PagesOf(at_, bytes, options_.page_bytes);
      at_ += bytes;
    }
    found_.sizes.clear();
    held_.erase(0, held_.size() - rest.size());
    return absl::OkStatus();
  }

  const AlignedCopyOptions& options_;
  const std::unique_ptr<RecordScanner> scanner_;
  PagePacker packer_;
  FoundSizes found_;
  std::string held_;  // bytes from at_ on
  uint64_t at_ = 0;
  uint64_t pages_ = 0;
};

}  // namespace

absl::StatusOr<AlignedFile> CopyAligned(const AlignedCopyOptions& options) {
  const UniqueFd fd(
      open(options.source.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat before;
  if (!fd.valid() || fstat(fd.get(), &before) != 0) {
    return ErrnoStatus(errno, options.source);
  }
  if (!S_ISREG(before.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.source, ": not a file; name a TFRecord file"));
  }
  posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  const mode_t mode = AllMayRead(fd.get(), before) ? 0644 : 0600;
  ASSIGN_OR_RETURN(FreshFile file,
                   FreshFile::Create(options.destination, mode));
  ASSIGN_OR_RETURN(
      FreshFile index,
      FreshFile::Create(absl::StrCat(options.destination, kIndexSuffix), mode));
  PaddedOutput out(std::move(file), std::move(index), options.page_bytes);
  AlignedCopier copier(options, before, out);
  uint64_t pages = 0;
  RETURN_IF_ERROR(copier.Run(fd.get(), &pages));
  ASSIGN_OR_RETURN(AlignedFile result, out.Finish());
  struct stat after;
  if (fstat(fd.get(), &after) != 0) return ErrnoStatus(errno, options.source);
  if (IdentityOf(after) != IdentityOf(before)) {
    return absl::FailedPreconditionError(
        absl::StrCat(options.source,
                     ": was changed while it was read; run the same "
                     "command again"));
  }
  result.source_identity = HashOf(LastingIdentityOf(fd.get(), before));
  result.source_pages = pages;
  out.Leave();
  return result;
}

}  // namespace shufflefs
