// SPDX-License-Identifier: Apache-2.0
// The shared secret of a job, and the proofs that are made with it.
#ifndef SHUFFLEFS_PEERS_ACCESS_SECRET_H_
#define SHUFFLEFS_PEERS_ACCESS_SECRET_H_

#include <cstddef>
#include <initializer_list>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace shufflefs::peers {

// A key for HMAC-SHA256, or none. The secret itself never travels: a caller
// proves that it knows the secret by an HMAC over a challenge.
//
// What this protects from: those who reach the port, or answer at the address
// of a member, without the secret can neither join nor ask, and no answer of
// theirs is used. What it does not: bytes travel unencrypted. Who can read the
// network sees the data and can repeat requests; who can alter its packets can
// hold them up. peers.tls protects from both.
//
// A value: copy it freely. Thread-safe.
class Secret {
 public:
  Secret() = default;  // none
  explicit Secret(std::string key) : key_(std::move(key)) {}

  // Reads peers.secret. White space at the end is left out. InvalidArgument
  // names the file: others may read it, or it is not 16 to 4096 bytes.
  static absl::StatusOr<Secret> Read(const std::string& file);

  bool none() const { return key_.empty(); }

  // The HMAC over a purpose and parts, which cannot be mistaken for another
  // split of the same bytes. "" if there is no secret.
  std::string Mac(absl::string_view purpose,
                  std::initializer_list<absl::string_view> parts) const;
  // A secret for one purpose.
  Secret Derive(absl::string_view purpose,
                std::initializer_list<absl::string_view> parts) const;

 private:
  std::string key_;
};

// Takes as long for any difference.
bool SameBytes(absl::string_view a, absl::string_view b);

// From the kernel, for keys and names that nobody can guess.
std::string RandomBytes(size_t count);

// Reads a small file of secrets. InvalidArgument names the key and the file if
// anybody but its owner may read it.
absl::StatusOr<std::string> ReadPrivateFile(absl::string_view key,
                                            const std::string& file);

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_ACCESS_SECRET_H_
