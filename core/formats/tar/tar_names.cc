// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tar/tar_names.h"

#include <xxhash.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

// Two names with the same result unpack to the same file.
absl::StatusOr<std::string> Normal(absl::string_view name) {
  std::string normal;
  for (const absl::string_view part : absl::StrSplit(name, '/')) {
    if (part == "..") {
      return absl::FailedPreconditionError("a name with '..'");
    }
    if (!part.empty() && part != ".") absl::StrAppend(&normal, "/", part);
  }
  if (name.back() == '/') normal += '/';  // the key of a hidden file
  return normal;
}

}  // namespace

absl::Status TarNames::Check(const TarHeader& member) {
  if (member.name.empty()) {
    return absl::FailedPreconditionError("a member without a name");
  }
  if (member.name.find_first_of("\n\0", 0, 2) != std::string::npos) {
    return absl::FailedPreconditionError("a newline or a NUL in a name");
  }
  // Some readers take a file for a directory by its name, and some expect no
  // data after a directory.
  if (member.kind == TarHeader::Kind::kDirectory ? member.size > 0
                                                 : member.name.back() == '/') {
    return absl::FailedPreconditionError(
        "a header that programs read in different ways");
  }
  return absl::OkStatus();
}

absl::Status TarNames::RememberKey(absl::string_view key) {
  return Insert(key, true);
}

absl::Status TarNames::RememberName(absl::string_view name) {
  return Insert(name, false);
}

void TarNames::EndHead() {
  head_ = std::exchange(seen_, {});
  behind_.clear();
}

NameHashes TarNames::Take() {
  for (const uint64_t name : std::exchange(behind_, {})) {
    seen_.erase(name);
    seen_.insert(name | kNameStays);
  }
  NameHashes names(seen_.begin(), seen_.end());
  // Frees the table first, since sorting takes a while.
  seen_ = {};
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status TarNames::Insert(absl::string_view name, bool is_key) {
  ASSIGN_OR_RETURN(const std::string normal, Normal(name));
  const uint64_t hash =
      XXH3_64bits_withSeed(normal.data(), normal.size(), is_key ? 1 : 0) &
      ~kNameStays;
  const bool is_full = head_.size() + seen_.size() >= most_;
  if (!head_.contains(hash) && !(is_full && seen_.contains(hash))) {
    if (is_full) {
      return absl::FailedPreconditionError(
          absl::StrCat("it has more than ", most_, " records"));
    }
    if (seen_.insert(hash).second) {
      if (!is_key) behind_.push_back(hash);
      return absl::OkStatus();
    }
  }
  // The name itself is content: everybody may read the status.
  return absl::FailedPreconditionError(
      absl::StrCat("a ", is_key ? "key" : "name", " comes again"));
}

}  // namespace shufflefs
