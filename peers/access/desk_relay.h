// SPDX-License-Identifier: Apache-2.0
// DeskRelay: the way of one who has not joined to the part of gRPC that knows
// Greet and Join.
#ifndef SHUFFLEFS_PEERS_ACCESS_DESK_RELAY_H_
#define SHUFFLEFS_PEERS_ACCESS_DESK_RELAY_H_

#include <cstddef>
#include <string>

namespace shufflefs::peers {

// gRPC does not bound what it keeps of a connection. So it gets one end of a
// pair of sockets, and this object passes the caller's bytes on, few in all.
// Nothing is kept in between: what cannot be written stays where it is.
//
// Used by one thread. Nothing blocks.
class DeskRelay {
 public:
  // Greet and Join take some kilobytes, and TLS the certificates.
  static constexpr size_t kMostBytes = 128 << 10;  // each way

  DeskRelay() = default;
  ~DeskRelay();
  DeskRelay(const DeskRelay&) = delete;
  DeskRelay& operator=(const DeskRelay&) = delete;

  // Returns gRPC's end, or -1 if the system gives no sockets. gRPC calls the
  // caller unix-abstract:…/`name`. Does not own `caller`.
  int Open(int caller, const std::string& name);
  // The relay's own end.
  int inner() const { return inner_; }

  // Passes on what came on either side. False if one of them has ended, or
  // sent too much.
  bool Pass();
  // gRPC sees that the caller has gone.
  void End();
  // After End: false once gRPC has closed its end.
  bool IsOpen();

 private:
  int caller_ = -1;
  int inner_ = -1;
  size_t from_caller_ = kMostBytes;  // that may still be passed
  size_t to_caller_ = kMostBytes;
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_PEERS_ACCESS_DESK_RELAY_H_
