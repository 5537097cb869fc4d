// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/backing_wire.h"

#include <linux/fuse.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

#include "core/base/status.h"

namespace shufflefs {
namespace {

constexpr uint32_t kInitExt = 1u << 30;
constexpr uint32_t kPassthrough = 1u << (37 - 32);  // in flags2
constexpr uint32_t kOpenPassthrough = 1u << 7;
constexpr uint32_t kOpenNoFlush = 1u << 5;
// The source is on a file system that is not stacked itself. With more, no
// overlayfs could be mounted above this mount.
constexpr uint32_t kStackDepth = 1;

struct InitIn {
  uint32_t major, minor, max_readahead, flags, flags2;
};

struct InitOut {
  uint32_t major, minor, max_readahead, flags;
  uint16_t max_background, congestion_threshold;
  uint32_t max_write, time_gran;
  uint16_t max_pages, map_alignment;
  uint32_t flags2, max_stack_depth, unused[6];
};
static_assert(sizeof(InitOut) == 64);

struct OpenOut {
  uint64_t handle;
  uint32_t flags;
  int32_t backing_id;
};
static_assert(sizeof(OpenOut) == 16);

struct BackingMap {
  int32_t fd;
  uint32_t flags;
  uint64_t padding;
};

constexpr unsigned kDeviceMagic = 229;
constexpr unsigned long kBackingOpen = _IOW(kDeviceMagic, 1, BackingMap);
constexpr unsigned long kBackingClose = _IOW(kDeviceMagic, 2, uint32_t);

}  // namespace

bool OffersBacking(absl::Span<const char> request) {
  fuse_in_header header;
  InitIn init;
  if (request.size() < sizeof(header) + sizeof(init)) return false;
  std::memcpy(&header, request.data(), sizeof(header));
  if (header.opcode != FUSE_INIT) return false;
  std::memcpy(&init, request.data() + sizeof(header), sizeof(init));
  return (init.flags & kInitExt) != 0 && (init.flags2 & kPassthrough) != 0;
}

bool AcceptBacking(absl::Span<char> reply) {
  fuse_out_header header;
  InitOut init;
  if (reply.size() != sizeof(header) + sizeof(init)) return false;
  std::memcpy(&header, reply.data(), sizeof(header));
  if (header.error != 0) return false;
  std::memcpy(&init, reply.data() + sizeof(header), sizeof(init));
  if (init.major != FUSE_KERNEL_VERSION) return false;
  init.flags |= kInitExt;
  init.flags2 |= kPassthrough;
  init.max_stack_depth = kStackDepth;
  std::memcpy(reply.data() + sizeof(header), &init, sizeof(init));
  return true;
}

std::array<char, 16> BackedOpenAnswer(uint64_t handle, int32_t backing_id) {
  const OpenOut out{handle, kOpenPassthrough | kOpenNoFlush, backing_id};
  std::array<char, 16> answer;
  std::memcpy(answer.data(), &out, sizeof(out));
  return answer;
}

absl::StatusOr<int32_t> AddBackingFile(int device, int fd) {
  const BackingMap map{fd, 0, 0};
  const int id = ioctl(device, kBackingOpen, &map);
  if (id <= 0) return ErrnoStatus(id < 0 ? errno : EINVAL, "backing file");
  return id;
}

void RemoveBackingFile(int device, int32_t backing_id) {
  const auto id = static_cast<uint32_t>(backing_id);
  ioctl(device, kBackingClose, &id);
}

}  // namespace shufflefs
