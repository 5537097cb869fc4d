// SPDX-License-Identifier: Apache-2.0
// RecordReaders finds where the readers of a shuffled file are, and which of
// them read on from part to part. For these it pays to fetch the next parts.
#ifndef SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_READERS_H_
#define SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_READERS_H_

#include <cstdint>
#include <deque>

namespace shufflefs {

// A read [offset, end) of a file, and the bounds of the parts in which it
// begins and ends. It reaches from part [first_begin, …) to part [last_begin,
// last_end).
struct ReadSpan {
  uint64_t offset = 0;
  uint64_t end = 0;
  uint64_t first_begin = 0;
  uint64_t last_begin = 0;
  uint64_t last_end = 0;
};

// The readers of one file. Not thread-safe.
class RecordReaders {
 public:
  // Records a read. Returns true if its reader reads on. Such a reader began at
  // the start of the file. Or it came from the part of the first byte, or from
  // the one before, and asked for at least half of that. The kernel asks in no
  // strict order.
  bool ReadsOn(const ReadSpan& read);
  // Bytes that the last reader of ReadsOn asked for, part after part, in the
  // parts before the one where it is.
  uint64_t run() const { return readers_.empty() ? 0 : readers_.front().run; }

 private:
  struct Reader {
    uint64_t begin = 0;  // of the part where it is
    uint64_t end = 0;
    uint64_t asked = 0;  // bytes of this part
    uint64_t run = 0;    // bytes of the parts before it
    bool reads_on = false;
  };
  std::deque<Reader> readers_;  // the last that read first
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_RECORDS_CONTENT_RECORD_READERS_H_
