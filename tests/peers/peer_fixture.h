// SPDX-License-Identifier: Apache-2.0
// What tests of peers share: daemons on loopback, and waiting.
#ifndef SHUFFLEFS_TESTS_PEERS_PEER_FIXTURE_H_
#define SHUFFLEFS_TESTS_PEERS_PEER_FIXTURE_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/peers/peer_transport.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "peers/transport/grpc_transport.h"
#include "tests/peers/fake_service.h"

namespace shufflefs::peers {

using std::chrono::milliseconds;

// Ports that nobody listens on.
inline std::vector<int> FreePorts(size_t count) {
  std::vector<int> ports;
  std::vector<int> sockets;
  for (size_t i = 0; i < count; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at = {};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (bind(fd, reinterpret_cast<sockaddr*>(&at), size) != 0 ||
        getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
      std::abort();
    }
    ports.push_back(ntohs(at.sin_port));
    sockets.push_back(fd);
  }
  for (int fd : sockets) close(fd);
  return ports;
}

inline std::string Loopback(int port) {
  return absl::StrCat("127.0.0.1:", port);
}

inline PeersConfig ConfigOf(const std::string& members,
                            const std::string& listen) {
  PeersConfig config;
  config.members = members;
  config.listen = listen;
  return config;
}

// Waits until `done` holds. False if it does not within half a minute.
inline bool Eventually(const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

// Short times, so that tests take little.
inline LinkTimes ShortTimes() {
  return {.ping = milliseconds(200),
          .answer = milliseconds(1000),
          .first_retry = milliseconds(20),
          .most_retry = milliseconds(200),
          .refused = milliseconds(300)};
}

// One daemon.
class Node {
 public:
  explicit Node(PeersConfig config, uint64_t dataset = 42,
                const LinkTimes& times = ShortTimes()) {
    service.identity.dataset = dataset;
    config_ = std::move(config);
    times_ = times;
  }

  absl::Status Start() {
    absl::StatusOr<std::unique_ptr<GrpcTransport>> made = GrpcTransport::Make(
        {.config = config_,
         .identity = service.identity,
         .service = &service,
         .log =
             [this](LogLevel level, const std::string& line) {
               if (level == LogLevel::kDebug) return;
               MutexLock lock(mu_);
               lines_.push_back(line);
             }},
        times_);
    if (!made.ok()) return made.status();
    transport = *std::move(made);
    return absl::OkStatus();
  }

  std::vector<std::string> lines() const {
    MutexLock lock(mu_);
    return lines_;
  }
  bool Logged(const std::string& part) const {
    for (const std::string& line : lines()) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  }

  PeerGroup::Member Member(const std::string& name) const {
    for (const PeerGroup::Member& member : transport->group()->members) {
      if (member.name == name) return member;
    }
    return {.name = "", .joined = false, .why = "no member"};
  }
  bool HasJoined(const std::string& name) const { return Member(name).joined; }

  struct Result {
    absl::Status status;
    std::string bytes;
  };
  std::future<Result> Ask(const std::string& name, const PeerExtent& extent,
                          milliseconds within = milliseconds(20000)) {
    const std::shared_ptr<const PeerGroup> group = transport->group();
    return AskAt(group, IndexOf(*group, name), extent, within);
  }
  std::future<Result> AskAt(const std::shared_ptr<const PeerGroup>& group,
                            size_t index, const PeerExtent& extent,
                            milliseconds within) {
    auto promise = std::make_shared<std::promise<Result>>();
    auto bytes = std::make_shared<std::string>(extent.length, '\0');
    const size_t half = bytes->size() / 2;
    transport->ReadExtent(
        group, index, extent, within,
        {{.iov_base = bytes->data(), .iov_len = half},
         {.iov_base = bytes->data() + half, .iov_len = bytes->size() - half}},
        [promise, bytes](absl::Status status) {
          promise->set_value({std::move(status), *bytes});
        });
    return promise->get_future();
  }
  Result Read(const std::string& name, const PeerExtent& extent,
              milliseconds within = milliseconds(20000)) {
    return Ask(name, extent, within).get();
  }

  using Samples = absl::StatusOr<NameAnswer>;
  std::future<Samples> AskNames(const std::string& name,
                                const NameQuestion& question,
                                milliseconds within = milliseconds(20000)) {
    const std::shared_ptr<const PeerGroup> group = transport->group();
    auto promise = std::make_shared<std::promise<Samples>>();
    transport->BindNames(
        group, IndexOf(*group, name), question, within,
        [promise](Samples samples) { promise->set_value(std::move(samples)); });
    return promise->get_future();
  }

  FakeService service;

 private:
  static size_t IndexOf(const PeerGroup& group, const std::string& name) {
    size_t index = 0;
    while (index < group.members.size() && group.members[index].name != name) {
      ++index;
    }
    return index;
  }

  PeersConfig config_;
  LinkTimes times_;
  mutable Mutex mu_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mu_);

 public:
  std::unique_ptr<GrpcTransport> transport;  // null before Start; uses the rest
};

// Two daemons that know each other by a list.
class TwoNodes : public testing::Test {
 protected:
  TwoNodes() {
    const std::vector<int> ports = FreePorts(2);
    a_name_ = Loopback(ports[0]);
    b_name_ = Loopback(ports[1]);
  }
  PeersConfig Config(const std::string& own) const {
    return ConfigOf(a_name_ + ";" + b_name_, own);
  }
  // Starts both; false if they do not join.
  void StartBoth() {
    a_ = std::make_unique<Node>(Config(a_name_));
    b_ = std::make_unique<Node>(Config(b_name_));
    ASSERT_EQ(a_->Start(), absl::OkStatus());
    ASSERT_EQ(b_->Start(), absl::OkStatus());
    ASSERT_TRUE(Eventually([&] {
      return a_->HasJoined(b_name_) && b_->HasJoined(a_name_);
    })) << a_->Member(b_name_).why;
  }

