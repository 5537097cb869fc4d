// SPDX-License-Identifier: Apache-2.0
// The part of the kernel's FUSE protocol that lets the kernel read files of the
// source by itself ("passthrough", Linux 6.9). libfuse knows it from 3.17 on,
// and Debian 12's headers do not define it. So messages are written here.
#ifndef SHUFFLEFS_FS_FUSE_BACKING_WIRE_H_
#define SHUFFLEFS_FS_FUSE_BACKING_WIRE_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace shufflefs {

// Returns whether `request`, as read from the device, is an INIT by which the
// kernel offers backing files.
bool OffersBacking(absl::Span<const char> request);

// Changes the reply to INIT so that it accepts the offer. Returns false if this
// is no such reply, or an error; then it is unchanged.
bool AcceptBacking(absl::Span<char> reply);

// The body of an answer to OPEN. The kernel reads the file by itself.
std::array<char, 16> BackedOpenAnswer(uint64_t handle, int32_t backing_id);

// `device` is the descriptor of /dev/fuse. Errors: EPERM without CAP_SYS_ADMIN,
// or if the offer was not accepted; ELOOP for a stacked file system.
absl::StatusOr<int32_t> AddBackingFile(int device, int fd);
void RemoveBackingFile(int device, int32_t backing_id);

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_FUSE_BACKING_WIRE_H_
