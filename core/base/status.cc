// SPDX-License-Identifier: Apache-2.0
#include "core/base/status.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

constexpr char kErrnoPayload[] = "shufflefs/errno";

// absl::ErrnoToStatus is not used. It keeps a table in a library that
// ThreadSanitizer cannot see into, so it reports a race.
std::string Describe(int error) {
  const char* known = strerrordesc_np(error);
  return known != nullptr ? known : absl::StrCat("Unknown error ", error);
}

// The same error with another message. Keeps the errno.
absl::Status Reworded(const absl::Status& status, absl::string_view message) {
  absl::Status result(status.code(), message);
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    result.SetPayload(url, payload);
  });
  return result;
}

}  // namespace

absl::Status ErrnoStatus(int error, absl::string_view what) {
  absl::Status status(absl::ErrnoToStatusCode(error),
                      absl::StrCat(what, ": ", Describe(error)));
  status.SetPayload(kErrnoPayload, absl::Cord(absl::StrCat(error)));
  return status;
}

absl::optional<int> ErrnoOf(const absl::Status& status) {
  absl::optional<absl::Cord> payload = status.GetPayload(kErrnoPayload);
  int error = 0;
  if (!payload || !absl::SimpleAtoi(std::string(*payload), &error)) {
    return absl::nullopt;
  }
  return error;
}

absl::Status Annotate(const absl::Status& status, absl::string_view where) {
  if (status.ok()) return status;
  return Reworded(status, absl::StrCat(where, ": ", status.message()));
}

absl::Status WithNext(const absl::Status& status, absl::string_view next) {
  if (status.ok()) return status;
  return Reworded(status, absl::StrCat(status.message(), "; ", next));
}

}  // namespace shufflefs
