// SPDX-License-Identifier: Apache-2.0
// Inode numbers of the FUSE protocol ("nodeids"). A nodeid alone says what it
// shows. So the daemon keeps no table of looked-up inodes, and a FORGET costs
// nothing unless a slot stands for an epoch. A nodeid has one content for as
// long as the kernel knows it: files are numbered by the sample that they show,
// not by the name.
#ifndef SHUFFLEFS_FS_MODEL_NODE_ID_H_
#define SHUFFLEFS_FS_MODEL_NODE_ID_H_

#include <cstdint>

namespace shufflefs {

enum class NodeKind : uint8_t {
  kLiveDir = 0,  // id = DirId
  // Slot = ordinal of the name, id = EntryId. Opens are counted.
  kLiveFile = 1,
  kFixedDir = 2,     // view, slot = epoch, id = DirId
  kFixedFile = 3,    // id = EntryId; under a name that never rebinds
  kFixedRanked = 4,  // view, slot = epoch
  kControlDir = 5,   // view, slot = epoch, id = ControlDirId
  kControlFile = 6,  // id = snapshot
  kPassThrough = 7,  // id = node of PassThrough
  kPinDir = 8,       // slot = pass
  kContainer = 9,    // view, slot = epoch of records, id = EntryId
};

// 4 bits of kind, 8 of view, 20 of slot, 32 of id. The protocol's root (1) is
// the live directory 0. No other node packs to 0 or 1, because live directories
// are packed as id + 1.
struct Node {
  NodeKind kind = NodeKind::kLiveDir;
  uint8_t view = 0;
  uint32_t slot = 0;  // < 2^20
  uint32_t id = 0;

  friend bool operator==(const Node&, const Node&) = default;
};

constexpr uint32_t kSlotLimit = 1u << 20;

constexpr uint64_t PackNode(Node node) {
  const uint64_t id =
      node.kind == NodeKind::kLiveDir ? uint64_t{node.id} + 1 : node.id;
  return static_cast<uint64_t>(node.kind) << 60 |
         static_cast<uint64_t>(node.view) << 52 |
         (static_cast<uint64_t>(node.slot) & (kSlotLimit - 1)) << 32 | id;
}

constexpr Node UnpackNode(uint64_t nodeid) {
  Node node;
  node.kind = static_cast<NodeKind>(nodeid >> 60);
  node.view = static_cast<uint8_t>(nodeid >> 52);
  node.slot = static_cast<uint32_t>(nodeid >> 32) & (kSlotLimit - 1);
  node.id = static_cast<uint32_t>(nodeid);
  if (node.kind == NodeKind::kLiveDir) --node.id;
  return node;
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_FS_MODEL_NODE_ID_H_
