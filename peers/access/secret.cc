// SPDX-License-Identifier: Apache-2.0
#include "peers/access/secret.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace shufflefs::peers {
namespace {

constexpr size_t kMostFile = 65536;
constexpr size_t kLeastSecret = 16;
constexpr size_t kMostSecret = 4096;

absl::Status Wrong(absl::string_view key, const std::string& file,
                   absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(key, ": ", file, ": ", why));
}

void AppendPart(absl::string_view part, std::string& text) {
  uint64_t size = part.size();
  for (int i = 0; i < 8; ++i, size >>= 8) {
    text.push_back(static_cast<char>(size & 0xff));
  }
  text.append(part.data(), part.size());
}

}  // namespace

absl::StatusOr<Secret> Secret::Read(const std::string& file) {
  ASSIGN_OR_RETURN(const std::string text,
                   ReadPrivateFile("peers.secret", file));
  std::string key(absl::StripTrailingAsciiWhitespace(text));
  if (key.size() < kLeastSecret || key.size() > kMostSecret) {
    return Wrong("peers.secret", file,
                 absl::StrCat("a secret has ", kLeastSecret, " to ",
                              kMostSecret, " bytes, not ", key.size()));
  }
  return Secret(std::move(key));
}

std::string Secret::Mac(absl::string_view purpose,
                        std::initializer_list<absl::string_view> parts) const {
  if (none()) return "";
  std::string text;
  AppendPart(purpose, text);
  for (absl::string_view part : parts) AppendPart(part, text);
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(),
           mac, &size) == nullptr) {
    std::abort();  // out of memory, or a library without SHA-256
  }
  return std::string(reinterpret_cast<const char*>(mac), size);
}

Secret Secret::Derive(absl::string_view purpose,
                      std::initializer_list<absl::string_view> parts) const {
  return Secret(Mac(purpose, parts));
}

bool SameBytes(absl::string_view a, absl::string_view b) {
  return a.size() == b.size() &&
         CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string RandomBytes(size_t count) {
  std::string bytes(count, '\0');
  // Requests of up to 256 bytes are answered as a whole.
  if (getrandom(bytes.data(), count, 0) != static_cast<ssize_t>(count)) {
    std::abort();
  }
  return bytes;
}

absl::StatusOr<std::string> ReadPrivateFile(absl::string_view key,
                                            const std::string& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Wrong(key, file, strerrordesc_np(errno));
  std::string text(kMostFile + 1, '\0');
  struct stat found = {};
  const bool known = fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
  const ssize_t size = known ? read(fd, text.data(), text.size()) : -1;
  close(fd);
  if (!known) return Wrong(key, file, "not a file");
  if ((found.st_mode & 077) != 0) {
    return Wrong(key, file,
                 "its group or other users may use it; run chmod go= on it");
  }
  if (size < 0 || static_cast<size_t>(size) > kMostFile) {
    return Wrong(key, file, "cannot be read, or is too large");
  }
  text.resize(size);
  return text;
}

}  // namespace shufflefs::peers
