// SPDX-License-Identifier: Apache-2.0
#include "peers/access/greeting.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace shufflefs::peers {
namespace {

constexpr absl::string_view kBegin = "CONNECT shufflefs HTTP/1.";
constexpr absl::string_view kHttp2Begin = "PRI * HTTP/2.0\r\n";
constexpr absl::string_view kTlsBegin = "\x16\x03";
constexpr absl::string_view kEnd = "\r\n\r\n";
constexpr size_t kNonceBytes = 16;
constexpr char kFromHeader[] = "sfs-from";
constexpr char kNonceHeader[] = "sfs-nonce";
constexpr char kProofHeader[] = "sfs-proof";
constexpr char kTokenHeader[] = "sfs-token";

// Whether one of the two begins with the other.
bool Agree(absl::string_view a, absl::string_view b) {
  const size_t both = std::min(a.size(), b.size());
  return a.substr(0, both) == b.substr(0, both);
}

std::string ProofOf(const Secret& secret, const std::string& nonce,
                    const std::string& from) {
  return absl::BytesToHexString(secret.Mac("greeting", {nonce, from}));
}

}  // namespace

std::string HeadersOf(const Greeting& greeting) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : {std::pair(kFromHeader, &greeting.from),
                                    std::pair(kNonceHeader, &greeting.nonce),
                                    std::pair(kProofHeader, &greeting.proof),
                                    std::pair(kTokenHeader, &greeting.token)}) {
    if (!value->empty()) lines.push_back(absl::StrCat(name, ":", *value));
  }
  return absl::StrJoin(lines, "\n");
}

std::string JoinGreeting(const Secret& secret, const std::string& from) {
  Greeting greeting;
  greeting.from = from;
  if (!secret.none()) {
    greeting.nonce = absl::BytesToHexString(RandomBytes(kNonceBytes));
    greeting.proof = ProofOf(secret, greeting.nonce, from);
  }
  return HeadersOf(greeting);
}

bool IsProven(const Greeting& greeting, const Secret& secret) {
  return secret.none() ||
         SameBytes(greeting.proof,
                   ProofOf(secret, greeting.nonce, greeting.from));
}

std::string SessionGreeting(const std::string& token) {
  Greeting greeting;
  greeting.token = token;
  return HeadersOf(greeting);
}

std::string ConnectionToken(const std::string& session, const Secret& key,
                            int number) {
  // Without a secret the session is all that others do not know.
  const Secret both(absl::StrCat(session, key.Mac("connections", {session})));
  return absl::BytesToHexString(both.Mac("connection", {absl::StrCat(number)}));
}

FoundGreeting FindGreeting(absl::string_view bytes) {
  FoundGreeting found;
  if (bytes.empty()) {
    found.state = FoundGreeting::State::kCutOff;
    return found;
  }
  for (const absl::string_view begin : {kHttp2Begin, kTlsBegin}) {
    if (!Agree(bytes, begin)) continue;
    found.state = bytes.size() < begin.size() ? FoundGreeting::State::kCutOff
                                              : FoundGreeting::State::kEarlier;
    return found;
  }
  if (!Agree(bytes, kBegin)) return found;
  const size_t end = bytes.substr(0, kMostGreeting).find(kEnd);
  if (end == absl::string_view::npos) {
    if (bytes.size() < kMostGreeting) {
      found.state = FoundGreeting::State::kCutOff;
    }
    return found;
  }
  found.state = FoundGreeting::State::kWhole;
  found.size = end + kEnd.size();
  const std::vector<absl::string_view> lines =
      absl::StrSplit(bytes.substr(0, end), "\r\n");
  for (absl::string_view line : lines) {
    const std::pair<absl::string_view, absl::string_view> header =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    const std::string value(absl::StripAsciiWhitespace(header.second));
    if (header.first == kFromHeader) found.greeting.from = value;
    if (header.first == kNonceHeader) found.greeting.nonce = value;
    if (header.first == kProofHeader) found.greeting.proof = value;
    if (header.first == kTokenHeader) found.greeting.token = value;
  }
  return found;
}

}  // namespace shufflefs::peers
