// SPDX-License-Identifier: Apache-2.0
#include "core/base/status.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

constexpr char kErrnoPayload[] = "shufflefs/errno";
constexpr char kNextPayload[] = "shufflefs/next";

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

// What a user can do about an errno. The message before it names the file.
absl::string_view NextOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return "check the path";
    case EACCES:
    case EPERM:
      return "run as its owner, or change its permissions";
    case ENOSPC:
    case EDQUOT:
      return "free space there, then run the same command again";
    case EROFS:
      return "choose a place that can be written";
    case EIO:
      return "the device may be damaged: see dmesg";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    case ENOMEM:
      return "free memory, then run the same command again";
    case EAGAIN:
      return "wait, then run the same command again";
    case ENOTCONN:
      return "its daemon is gone: mount again with the same command";
    default:
      return "shufflectl doctor says what is wrong here";
  }
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
  absl::Status result =
      Reworded(status, absl::StrCat(status.message(), "; ", next));
  result.SetPayload(kNextPayload, absl::Cord());
  return result;
}

absl::Status WithNextOfErrno(const absl::Status& status) {
  const absl::optional<int> error = ErrnoOf(status);
  if (!error || status.GetPayload(kNextPayload)) return status;
  return WithNext(status, NextOf(*error));
}

}  // namespace shufflefs
