// SPDX-License-Identifier: Apache-2.0
// TokenParts collects a token that is longer than one write may be. Its parts
// are separate writes: a line `part N of M`, followed by a piece of the token.
#ifndef SHUFFLEFS_FS_CONTROL_TOKEN_PARTS_H_
#define SHUFFLEFS_FS_CONTROL_TOKEN_PARTS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace shufflefs {

// Not thread-safe. Keeps the parts of one token, at most kMostBytes.
class TokenParts {
 public:
  // Any program writes this much at once.
  static constexpr size_t kPart = 60 << 10;
  static constexpr size_t kMostBytes = size_t{256} << 20;

  // The texts to write, one after the other.
  static std::string Part(absl::string_view token, uint64_t number);
  static uint64_t Count(absl::string_view token) {
    return (token.size() + kPart - 1) / kPart;
  }

  // A text that is no part is a whole token. Empty: more parts must come.
  // InvalidArgument if a part is not the next one, or if the token becomes too
  // large.
  absl::StatusOr<absl::optional<std::string>> Take(absl::string_view text);

 private:
  uint64_t next_ = 1;
  std::string text_;
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_CONTROL_TOKEN_PARTS_H_
