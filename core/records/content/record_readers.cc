// SPDX-License-Identifier: Apache-2.0
#include "core/records/content/record_readers.h"

#include <algorithm>

namespace shufflefs {
namespace {

constexpr size_t kReadersOfAFile = 16;

}  // namespace

bool RecordReaders::ReadsOn(const ReadSpan& read) {
  Reader now;
  now.begin = read.last_begin;
  now.end = read.last_end;
  now.asked = read.end - std::max(read.offset, read.last_begin);
  now.run = read.end - read.offset - now.asked;
  now.reads_on = read.offset == 0;
  for (auto it = readers_.begin(); it != readers_.end(); ++it) {
    // The reader is at the part of the first byte, or at the part before.
    // Between these may be parts without a byte.
    if (it->begin > read.first_begin || it->end < read.first_begin) continue;
    const uint64_t asked = it->asked + std::min(read.end, it->end) -
                           std::min(read.offset, it->end);
    if (read.last_end <= it->end) {
      now.asked = asked;
      now.run = it->run;
      now.reads_on = now.reads_on || it->reads_on;
    } else if (it->reads_on || asked >= (it->end - it->begin + 1) / 2) {
      now.reads_on = true;
      now.run = it->run + asked;
      if (read.last_begin > it->end) {
        now.run += read.last_begin - std::max(read.offset, it->end);
      }
    } else {
      continue;  // another reader that came here by chance
    }
    readers_.erase(it);
    break;
  }
  readers_.push_front(now);
  if (readers_.size() > kReadersOfAFile) readers_.pop_back();
  return now.reads_on;
}

}  // namespace shufflefs
