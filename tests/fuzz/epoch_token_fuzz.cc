// SPDX-License-Identifier: Apache-2.0
// Any line as a token that a job writes back: a clear refusal, or a token that
// reads the same again. Each input is tried as it is, and with the right hash
// at its end, so that the fields after the hash are reached.
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/policy/retained_bindings.h"
#include "core/view/epoch_token.h"

namespace shufflefs {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void Try(absl::string_view text) {
  const absl::StatusOr<EpochToken> token = ParseToken(text);
  if (!token.ok()) {
    Require(absl::StartsWith(token.status().message(), "token: "));
    return;
  }
  const std::string written = TokenText(*token);
  const absl::StatusOr<EpochToken> again = ParseToken(written);
  Require(again.ok());
  Require(TokenText(*again) == written);
  Require(again->by_hand == token->by_hand);
  Require(again->whole.has_value() == token->whole.has_value());
  if (token->whole) {
    Require(again->whole->paths == token->whole->paths);
    Require(again->whole->places == token->whole->places);
  }
  // What a view does with it first.
  (void)RetainedBindings::Make(token->kept).ok();
  if (token->pairs) (void)RetainedBindings::Make(token->pairs->bound).ok();
}

std::string WithItsHash(absl::string_view text) {
  const size_t end = text.rfind(" check=");
  const absl::string_view head = text.substr(0, end);
  return absl::StrCat(
      head, " check=",
      absl::Hex(XXH3_64bits(head.data(), head.size()), absl::kZeroPad16));
}

}  // namespace
}  // namespace shufflefs

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  shufflefs::Try(text);
  shufflefs::Try(shufflefs::WithItsHash(text));
  return 0;
}
