// SPDX-License-Identifier: Apache-2.0
// What lies between two daemons of a test, and may fall silent.
#ifndef SHUFFLEFS_TESTS_PEERS_PROXY_H_
#define SHUFFLEFS_TESTS_PEERS_PROXY_H_

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <list>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "peers/access/greeting.h"
#include "peers/access/listen_sockets.h"
#include "peers/members/addresses.h"
#include "tests/peers/flood.h"

namespace shufflefs::peers {

// Listens at one address, and passes on to another what it is told, both ways.
class Proxy {
 public:
  Proxy(const std::string& own, std::string other) : other_(std::move(other)) {
    HostPort at = *ParseHostPort(own);
    listeners_ = OpenListenSockets(at);
    thread_ = StartThread("proxy", [this](std::stop_token stop) {
      while (!stop.stop_requested()) Turn();
    });
  }
  ~Proxy() {
    thread_.request_stop();
    thread_.join();
    for (const Way& way : ways_) {
      close(way.in);
      close(way.out);
    }
    for (const int fd : listeners_) close(fd);
  }
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  // How many connections of sessions there have been.
  size_t sessions() const {
    MutexLock lock(mu_);
    return sessions_;
  }
  // This connection of a session, counted from 1, is open and passes nothing.
  void Silence(size_t session) {
    MutexLock lock(mu_);
    silent_ = session;
  }

 private:
  struct Way {
    int in = -1;
    int out = -1;
    bool begins = true;
    size_t session = 0;  // 0: to the desk
  };

  void Turn() {
    std::vector<pollfd> waits;
    for (const int fd : listeners_) waits.push_back({fd, POLLIN, 0});
    for (const Way& way : ways_) {
      const bool passes = way.session == 0 || way.session != silent();
      waits.push_back({passes ? way.in : -1, POLLIN, 0});
      waits.push_back({passes ? way.out : -1, POLLIN, 0});
    }
    if (poll(waits.data(), waits.size(), 5) <= 0) return;
    size_t at = listeners_.size();
    for (auto way = ways_.begin(); way != ways_.end(); at += 2) {
      const bool open = (waits[at].revents == 0 || Pass(*way, way->in)) &&
                        (waits[at + 1].revents == 0 || Pass(*way, way->out));
      if (open) {
        ++way;
        continue;
      }
      close(way->in);
      close(way->out);
      way = ways_.erase(way);
    }
    for (size_t i = 0; i < listeners_.size(); ++i) {
      if (waits[i].revents != 0) Accept(listeners_[i]);
    }
  }
  void Accept(int listener) {
    const int in = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (in < 0) return;
    const int out = ConnectTo(other_);
    if (out < 0) {
      close(in);
    } else {
      ways_.push_back({.in = in, .out = out});
    }
  }
  bool Pass(Way& way, int from) {
    char bytes[64 << 10];
    const ssize_t came = recv(from, bytes, sizeof bytes, 0);
    if (came <= 0) return false;
    const std::string text(bytes, static_cast<size_t>(came));
    if (std::exchange(way.begins, false) &&
        !FindGreeting(text).greeting.token.empty()) {
      MutexLock lock(mu_);
      way.session = ++sessions_;
    }
    const int to = from == way.in ? way.out : way.in;
    return send(to, text.data(), text.size(), MSG_NOSIGNAL) == came;
  }
  size_t silent() const {
    MutexLock lock(mu_);
    return silent_;
  }

  const std::string other_;
  std::vector<int> listeners_;
  std::list<Way> ways_;  // of the thread
  mutable Mutex mu_;
  size_t sessions_ ABSL_GUARDED_BY(mu_) = 0;
  size_t silent_ ABSL_GUARDED_BY(mu_) = 0;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_TESTS_PEERS_PROXY_H_
