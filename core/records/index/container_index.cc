// SPDX-License-Identifier: Apache-2.0
#include "core/records/index/container_index.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/files/atomic_file.h"
#include "core/base/files/read_at.h"
#include "core/base/files/unique_fd.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/formats/columnar/columnar_groups.h"
#include "core/formats/fixed_shape.h"
#include "core/formats/record_scanner.h"
#include "core/records/index/index_file.h"
#include "core/records/index/offset_table_builder.h"
#include "core/records/index/sequential_reader.h"
#include "core/source/file_check.h"

namespace shufflefs {
namespace {

// A header, or enough to recognise a format.
constexpr size_t kHeadBytes = 16384;
// Read at a time to hash what is before the first record.
constexpr uint64_t kHashBytes = uint64_t{1} << 20;

ContainerShape FixedContainer(const FixedShape& fixed, uint64_t file_bytes) {
  ContainerShape shape;
  shape.file_bytes = file_bytes;
  shape.records = std::make_shared<FixedTable>(fixed.head_bytes,
                                               fixed.record_bytes, fixed.count);
  return shape;
}

CandidateFile FileOf(const IndexRequest& request) {
  return {request.path, request.expected.size, request.options};
}

// Feeds the file to `scanner`.
absl::Status Scan(int fd, const IndexRequest& request, RecordScanner& scanner,
                  RecordSink& sink) {
  SequentialReader reader(fd, request.expected.size);
  while (reader.at() < request.expected.size) {
    const uint64_t before = reader.at();
    ASSIGN_OR_RETURN(const absl::string_view bytes, reader.Next());
    RETURN_IF_ERROR(scanner.Feed(bytes, sink));
    if (const uint64_t unread = scanner.unread();
        unread >= SequentialReader::kWorthSkipping) {
      reader.Skip(unread);
      scanner.Skip(unread);
    }
    if (request.progress && !request.progress(reader.at() - before)) {
      return absl::CancelledError("indexing was stopped");
    }
  }
  return scanner.Finish(sink);
}

// How the line ends that ends before byte `at` of the file, if one does.
absl::StatusOr<LineEnd> LineEndBefore(int fd, uint64_t at) {
  const uint64_t from = at - std::min<uint64_t>(at, 2);
  char end[2] = {};
  ASSIGN_OR_RETURN(const size_t got, ReadAt(fd, from, end, at - from));
  if (got < at - from) return EndsEarly(from + got);
  if (got == 0 || end[got - 1] != '\n') return LineEnd::kUnknown;
  return got == 2 && end[0] == '\r' ? LineEnd::kCrLf : LineEnd::kLf;
}

// For lines: detects whether the last one lacks the end that the others have.
// Whichever line comes last gives it up.
absl::Status CloseLastLine(int fd, ContainerShape& shape) {
  const uint64_t count = shape.records->count();
  if (count == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(shape.line_end, LineEndBefore(fd, shape.file_bytes));
  if (shape.line_end != LineEnd::kUnknown) return absl::OkStatus();
  ASSIGN_OR_RETURN(shape.line_end,
                   LineEndBefore(fd, shape.records->begin(count - 1)));
  shape.lacks_newline = true;
  shape.records = std::make_shared<ExtendedTable>(std::move(shape.records),
                                                  shape.lent_bytes());
  return absl::OkStatus();
}

// What a pass over a file finds, or its saved index says.
struct FoundRecords {
  std::shared_ptr<const OffsetTable> table;
  std::shared_ptr<const NameHashes> names;  // may be null unless WantsNames
};

bool WantsNames(const IndexRequest& request) {
  return request.may_mix && request.format->has_names();
}

absl::StatusOr<FoundRecords> LoadFound(const IndexRequest& request,
                                       const IndexedFile& indexed) {
  ASSIGN_OR_RETURN(const RecordIndex index,
                   LoadRecordIndex(request.saved, indexed));
  FoundRecords found{index.table, nullptr};
  if (!WantsNames(request)) return found;
  const FilePlace place = NamesPlace(request.saved);
  ASSIGN_OR_RETURN(NameHashes names, LoadRecordNames(place, indexed));
  if (names.size() < found.table->count()) {
    return absl::DataLossError(
        absl::StrCat(place.path(), ": has fewer names than records"));
  }
  found.names = std::make_shared<const NameHashes>(std::move(names));
  return found;
}

absl::Status SaveFound(const IndexRequest& request, const IndexedFile& indexed,
                       const FoundRecords& found) {
  if (found.names != nullptr) {
    RETURN_IF_ERROR(
        SaveRecordNames(NamesPlace(request.saved), indexed, *found.names));
  }
  return SaveRecordIndex(request.saved, RecordIndex{indexed, found.table});
}

absl::StatusOr<FoundRecords> FindRecords(int fd, const IndexRequest& request,
                                         absl::string_view head) {
  const RecordFormat& format = *request.format;
  const IndexedFile indexed{format.ScanKey(FileOf(request)),
                            Lasting(request.expected.identity())};
  if (!request.saved.empty()) {
    absl::StatusOr<FoundRecords> saved = LoadFound(request, indexed);
    if (saved.ok()) return saved;
    if (ErrnoOf(saved.status()) != ENOENT) {
      Log(LogLevel::kInfo, absl::StrCat("saved index of ", request.path, ": ",
                                        saved.status().message()));
    }
  }
  const std::unique_ptr<RecordScanner> scanner =
      format.MakeScanner(FileOf(request));
  if (scanner == nullptr || !format.LooksLike(head)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "its first bytes are not those of a ", format.name(), " file"));
  }
  OffsetTableBuilder table;
  RETURN_IF_ERROR(Scan(fd, request, *scanner, table));
  // Detects a file that was rewritten meanwhile.
  RETURN_IF_ERROR(CheckUnchanged(fd, request.expected));
  std::shared_ptr<const OffsetTable> found = table.Finish();
  FoundRecords records{std::move(found), nullptr};
  // Saved in any case: a mount that mixes containers needs no other pass then.
  if (format.has_names() && (request.may_mix || !request.saved.empty())) {
    records.names = std::make_shared<const NameHashes>(scanner->TakeNames());
  }
  if (!request.saved.empty()) {
    const absl::Status saved = SaveFound(request, indexed, records);
    if (!saved.ok() && request.not_saved) {
      request.not_saved(saved);
    } else if (!saved.ok()) {
      Log(LogLevel::kWarning,
          absl::StrCat("index not saved: ", saved.message()));
    }
  }
  return records;
}

// A columnar file whose footer is found from its end, in one read, or two if it
// is large. Empty: it has none.
absl::StatusOr<absl::optional<ContainerShape>> FindGroups(
    int fd, const IndexRequest& request) {
  const uint64_t size = request.expected.size;
  const uint64_t from = size - std::min(size, request.format->tail_bytes());
  std::string tail(size - from, '\0');
  // Read-ahead of the following bytes would be useless.
  posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  ASSIGN_OR_RETURN(const size_t got,
                   ReadAt(fd, from, tail.data(), tail.size()));
  if (got < tail.size()) return EndsEarly(from + got);
  ContainerShape shape;
  shape.file_bytes = size;
  ASSIGN_OR_RETURN(shape.columnar,
                   request.format->ReadFooter(fd, FileOf(request), tail));
  if (shape.columnar == nullptr) return absl::nullopt;
  RETURN_IF_ERROR(CheckUnchanged(fd, request.expected));
  shape.records = shape.columnar->AsRecords();
  return shape;
}

struct HeadHashDeleter {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

// Hashes the bytes before the first record, which may be nearly all of them.
absl::Status HashHead(int fd, const IndexRequest& request,
                      ContainerShape& shape) {
  const uint64_t head = shape.records->begin(0);
  const std::unique_ptr<XXH3_state_t, HeadHashDeleter> state(
      XXH3_createState());
  XXH3_64bits_reset(state.get());
  std::vector<char> buffer(std::min(kHashBytes, head));
  for (uint64_t at = 0; at < head;) {
    const size_t wanted = std::min<uint64_t>(buffer.size(), head - at);
    ASSIGN_OR_RETURN(const size_t got, ReadAt(fd, at, buffer.data(), wanted));
    if (got < wanted) return EndsEarly(at + got);
    XXH3_64bits_update(state.get(), buffer.data(), wanted);
    at += wanted;
    // The scan has counted these bytes.
    if (request.progress && !request.progress(0)) {
      return absl::CancelledError("indexing was stopped");
    }
  }
  shape.head_hash = XXH3_64bits_digest(state.get());
  return absl::OkStatus();
}

absl::StatusOr<ContainerShape> ShapeOf(int fd, const IndexRequest& request,
                                       absl::string_view head) {
  ASSIGN_OR_RETURN(const absl::optional<FixedShape> fixed,
                   request.format->ReadHead(FileOf(request), head));
  if (fixed) return FixedContainer(*fixed, request.expected.size);
  ContainerShape shape;
  shape.file_bytes = request.expected.size;
  ASSIGN_OR_RETURN(FoundRecords found, FindRecords(fd, request, head));
  shape.records = std::move(found.table);
  if (request.may_mix) shape.names = std::move(found.names);
  if (request.format->ends_lines()) {
    RETURN_IF_ERROR(CloseLastLine(fd, shape));
    if (!request.may_mix && MayLoseHalfAnEnd(shape)) {
      return absl::FailedPreconditionError(kOpenCrLf);
    }
  }
  return shape;
}

// Adds the index beside the file as the view shows it.
absl::Status AddIndex(const SourceDir& source, const IndexRequest& request,
                      ContainerShape& shape) {
  if (!request.index || shape.records->count() == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(shape.index,
                   CheckSidecarIndex(source, *request.index, *shape.records));
  return absl::OkStatus();
}

}  // namespace

bool MayLoseHalfAnEnd(const ContainerShape& shape) {
  return shape.lacks_newline && shape.line_end == LineEnd::kCrLf &&
         shape.records->count() > 1;
}

absl::StatusOr<ContainerShape> IndexContainer(const SourceDir& source,
                                              const IndexRequest& request) {
  absl::StatusOr<UniqueFd> opened = source.Open(request.path, O_RDONLY);
  if (!opened.ok()) {
    return OpenFailure(ErrnoOf(opened.status()).value_or(EIO));
  }
  const int fd = opened->get();
  RETURN_IF_ERROR(CheckUnchanged(fd, request.expected));
  if (request.padded != nullptr) {
    return ReadPaddedRecords(source, fd, *request.index, *request.padded);
  }
  if (request.format->tail_bytes() > 0) {
    ASSIGN_OR_RETURN(absl::optional<ContainerShape> columnar,
                     FindGroups(fd, request));
    if (columnar) return *std::move(columnar);
  }
  // A file that is nearly all hole may claim to have any number of records. The
  // footer of a columnar one bounds their number.
  RETURN_IF_ERROR(CheckWritten(fd, {0, request.expected.size}, "its records"));
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<char> buffer(kHeadBytes);
  ASSIGN_OR_RETURN(const size_t got,
                   ReadAt(fd, 0, buffer.data(), buffer.size()));
  const absl::string_view head(buffer.data(), got);
  ASSIGN_OR_RETURN(ContainerShape shape, ShapeOf(fd, request, head));
  RETURN_IF_ERROR(AddIndex(source, request, shape));
  if (request.wants_head_hash) {
    RETURN_IF_ERROR(HashHead(fd, request, shape));
  }
  return shape;
}

}  // namespace shufflefs
