// SPDX-License-Identifier: Apache-2.0
#include "core/formats/columnar/parquet_metadata.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/status.h"
#include "core/formats/columnar/thrift_compact.h"

namespace shufflefs {
namespace {

// Ids of fields in parquet.thrift.
enum FileMetaDataField {
  kNumRows = 3,
  kRowGroups = 4,
  kKeyValueMetadata = 5,
  kEncryptionAlgorithm = 8,
  kFooterSigningKeyMetadata = 9,
};
enum RowGroupField { kColumns = 1, kOrdinal = 7 };
enum ColumnChunkField {
  kFilePath = 1,
  kMetaData = 3,
  kCryptoMetadata = 8,
  kEncryptedColumnMetadata = 9,
};
enum ColumnMetaDataField {
  kTotalCompressedSize = 7,
  kDataPageOffset = 9,
  kDictionaryPageOffset = 11,
};

// An entry of one byte becomes a row group of 56 bytes here. This many take 56
// MiB; with row groups of 1 MiB the file has 1 TiB.
constexpr size_t kMostRowGroups = size_t{1} << 20;

absl::Status MetadataRefused(absl::string_view why) {
  return absl::FailedPreconditionError(why);
}

class Parser {
 public:
  // `begin` is the byte of the file at which `metadata` begins.
  Parser(absl::string_view metadata, uint64_t begin)
      : metadata_(metadata), thrift_(metadata, begin), begin_(begin) {}

  absl::StatusOr<ParquetRowGroups> Parse();

 private:
  absl::Status TakeMetadata(int id, const ThriftValue& value);
  absl::Status TakeKeyValue(const ThriftValue& pair);
  absl::Status TakeRowGroup(const ThriftValue& group);
  absl::Status TakeColumn(const ThriftValue& column, ParquetRowGroup& entry);
  absl::Status TakeColumnData(const ThriftValue& data, ParquetRowGroup& entry);

  const absl::string_view metadata_;
  const ThriftCompact thrift_;
  const uint64_t begin_;

