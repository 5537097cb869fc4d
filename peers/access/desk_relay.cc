// SPDX-License-Identifier: Apache-2.0
#include "peers/access/desk_relay.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "peers/access/secret.h"

namespace shufflefs::peers {
namespace {

constexpr size_t kPiece = 4096;  // bytes

bool WouldBlock(ssize_t result) {
  return result < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

// False if `from` has ended, `to` takes no more, or more than `room` came.
bool Move(int from, int to, size_t& room) {
  char piece[kPiece];
  while (true) {
    const ssize_t came =
        recv(from, piece, sizeof piece, MSG_PEEK | MSG_DONTWAIT);
    if (came <= 0) return WouldBlock(came);
    if (static_cast<size_t>(came) > room) return false;
    const ssize_t sent = send(to, piece, came, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return WouldBlock(sent);
    room -= sent;
    if (recv(from, piece, sent, MSG_DONTWAIT) != sent) return false;
  }
}

// Names the socket in a namespace of the kernel, where nobody can connect to
// it: it does not listen. So gRPC tells the name to who asks for the caller.
void Name(int fd, const std::string& name) {
  sockaddr_un at = {};
  at.sun_family = AF_UNIX;
  const std::string path = absl::StrCat(
      "shufflefs-peers/", absl::BytesToHexString(RandomBytes(8)), "/", name);
  const size_t size = std::min(path.size(), sizeof at.sun_path - 1);
  std::memcpy(at.sun_path + 1, path.data(), size);
  // Without a name only a line in the log lacks a word.
  if (bind(fd, reinterpret_cast<const sockaddr*>(&at),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                  size)) != 0) {
    return;
  }
}

}  // namespace

DeskRelay::~DeskRelay() {
  if (inner_ >= 0) close(inner_);
}

int DeskRelay::Open(int caller, const std::string& name) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                 ends) != 0) {
    return -1;
  }
  Name(ends[0], name);
  caller_ = caller;
  inner_ = ends[0];
  return ends[1];
}

bool DeskRelay::Pass() {
  // An answer goes out even if the caller has sent all that it will send.
  const bool caller = Move(caller_, inner_, from_caller_);
  const bool grpc = Move(inner_, caller_, to_caller_);
  return caller && grpc;
}

void DeskRelay::End() { shutdown(inner_, SHUT_WR); }

bool DeskRelay::IsOpen() {
  char piece[kPiece];
  while (true) {
    const ssize_t came = recv(inner_, piece, sizeof piece, MSG_DONTWAIT);
    if (came <= 0) return WouldBlock(came);
  }
}

}  // namespace shufflefs::peers
