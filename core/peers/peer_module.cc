// SPDX-License-Identifier: Apache-2.0
#include "core/peers/peer_module.h"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace shufflefs {
namespace {

constexpr char kModule[] = "shufflefs_peers.so";
#ifdef SHUFFLEFS_STATIC
constexpr bool kStatic = true;
#else
constexpr bool kStatic = false;
#endif

// Where the module may be: beside the program as it is built, and where it is
// installed.
std::vector<std::string> Places() {
  if (const char* set = std::getenv("SHUFFLEFS_PEERS_MODULE")) return {set};
  char program[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  std::vector<std::string> places;
  if (length > 0 && length < PATH_MAX) {
    const std::string path(program, static_cast<size_t>(length));
    const std::string folder = path.substr(0, path.rfind('/'));
    places.push_back(absl::StrCat(folder, "/../peers/", kModule));
    places.push_back(
        absl::StrCat(folder, "/../lib/shufflefs/modules/", kModule));
  }
  places.push_back(absl::StrCat("/usr/lib/shufflefs/modules/", kModule));
  return places;
}

}  // namespace

absl::StatusOr<PeerTransportMaker> LoadPeerTransport() {
  if (kStatic) {
    return absl::FailedPreconditionError(
        "peers: this program is static, and loads no module; install another "
        "package (docs/install.md, \"Several nodes\"), or leave the key "
        "`peers` out");
  }
  std::string problem;
  for (const std::string& place : Places()) {
    void* const module = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) {
      if (problem.empty() || access(place.c_str(), F_OK) == 0) {
        problem = dlerror();
      }
      continue;
    }
    void* const found = dlsym(module, kPeerTransportMaker);
    if (found != nullptr) {
      return PeerTransportMaker(reinterpret_cast<PeerTransportFunction>(found));
    }
    problem = absl::StrCat(place, " is another module");
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "peers: ", problem,
      "; install the package shufflefs-peers (docs/install.md, \"Several "
      "nodes\"), or leave the key `peers` out"));
}

}  // namespace shufflefs
