// SPDX-License-Identifier: Apache-2.0
// peer_node MODULE MEMBERS LISTEN [SECRET [TLS]]
//
// A daemon of a test in a process of its own, so that a test can stop and kill
// it. Loads the module as shufflefs does. Prints a line when it listens, and
// ends with its standard input.
#include <dlfcn.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>

#include "tests/peers/fake_service.h"

int main(int argc, char** argv) {
  if (argc < 4 || argc > 6) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  void* module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void* maker = module == nullptr
                    ? nullptr
                    : dlsym(module, shufflefs::kPeerTransportMaker);
  if (maker == nullptr) {
    std::fprintf(stderr, "peer_node: %s\n", dlerror());
    return 1;
  }
  shufflefs::peers::FakeService service;
  shufflefs::PeersConfig config;
  config.members = argv[2];
  config.listen = argv[3];
  if (argc > 4) config.secret = argv[4];
  if (argc > 5) config.tls = argv[5];
  auto transport = reinterpret_cast<shufflefs::PeerTransportFunction>(maker)(
      {.config = config,
       .identity = service.identity,
       .service = &service,
       .log = [](shufflefs::LogLevel, const std::string& line) {
         std::cerr << "peer_node: " << line << "\n";
       }});
  if (!transport.ok()) {
    std::cerr << "peer_node: " << transport.status() << "\n";
    return 1;
  }
  std::cout << "listens" << std::endl;
  for (std::string line; std::getline(std::cin, line);) continue;
  (*transport)->Stop();
  return 0;
}