  std::string a_name_;
  std::string b_name_;
  std::unique_ptr<Node> a_;
  std::unique_ptr<Node> b_;
};

// A folder that goes away.
class TempFolder {
 public:
  TempFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "shufflefs-peers-XXXXXX")
            .string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string At(const std::string& name) const { return path_ + "/" + name; }
  std::string File(const std::string& name, const std::string& text,
                   int mode = 0600) const {
    std::ofstream(At(name)) << text;
    std::filesystem::permissions(At(name),
                                 static_cast<std::filesystem::perms>(mode));
    return At(name);
  }

 private:
  std::string path_;
};

// Of a CA that is made if there is none yet, for a DNS name.
struct CertificateParts {
  std::string folder;  // where it goes
  std::string ca;
  std::string name;
};

// A folder for the key peers.tls, below `at`.
inline std::string MakeCertificate(const TempFolder& at,
                                   const CertificateParts& parts) {
  const auto openssl = [&at](const std::string& arguments) {
    const std::string command = "cd '" + at.At("") + "' && openssl " +
                                arguments + " >/dev/null 2>&1 </dev/null";
    ASSERT_EQ(system(command.c_str()), 0) << command;
  };
  const std::string& folder = parts.folder;
  const std::string& ca = parts.ca;
  std::filesystem::create_directory(at.At(folder));
  if (!std::filesystem::exists(at.At(ca + ".pem"))) {
    openssl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
        "-days 2 -subj /CN=" +
        ca + " -keyout " + ca + ".key -out " + ca + ".pem");
  }
  at.File(folder + "/ext", "subjectAltName=DNS:" + parts.name + "\n");
  openssl(
      "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "
      "/CN=any -keyout " +
      folder + "/key.pem -out " + folder + "/csr");
  openssl("x509 -req -days 2 -in " + folder + "/csr -CA " + ca +
          ".pem -CAkey " + ca + ".key -CAcreateserial -extfile " + folder +
          "/ext -out " + folder + "/cert.pem");
  std::filesystem::copy_file(at.At(ca + ".pem"), at.At(folder + "/ca.pem"));
  for (const std::string file : {"/key.pem", "/cert.pem", "/ca.pem"}) {
    std::filesystem::permissions(at.At(folder + file),
                                 static_cast<std::filesystem::perms>(0600));
  }
  return at.At(folder);
}

}  // namespace shufflefs::peers

#endif  // SHUFFLEFS_TESTS_PEERS_PEER_FIXTURE_H_
