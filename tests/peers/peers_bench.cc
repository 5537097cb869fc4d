// SPDX-License-Identifier: Apache-2.0
// peers_bench: bytes per second between two daemons over loopback, in one
// process, by length of the extents and requests under way. The asked daemon
// has the bytes in memory. Prints a row each.
#include <sys/resource.h>

#include <cstdio>

#include "tests/peers/peer_fixture.h"

namespace shufflefs::peers {
namespace {

constexpr double kSeconds = 2;

double Processors() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double Now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A request whose memory is used again and again.
struct Slot {
  std::string bytes;
  std::promise<absl::Status> ended;
  std::future<absl::Status> end;

  void Ask(Node& node, size_t index, const PeerExtent& extent) {
    ended = {};
    end = ended.get_future();
    node.transport->ReadExtent(
        node.transport->group(), index, extent, milliseconds(20000),
        {{.iov_base = bytes.data(), .iov_len = bytes.size()}},
        [this](absl::Status status) { ended.set_value(std::move(status)); });
  }
};

void Measure(Node& node, size_t index, uint64_t length, size_t at_once) {
  const PeerExtent extent = WholeFile("same", length);
  std::vector<Slot> slots(at_once);
  for (Slot& slot : slots) {
    slot.bytes.resize(length);
    slot.Ask(node, index, extent);
  }
  const double begin = Now();
  const double cpu = Processors();
  uint64_t requests = 0;
  while (Now() - begin < kSeconds) {
    for (Slot& slot : slots) {
      if (!slot.end.get().ok()) std::abort();
      ++requests;
      slot.Ask(node, index, extent);
    }
  }
  const double time = Now() - begin;
  const double used = Processors() - cpu;
  for (Slot& slot : slots) slot.end.wait();
  std::printf(
      "%8llu KiB %4zu at once %8.0f MB/s %9.0f requests/s %5.2f processors\n",
      static_cast<unsigned long long>(length >> 10), at_once,
      static_cast<double>(requests * length) / time / 1e6,
      static_cast<double>(requests) / time, used / time);
}

int Main() {
  const std::vector<int> ports = FreePorts(2);
  const std::string a_name = Loopback(ports[0]);
  const std::string b_name = Loopback(ports[1]);
  Node a(ConfigOf(a_name + ";" + b_name, a_name));
  Node b(ConfigOf(a_name + ";" + b_name, b_name));
  if (!a.Start().ok() || !b.Start().ok() ||
      !Eventually([&] { return a.HasJoined(b_name); })) {
    std::fprintf(stderr, "peers_bench: the daemons do not join\n");
    return 1;
  }
  const size_t index = a.transport->group()->members[0].name == b_name ? 0 : 1;
  for (const uint64_t length : {4u << 10, 100u << 10, 1u << 20}) {
    for (const size_t at_once : {1, 8, 32}) Measure(a, index, length, at_once);
  }
  return 0;
}

}  // namespace
}  // namespace shufflefs::peers

int main() { return shufflefs::peers::Main(); }
