// SPDX-License-Identifier: Apache-2.0
// The FUSE adapter. Each callback unpacks its arguments, calls the filesystem,
// and replies. Only this and the session know FUSE in fs.
#ifndef SHUFFLEFS_FS_FUSE_FUSE_OPS_H_
#define SHUFFLEFS_FS_FUSE_FUSE_OPS_H_

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <atomic>
#include <functional>

#include "core/base/metrics.h"
#include "fs/backing/backing_files.h"
#include "fs/filesystem.h"
#include "fs/fuse/init_exchange.h"
#include "fs/fuse/open_dirs.h"
#include "fs/fuse/ready_gate.h"
#include "fs/model/error_log.h"

namespace shufflefs {

// The user data of every request.
struct FuseContext {
  Filesystem* filesystem = nullptr;
  Metrics* metrics = nullptr;
  ErrorLog errors;
  OpenDirs open_dirs;
  ReadyGate gate;  // requests that wait for the catalogue
  InitExchange init;
  // Files that the kernel reads by itself. Null if it reads none.
  std::atomic<BackingFiles*> backing{nullptr};
  // A process tried to write to a file whose pages the kernel caches. The pages
  // may contain the refused bytes. Called on the request's thread.
  std::function<void(uint64_t nodeid)> write_refused;
  // The calling thread has answered its request but has more work.
  std::function<void()> let_others_serve;
  uint32_t proto_minor = 0;  // the kernel's; set by the INIT request
};

const fuse_lowlevel_ops& FuseOps();

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FUSE_FUSE_OPS_H_
