// SPDX-License-Identifier: Apache-2.0
#include "fs/opens/open_events.h"

#include <fcntl.h>
#include <sys/fanotify.h>

#include <cstddef>
#include <cstring>

#include "absl/types/optional.h"

namespace shufflefs {
namespace {

// FUSE's file handles: the upper and the lower half of the nodeid, then a
// generation.
constexpr int kFuseHandle = 0x81;
constexpr uint32_t kFuseHandleBytes = 12;

template <typename T>
absl::optional<T> Read(absl::Span<const char> bytes, size_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return absl::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

// `bytes` is one event from after its metadata.
absl::optional<uint64_t> NodeOf(absl::Span<const char> bytes) {
  constexpr size_t kHandle = sizeof(fanotify_event_info_fid);
  constexpr size_t kNode = kHandle + sizeof(file_handle);
  const auto info = Read<fanotify_event_info_header>(bytes, 0);
  const auto handle = Read<file_handle>(bytes, kHandle);
  const auto upper = Read<uint32_t>(bytes, kNode);
  const auto lower = Read<uint32_t>(bytes, kNode + sizeof(uint32_t));
  if (!info || info->info_type != FAN_EVENT_INFO_TYPE_FID || !handle ||
      handle->handle_type != kFuseHandle ||
      handle->handle_bytes != kFuseHandleBytes || !upper || !lower) {
    return absl::nullopt;
  }
  return uint64_t{*upper} << 32 | *lower;
}

}  // namespace

void AppendOpenEvents(absl::Span<const char> bytes, OpenEvents& events) {
  while (!bytes.empty()) {
    const auto event = Read<fanotify_event_metadata>(bytes, 0);
    if (!event || event->event_len < event->metadata_len ||
        event->metadata_len < sizeof(*event) ||
        event->event_len > bytes.size()) {
      events.lost = true;
      return;
    }
    const absl::Span<const char> rest = bytes.subspan(
        event->metadata_len, event->event_len - event->metadata_len);
    bytes.remove_prefix(event->event_len);
    if ((event->mask & FAN_Q_OVERFLOW) != 0) {
      events.lost = true;
      continue;
    }
    const absl::optional<uint64_t> node = NodeOf(rest);
    if (node) {
      const uint32_t reader =
          event->pid < 0 ? 0 : static_cast<uint32_t>(event->pid);
      events.opens.push_back({*node, reader});
    } else {
      events.lost = true;
    }
  }
}

}  // namespace shufflefs
