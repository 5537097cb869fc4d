// SPDX-License-Identifier: Apache-2.0
// Strangers who reach the port of a daemon, know no secret, and want its
// memory.
#ifndef SHUFFLEFS_TESTS_PEERS_FLOOD_H_
#define SHUFFLEFS_TESTS_PEERS_FLOOD_H_

#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>
#include <stop_token>

#include "core/base/thread.h"
#include "tests/peers/peer_fixture.h"

namespace shufflefs::peers {

// A connection to the daemon on loopback. `from` is the stranger's address.
// -1 if the daemon takes none.
inline int ConnectTo(const std::string& name,
                     const std::string& from = "127.0.0.1") {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // A daemon that starts later may still listen at the port that this one gets.
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in at = {};
  at.sin_family = AF_INET;
  inet_pton(AF_INET, from.c_str(), &at.sin_addr);
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
  inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
  at.sin_port = htons(std::stoi(name.substr(name.find(':') + 1)));
  if (bound && connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0) {
    return fd;
  }
  close(fd);
  return -1;
}

// HTTP/2 as a stranger writes it.
class HalfHttp2 {
 public:
  static constexpr size_t kMostFrame = 16384;

  static std::string Preface() {
    return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(4, 0, 0, "");
  }
  static std::string Frame(int type, int flags, uint32_t stream,
                           const std::string& body) {
    std::string frame = Number(body.size(), 3);
    frame.push_back(static_cast<char>(type));
    frame.push_back(static_cast<char>(flags));
    return frame + Number(stream, 4) + body;
  }
  // A request to join whose headers are large.
  static std::string Headers(uint32_t stream, size_t extra) {
    std::string block = "\x83\x86";
    const std::string path = "/shufflefs.peers.v1.Peers/Join";
    block += std::string("\x04") + static_cast<char>(path.size()) + path;
    block += std::string("\x01\x01x\x0f\x10\x10", 6) + "application/grpc";
    block += std::string("\x00\x02te\x08trailers", 13);
    for (size_t i = 0; i < extra; ++i) block += Entry(i);
    return Frame(1, 4, stream, block);
  }
  // The first bytes of a message that never ends.
  static std::string Half(uint32_t stream, size_t bytes) {
    return Frame(0, 0, stream,
                 std::string("\0\0\3\0\0", 5) + std::string(bytes, 'x'));
  }
  // As many requests as gRPC takes.
  static std::string Requests() {
    std::string all = Preface();
    for (uint32_t stream = 1; stream < 200; stream += 2) {
      all += Headers(stream, 60);
      if (stream < 60) all += Half(stream, 2000);
    }
    return all;
  }
  // Headers that never end.
  static std::string EndlessHeaders() {
    std::string all = Preface() + Frame(1, 0, 1, "\x83\x86");
    for (int i = 0; i < 2000; ++i) {
      std::string block;
      for (size_t k = 0; k < 60; ++k) block += Entry(k);
      all += Frame(9, 0, 1, block);
    }
    return all;
  }

 private:
  static std::string Entry(size_t i) {
    std::string entry("\x00\x04", 2);
    entry += absl::StrCat("x", 100 + i % 900);
    return entry + static_cast<char>(80) + std::string(80, 'v');
  }
  static std::string Number(uint64_t number, int bytes) {
    std::string text;
    while (bytes-- > 0) text.push_back(static_cast<char>(number >> 8 * bytes));
    return text;
  }
};

// What strangers send, each kind once. A greeting without a proof comes first
// in some: the daemon's answer to it is not waited for.
inline std::vector<std::string> StrangersTexts() {
  const std::string greeting = "CONNECT shufflefs HTTP/1.0\r\n\r\n";
  const std::string hello =
      std::string("\x16\x03\x01\x3f\xff\x01\x00\x3f\xfb\x03\x03", 11) +
      std::string(12000, 'h');
  return {"",
          "C",
          greeting,
          greeting + HalfHttp2::Requests(),
          greeting + HalfHttp2::EndlessHeaders(),
          greeting + hello,
          HalfHttp2::Requests(),
          HalfHttp2::EndlessHeaders(),
          hello,
          "CONNECT shufflefs HTTP/1.0\r\nX: " + std::string(200000, 'x'),
          "GET / HTTP/1.1\r\nX: " + std::string(200000, 'x')};
}

// Many connections that send all that the daemon takes, and that are opened
// anew as soon as it closes them.
class Flood {
 public:
  struct Options {
    std::string to;
    std::string from = "127.0.0.1";
    size_t connections = 400;
  };
  explicit Flood(Options options) : options_(std::move(options)) {
    rlimit files = {};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    connections_.resize(options_.connections);
    thread_ = StartThread("flood", [this](std::stop_token stop) {
      while (!stop.stop_requested()) Round();
    });
  }
  ~Flood() {
    thread_.request_stop();
    thread_.join();
    for (const Connection& one : connections_) close(one.fd);
  }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

  // How often all connections had their turn.
  size_t rounds() const { return rounds_.load(); }

 private:
  struct Connection {
    int fd = -1;
    size_t kind = 0;
    size_t sent = 0;
  };

  void Round() {
    for (size_t i = 0; i < connections_.size(); ++i) Turn(connections_[i]);
    rounds_.fetch_add(1);
    std::this_thread::sleep_for(milliseconds(2));
  }
  void Turn(Connection& one) {
    if (one.fd < 0) {
      one = {.fd = ConnectTo(options_.to, options_.from),
             .kind = next_++ % texts_.size()};
      if (one.fd < 0) return;
    }
    const std::string& text = texts_[one.kind];
    // A byte at a time at first: the greeting comes slowly.
    const size_t most = one.sent < 4 ? 1 : text.size() - one.sent;
    char answer[4096];
    const ssize_t heard = recv(one.fd, answer, sizeof answer, MSG_DONTWAIT);
    ssize_t sent = 0;
    if (one.sent < text.size()) {
      sent = send(one.fd, text.data() + one.sent, most,
                  MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    const bool waits = errno == EAGAIN;
    if (heard == 0 || (heard < 0 && !waits) || (sent < 0 && !waits)) {
      close(one.fd);
      one.fd = -1;
    } else if (sent > 0) {
      one.sent += sent;
    }
  }

  const Options options_;
  const std::vector<std::string> texts_ = StrangersTexts();
  std::vector<Connection> connections_;
  size_t next_ = 0;
  std::atomic<size_t> rounds_{0};
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_TESTS_PEERS_FLOOD_H_
