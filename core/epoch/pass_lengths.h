// SPDX-License-Identifier: Apache-2.0
// PassLengths learns from the lengths of the last passes. It learns how many
// names a pass of this job opens (drop_last, a node's share). It also learns
// whether passes are so clean that the first re-open proves the next pass. Not
// thread-safe.
#ifndef SHUFFLEFS_CORE_EPOCH_PASS_LENGTHS_H_
#define SHUFFLEFS_CORE_EPOCH_PASS_LENGTHS_H_

#include <cstdint>
#include <deque>

namespace shufflefs {

class PassLengths {
 public:
  // `names`: number of names in the view. `configured`: names per pass, 0 if
  // not known.
  PassLengths(uint64_t names, uint64_t configured)
      : names_(names), configured_(configured < names ? configured : names) {}

  // A pass of `length` names ended. `exact`: it opened each of the view's names
  // once and nothing more.
  void Add(uint64_t length, bool exact);
  // A pass ended in a way that teaches nothing.
  void Forget();

  // Number of names that a pass is expected to open.
  uint64_t expected() const;
  // Returns whether expected() is configured or learnt.
  bool known() const { return configured_ != 0 || learnt_ != 0; }
  // Returns whether two passes in a row were exact.
  bool exact() const { return exact_ >= 2; }

 private:
  bool LastAgree(uint64_t count) const;

  const uint64_t names_;
  const uint64_t configured_;
  std::deque<uint64_t> last_;  // at most 3, the newest at the back
  uint64_t learnt_ = 0;        // 0 = nothing
  uint64_t exact_ = 0;         // exact passes in a row
};

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_EPOCH_PASS_LENGTHS_H_
