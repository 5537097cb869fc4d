// SPDX-License-Identifier: Apache-2.0
#include "fs/opens/open_events.h"

#include <fcntl.h>
#include <sys/fanotify.h>

#include <cstring>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fs/raw_bytes.h"

namespace shufflefs {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_support::Put;

// As Linux 6.18 writes it for a file of a FUSE mount.
std::string Event(uint64_t nodeid, int32_t thread, int handle_type = 0x81) {
  std::string rest;
  fanotify_event_info_fid info = {};
  info.hdr.info_type = FAN_EVENT_INFO_TYPE_FID;
  info.hdr.len = sizeof(info) + sizeof(file_handle) + 12;
  Put(info, rest);
  file_handle handle = {};
  handle.handle_bytes = 12;
  handle.handle_type = handle_type;
  Put(handle, rest);
  Put(static_cast<uint32_t>(nodeid >> 32), rest);
  Put(static_cast<uint32_t>(nodeid), rest);
  Put(uint32_t{0}, rest);  // generation
  fanotify_event_metadata event = {};
  event.event_len = static_cast<uint32_t>(sizeof(event) + rest.size());
  event.vers = FANOTIFY_METADATA_VERSION;
  event.metadata_len = sizeof(event);
  event.mask = FAN_OPEN;
  event.fd = FAN_NOFD;
  event.pid = thread;
  std::string bytes;
  Put(event, bytes);
  return bytes + rest;
}

OpenEvents Parsed(const std::string& bytes) {
  OpenEvents events;
  AppendOpenEvents(absl::MakeConstSpan(bytes.data(), bytes.size()), events);
  return events;
}

TEST(OpenEventsTest, GivesNodesAndThreadsInTheirOrder) {
  const uint64_t node = 0x1000000200000003;
  const std::string one = Event(node, 77);
  EXPECT_EQ(one.size(), 56u);
  const OpenEvents events = Parsed(one + Event(5, 0) + Event(6, -1));
  EXPECT_FALSE(events.lost);
  EXPECT_THAT(events.opens,
              ElementsAre(OpenEvents::Open{node, 77}, OpenEvents::Open{5, 0},
                          OpenEvents::Open{6, 0}));
}

TEST(OpenEventsTest, AnOverflowIsALoss) {
  fanotify_event_metadata event = {};
  event.event_len = event.metadata_len = sizeof(event);
  event.mask = FAN_Q_OVERFLOW;
  std::string bytes = Event(5, 1);
  Put(event, bytes);
  const OpenEvents events = Parsed(bytes + Event(6, 1));
  EXPECT_TRUE(events.lost);
  EXPECT_EQ(events.opens.size(), 2u);
}

TEST(OpenEventsTest, WhatIsNotUnderstoodIsALoss) {
  const OpenEvents other = Parsed(Event(5, 1, /*handle_type=*/1));
  EXPECT_TRUE(other.lost);
  EXPECT_THAT(other.opens, IsEmpty());
  const std::string whole = Event(5, 1);
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_TRUE(Parsed(whole.substr(0, size)).lost) << size;
  }
  std::string short_event = whole;
  short_event[0] = 30;  // its length, less than the handle needs
  EXPECT_TRUE(Parsed(short_event).lost);
}

}  // namespace
}  // namespace shufflefs
