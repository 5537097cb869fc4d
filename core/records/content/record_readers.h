// SPDX-License-Identifier: Apache-2.0
// Where readers of a shuffled file stand, and which of them read on from part
// to part: for these it is worth to fetch what comes next.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_READERS_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_READERS_H_

#include <cstdint>
#include <deque>

namespace shufflefs {

// A read [offset, end) of a file, and where in the file the parts begin and end
// in which it begins and ends: it reaches from part [first_begin, …) to part
// [last_begin, last_end).
struct ReadSpan {
  uint64_t offset = 0;
  uint64_t end = 0;
  uint64_t first_begin = 0;
  uint64_t last_begin = 0;
  uint64_t last_end = 0;
};

// Of one file. Not thread-safe.
class RecordReaders {
 public:
  // Takes note of a read. True if its reader reads on: it began at the start of
  // the file, or went on to this part, or to the one before it, from one of
  // which it asked for half at least. The kernel asks in no strict order.
  bool ReadsOn(const ReadSpan& read);
  // Of the reader that ReadsOn was told of last: bytes of the parts before the
  // one at which it stands that it asked for, part after part.
  uint64_t run() const { return readers_.empty() ? 0 : readers_.front().run; }

 private:
  struct Reader {
    uint64_t begin = 0;  // of the part at which it stands
    uint64_t end = 0;
    uint64_t asked = 0;  // bytes of that
    uint64_t run = 0;    // bytes of those before it
    bool reads_on = false;
  };
  std::deque<Reader> readers_;  // the one that read last first
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_READERS_H_
