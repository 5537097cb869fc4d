// SPDX-License-Identifier: Apache-2.0
#include "core/peers/peer_module.h"

#include <dlfcn.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "core/base/files/owned_dir.h"
#include "core/base/files/unique_fd.h"
#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr char kModule[] = "shufflefs_peers.so";
#ifdef SHUFFLEFS_STATIC
constexpr bool kStatic = true;
#else
constexpr bool kStatic = false;
#endif

struct Places {
  std::vector<std::string> paths;
  // Whoever owns the program could change what it does anyway.
  absl::optional<uid_t> owner;
};

// Where the module may be: beside the program as it is built, and where it is
// installed.
Places PlacesOfModule() {
  char program[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  Places places;
  if (length > 0 && length < PATH_MAX) {
    const std::string path(program, static_cast<size_t>(length));
    const std::string folder = path.substr(0, path.rfind('/'));
    places.paths = {
        absl::StrCat(folder, "/../peers/", kModule),
        absl::StrCat(folder, "/../lib/shufflefs/modules/", kModule)};
  }
  struct stat st;
  if (stat("/proc/self/exe", &st) == 0) places.owner = st.st_uid;
  places.paths.push_back(absl::StrCat("/usr/lib/shufflefs/modules/", kModule));
  return places;
}

absl::StatusOr<PeerTransportMaker> MakerIn(void* module,
                                           const std::string& path) {
  if (module == nullptr) return absl::UnavailableError(dlerror());
  void* const found = dlsym(module, kPeerTransportMaker);
  if (found == nullptr) {
    return absl::UnavailableError(absl::StrCat(path, " is another module"));
  }
  return PeerTransportMaker(reinterpret_cast<PeerTransportFunction>(found));
}

absl::StatusOr<PeerTransportMaker> LoadFrom(const std::string& path,
                                            absl::optional<uid_t> owner) {
  ASSIGN_OR_RETURN(const UniqueFd file, OpenTrustedFile(path, owner));
  const std::string held = absl::StrCat("/proc/self/fd/", file.get());
  return MakerIn(dlopen(held.c_str(), RTLD_NOW | RTLD_LOCAL), path);
}

absl::Status NotLoaded(absl::string_view problem) {
  return absl::FailedPreconditionError(absl::StrCat(
      "peers: ", problem,
      "; install the package shufflefs-peers (docs/install.md, \"Several "
      "nodes\"), or leave the key `peers` out"));
}

}  // namespace

absl::StatusOr<PeerTransportMaker> LoadPeerTransport() {
  if (kStatic) {
    return absl::FailedPreconditionError(
        "peers: this program is static, and loads no module; install another "
        "package (docs/install.md, \"Several nodes\"), or leave the key "
        "`peers` out");
  }
  // Who sets this may also set LD_PRELOAD.
  if (const char* set = std::getenv("SHUFFLEFS_PEERS_MODULE")) {
    auto maker = MakerIn(dlopen(set, RTLD_NOW | RTLD_LOCAL), set);
    return maker.ok() ? std::move(maker) : NotLoaded(maker.status().message());
  }
  const Places places = PlacesOfModule();
  absl::Status problem;
  for (const std::string& place : places.paths) {
    auto maker = LoadFrom(place, places.owner);
    if (maker.ok()) return maker;
    const absl::optional<int> error = ErrnoOf(maker.status());
    const bool is_missing = error == ENOENT || error == ENOTDIR;
    if (problem.ok() || !is_missing) problem = maker.status();
  }
  return NotLoaded(problem.message());
}

}  // namespace shufflefs