  absl::optional<ThriftValue> row_groups_;
  ParquetRowGroups found_;  // positions of entries are bytes of metadata_
};

absl::StatusOr<ParquetRowGroups> Parser::Parse() {
  ASSIGN_OR_RETURN(const size_t end,
                   thrift_.VisitFields(0, [this](int id, const auto& value) {
                     return TakeMetadata(id, value);
                   }));
  if (end != metadata_.size()) {
    return MetadataRefused(absl::StrCat("its footer has ",
                                        metadata_.size() - end,
                                        " bytes behind its metadata"));
  }
  if (!row_groups_) {
    return absl::DataLossError(absl::StrCat("its metadata at byte ", begin_,
                                            " has no list of row groups"));
  }
  RETURN_IF_ERROR(thrift_.VisitElements(
      *row_groups_, ThriftType::kStruct,
      [this](const ThriftValue& group) { return TakeRowGroup(group); }));
  found_.end = row_groups_->end;
  found_.begin =
      found_.entries.empty() ? found_.end : found_.entries.front().begin;
  for (ParquetRowGroup& entry : found_.entries) {
    entry.begin -= found_.begin;
    entry.end -= found_.begin;
    if (entry.ordinal_begin == 0) continue;
    entry.ordinal_begin -= found_.begin;
    entry.ordinal_end -= found_.begin;
  }
  return std::move(found_);
}

absl::Status Parser::TakeMetadata(int id, const ThriftValue& value) {
  switch (id) {
    case kNumRows: {
      ASSIGN_OR_RETURN(const int64_t rows,
                       thrift_.Integer(value, ThriftType::kI64));
      found_.rows = static_cast<uint64_t>(rows);
      return absl::OkStatus();
    }
    case kRowGroups:
      row_groups_ = value;
      return absl::OkStatus();
    case kKeyValueMetadata:
      return thrift_.VisitElements(
          value, ThriftType::kStruct,
          [this](const ThriftValue& pair) { return TakeKeyValue(pair); });
    case kEncryptionAlgorithm:
      return MetadataRefused("it is encrypted");
    default:
      break;
  }
  if (id == kFooterSigningKeyMetadata)
    return MetadataRefused("its footer is signed");
  if (id > kFooterSigningKeyMetadata) {
    return MetadataRefused(absl::StrCat("its metadata has a field ", id,
                                        ", of a later version of Parquet"));
  }
  return absl::OkStatus();
}

// These tables identify rows by their positions in a file (position deletes,
// deletion vectors, record positions).
absl::Status Parser::TakeKeyValue(const ThriftValue& pair) {
  return thrift_
      .VisitFields(
          pair.begin,
          [this](int id, const ThriftValue& value) -> absl::Status {
            if (id != 1) return absl::OkStatus();
            ASSIGN_OR_RETURN(const absl::string_view key,
                             thrift_.Binary(value));
            for (const absl::string_view prefix :
                 {"iceberg.", "delete-type", "org.apache.hudi.", "hoodie"}) {
              if (!absl::StartsWith(key, prefix)) continue;
              return MetadataRefused(absl::StrCat(
                  "it belongs to a table that counts its rows: its metadata "
                  "has the key '",
                  absl::CHexEscape(key.substr(0, 60)), "'"));
            }
            return absl::OkStatus();
          })
      .status();
}

absl::Status Parser::TakeRowGroup(const ThriftValue& group) {
  ParquetRowGroup entry;
  entry.begin = group.begin;
  entry.end = group.end;
  const auto take = [&](int id, const ThriftValue& value) -> absl::Status {
    if (id == kColumns) {
      return thrift_.VisitElements(
          value, ThriftType::kStruct,
          [&](const ThriftValue& column) { return TakeColumn(column, entry); });
    }
    if (id == kOrdinal) {
      ASSIGN_OR_RETURN(entry.ordinal, thrift_.Integer(value, ThriftType::kI16));
      entry.ordinal_begin = value.begin;
      entry.ordinal_end = value.end;
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(thrift_.VisitFields(group.begin, take).status());
  if (found_.entries.size() == kMostRowGroups) {
    return MetadataRefused(
        absl::StrCat("it has more than ", kMostRowGroups, " row groups"));
  }
  found_.entries.push_back(entry);
  return absl::OkStatus();
}

absl::Status Parser::TakeColumn(const ThriftValue& column,
                                ParquetRowGroup& entry) {
  const auto take = [&](int id, const ThriftValue& value) -> absl::Status {
    switch (id) {
      case kFilePath:
        return MetadataRefused("its row groups lie in other files");
      case kMetaData:
        if (value.type != ThriftType::kStruct) {
          return thrift_.Damaged(value.begin);
        }
        return TakeColumnData(value, entry);
      case kCryptoMetadata:
      case kEncryptedColumnMetadata:
        return MetadataRefused("it has encrypted columns");
      default:
        return absl::OkStatus();
    }
  };
  return thrift_.VisitFields(column.begin, take).status();
}

absl::Status Parser::TakeColumnData(const ThriftValue& data,
                                    ParquetRowGroup& entry) {
  int64_t bytes = 0;
  int64_t page = 0;
  int64_t dictionary = 0;
  const auto take = [&](int id, const ThriftValue& value) -> absl::Status {
    int64_t* number = id == kTotalCompressedSize    ? &bytes
                      : id == kDataPageOffset       ? &page
                      : id == kDictionaryPageOffset ? &dictionary
                                                    : nullptr;
    if (number == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(*number, thrift_.Integer(value, ThriftType::kI64));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(thrift_.VisitFields(data.begin, take).status());
  // An empty column may have any offset.
  if (bytes == 0) return absl::OkStatus();
  // Some writers store 0 if there is no dictionary.
  const int64_t first = dictionary > 0 && dictionary < page ? dictionary : page;
  const auto limit = static_cast<int64_t>(begin_);
  if (bytes < 0 || first < 0 || first > limit || bytes > limit - first) {
    return absl::DataLossError(
        absl::StrCat("its metadata at byte ", begin_ + data.begin,
                     " says that a column has ", bytes, " bytes at byte ",
                     first, ", but data ends at byte ", begin_));
  }
  const auto at = static_cast<uint64_t>(first);
  entry.data_begin =
      entry.data_bytes == 0 ? at : std::min(entry.data_begin, at);
  // Columns may overlap in a malicious file.
  if (__builtin_add_overflow(entry.data_bytes, static_cast<uint64_t>(bytes),
                             &entry.data_bytes)) {
    return thrift_.Damaged(data.begin);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ParquetRowGroups> ParseParquetMetadata(
    absl::string_view metadata, uint64_t begin) {
  return Parser(metadata, begin).Parse();
}

}  // namespace shufflefs
