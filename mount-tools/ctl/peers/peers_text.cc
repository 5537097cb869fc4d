// SPDX-License-Identifier: Apache-2.0
#include "mount-tools/ctl/peers/peers_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status.h"
#include "core/config/value_text.h"

namespace shufflefs {
namespace {

using status_fields::Count;
using status_fields::Json;
using status_fields::ParseStatus;
using status_fields::TextOf;

// Null if there is none.
const Json* PeersOf(const Json& status) {
  const auto peers = status.find("peers");
  if (peers == status.end() || !peers->is_object()) return nullptr;
  const auto members = peers->find("members");
  if (members == peers->end() || !members->is_array()) return nullptr;
  return &*peers;
}

bool Is(const Json& member, const char* key) {
  const auto found = member.find(key);
  return found != member.end() && found->is_boolean() && found->get<bool>();
}

std::string Shares(const Json& peers) {
  const auto count = [&](const char* key) {
    return static_cast<double>(Count(peers, key).value_or(0));
  };
  const double from_peers = count("reads_from_peers");
  const double from_memory = count("reads_from_memory");
  const double all = from_peers + from_memory + count("reads_from_source");
  if (all == 0) return "";
  return absl::StrFormat(
      " | reads: %.0f %% from peers, %.0f %% from memory here",
      100 * from_peers / all, 100 * from_memory / all);
}

// What was asked of peers for each sample that this node showed.
std::string Requests(const Json& peers) {
  const auto count = [&](const char* key) {
    return static_cast<double>(Count(peers, key).value_or(0));
  };
  const double samples = count("samples_shown");
  if (samples == 0) return "";
  return absl::StrFormat(
      " | %.2f requests a sample",
      (count("name_requests") + count("byte_requests")) / samples);
}

// What is kept here for all, and what all have read from the source.
std::string Totals(const Json& peers) {
  const auto bytes = [&](const char* key) {
    return HumanBytes(Count(peers, key).value_or(0));
  };
  return absl::StrCat(bytes("kept_bytes"), " kept for all | ",
                      bytes("group_source_bytes"),
                      " from the source, by all nodes");
}

std::string MemberLine(const Json& member, size_t width) {
  const auto bytes = [&](const char* key) {
    return HumanBytes(Count(member, key).value_or(0));
  };
  std::string text = absl::StrFormat("%-*s  %-6s", static_cast<int>(width),
                                     TextOf(member, "name"),
                                     Is(member, "self")     ? "self"
                                     : Is(member, "joined") ? "yes"
                                                            : "no");
  if (!Is(member, "self")) {
    absl::StrAppendFormat(&text, "  %10s  %10s  %10d  %8d",
                          bytes("received_bytes"), bytes("sent_bytes"),
                          Count(member, "requests").value_or(0),
                          Count(member, "failed").value_or(0));
  }
  const std::string why = TextOf(member, "why");
  return absl::StrCat(text, why.empty() ? "" : absl::StrCat("  ", why), "\n");
}

absl::StatusOr<Json> FindPeers(absl::string_view json) {
  ASSIGN_OR_RETURN(const Json status, ParseStatus(json));
  if (const Json* const peers = PeersOf(status)) return *peers;
  return absl::NotFoundError(
      "this mount has no peers; mount with -o peers=HOST:PORT;HOST:PORT on "
      "each node");
}

}  // namespace

std::string PeersLine(const Json& status) {
  const Json* const peers = PeersOf(status);
  if (peers == nullptr) return "";
  size_t joined = 0;
  std::string missing;
  for (const Json& member : (*peers)["members"]) {
    if (Is(member, "joined")) {
      ++joined;
    } else {
      absl::StrAppend(&missing, "  ", TextOf(member, "name"), ": ",
                      TextOf(member, "why"), "\n");
    }
  }
  return absl::StrCat("peers: ", joined, " of ", (*peers)["members"].size(),
                      " joined", Shares(*peers), Requests(*peers), " | ",
                      Totals(*peers), "\n", missing);
}

absl::StatusOr<std::string> PeersTable(absl::string_view json) {
  ASSIGN_OR_RETURN(Json peers, FindPeers(json));
  status_fields::MakeShown(peers);
  size_t width = 6;
  for (const Json& member : peers["members"]) {
    width = std::max(width, TextOf(member, "name").size());
  }
  std::string text = absl::StrFormat(
      "%-*s  %-6s  %10s  %10s  %10s  %8s\n", static_cast<int>(width), "member",
      "joined", "received", "sent", "requests", "failed");
  for (const Json& member : peers["members"]) {
    absl::StrAppend(&text, MemberLine(member, width));
  }
  return absl::StrCat(text, Totals(peers), Shares(peers), Requests(peers),
                      "\n");
}

absl::StatusOr<std::string> PeersJsonLine(absl::string_view json) {
  ASSIGN_OR_RETURN(const Json peers, FindPeers(json));
  return peers.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace shufflefs
