// SPDX-License-Identifier: Apache-2.0
#include "fs/control/peers_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

using Traffic = PeerTransport::Traffic;

// Without the member: zeros.
Traffic TrafficOf(const PeersStatus& peers, const std::string& name) {
  for (const auto& [member, traffic] : peers.traffic) {
    if (member == name) return traffic;
  }
  return {};
}

struct MemberRow {
  const char* name;
  const char* help;
  uint64_t Traffic::*value;
};
constexpr MemberRow kMemberRows[] = {
    {"shufflefs_peer_received_bytes_total", "bytes that the peer answered",
     &Traffic::received},
    {"shufflefs_peer_sent_bytes_total", "bytes that the peer was answered",
     &Traffic::sent},
    {"shufflefs_peer_requests_total", "parts that were requested of the peer",
     &Traffic::requests},
    {"shufflefs_peer_failed_requests_total",
     "of these, those without an answer", &Traffic::failed},
};

struct OwnRow {
  const char* name;
  const char* type;
  const char* help;
  uint64_t PeersStatus::*value;
};
constexpr OwnRow kOwnRows[] = {
    {"shufflefs_peers_kept_bytes", "gauge",
     "memory for parts of files that this node keeps for all",
     &PeersStatus::kept_bytes},
    {"shufflefs_peers_answered_source_bytes_total", "counter",
     "bytes read from the source to answer peers", &PeersStatus::source_bytes},
    {"shufflefs_peers_source_bytes_total", "counter",
     "bytes that all nodes together have read from the source",
     &PeersStatus::group_source_bytes},
    {"shufflefs_peers_reads_from_peers_total", "counter",
     "reads that a peer answered", &PeersStatus::reads_from_peers},
    {"shufflefs_peers_reads_from_memory_total", "counter",
     "reads of what this node keeps", &PeersStatus::reads_from_memory},
    {"shufflefs_peers_reads_from_source_total", "counter",
     "reads that needed the source", &PeersStatus::reads_from_source},
    {"shufflefs_peers_name_requests_total", "counter",
     "questions to peers about names", &PeersStatus::name_requests},
    {"shufflefs_peers_byte_requests_total", "counter",
     "requests to peers for parts of files", &PeersStatus::byte_requests},
    {"shufflefs_peers_samples_shown_total", "counter",
     "samples that this node showed first, where the nodes share the names",
     &PeersStatus::samples_shown},
};

void AppendHead(const char* name, const char* help, const char* type,
                std::string& text) {
  absl::StrAppend(&text, "# HELP ", name, " ", help, "\n# TYPE ", name, " ",
                  type, "\n");
}

}  // namespace

nlohmann::ordered_json PeersJson(const PeersStatus& peers) {
  nlohmann::ordered_json json;
  json["revision"] = peers.group->revision;
  json["members"] = nlohmann::ordered_json::array();
  for (const PeerGroup::Member& member : peers.group->members) {
    const Traffic traffic = TrafficOf(peers, member.name);
    nlohmann::ordered_json each;
    each["name"] = member.name;
    each["self"] = member.self;
    each["joined"] = member.joined;
    each["why"] = member.why;
    each["received_bytes"] = traffic.received;
    each["sent_bytes"] = traffic.sent;
    each["requests"] = traffic.requests;
    each["failed"] = traffic.failed;
    each["source_bytes"] =
        member.self ? peers.own_source_bytes : traffic.source_bytes;
    json["members"].push_back(std::move(each));
  }
  json["kept_bytes"] = peers.kept_bytes;
  json["answered_source_bytes"] = peers.source_bytes;
  json["group_source_bytes"] = peers.group_source_bytes;
  json["reads_from_peers"] = peers.reads_from_peers;
  json["bytes_from_peers"] = peers.bytes_from_peers;
  json["reads_from_memory"] = peers.reads_from_memory;
  json["bytes_from_memory"] = peers.bytes_from_memory;
  json["reads_from_source"] = peers.reads_from_source;
  json["reads_sent_ahead"] = peers.reads_sent_ahead;
  json["name_requests"] = peers.name_requests;
  json["byte_requests"] = peers.byte_requests;
  json["samples_shown"] = peers.samples_shown;
  return json;
}

std::string PeersMetrics(const PeersStatus& peers) {
  std::string text;
  for (const OwnRow& row : kOwnRows) {
    AppendHead(row.name, row.help, row.type, text);
    absl::StrAppend(&text, row.name, " ", peers.*row.value, "\n");
  }
  for (const MemberRow& row : kMemberRows) {
    AppendHead(row.name, row.help, "counter", text);
    for (const auto& [member, traffic] : peers.traffic) {
      absl::StrAppend(&text, row.name, "{peer=\"", member, "\"} ",
                      traffic.*row.value, "\n");
    }
  }
  return text;
}

}  // namespace shufflefs
