// SPDX-License-Identifier: Apache-2.0
#include "core/pool/file_source.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace shufflefs {

FileSource::FileSource(std::shared_ptr<const Catalogue> catalogue,
                       FileReader* reader, bool many_pieces)
    : catalogue_(std::move(catalogue)),
      many_pieces_(many_pieces),
      reader_(reader) {}

void FileSource::Fetch(std::vector<FilePiece> files) {
  std::vector<FileRead> reads;
  reads.reserve(files.size());
  for (FilePiece& file : files) reads.push_back(ReadOf(std::move(file)));
  reader_->Submit(std::move(reads));
}

void FileSource::FetchNow(FilePiece piece) {
  reader_->SubmitUrgent(ReadOf(std::move(piece)));
}

std::string FileSource::how() const {
  return absl::StrCat("files by ", reader_->how());
}

FileRead FileSource::ReadOf(FilePiece piece) const {
  FileRead read;
  read.path = catalogue_->path(piece.file);
  read.expected = catalogue_->attributes(piece.file);
  read.place = piece.place;
  read.one_of_many = many_pieces_;
  read.offset = piece.offset;
  read.length = piece.length;
  read.into = std::move(piece.into);
  read.done = std::move(piece.done);
  return read;
}

}  // namespace shufflefs
