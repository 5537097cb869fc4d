// SPDX-License-Identifier: Apache-2.0
// How an order is dealt to the threads that open files, as the places of their
// opens in that order tell. A thread reads every `stride`-th place (the ranks
// of a job take turns) of a batch, then jumps over the batches of the other
// workers, by the same distance each time. With batches of one, stride and jump
// are one distance. Which thread is which worker, and how many there are, need
// not be known.
//
// If the order is the right one, nearly every step is one of two distances; if
// it is not, next to none is. Plain values; belongs to one thread.
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_LANES_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_LANES_H_

#include <cstdint>
#include <vector>

namespace shufflefs {

class Lanes {
 public:
  // Learns the distances from what each thread opened so far: lists of places.
  explicit Lanes(const std::vector<std::vector<uint32_t>>& streams);

  uint64_t expected() const { return expected_; }      // steps by a distance
  uint64_t unexpected() const { return unexpected_; }  // other steps
  uint32_t stride() const { return stride_; }          // 0: no step was made

  // Places mod stride() that are read here: the ranks that this mount serves.
  const std::vector<uint32_t>& residues() const { return residues_; }

  // Whether a step from one place to another is by one of the distances.
  bool Expects(uint32_t from, uint32_t to) const {
    return from < to && (to - from == stride_ || to - from == jump_);
  }

  // A thread that made an expected step to `place`: its residue is read here.
  void Learn(uint32_t place);

 private:
  void LearnDistances(const std::vector<std::vector<uint32_t>>& streams);

  uint32_t stride_ = 0;
  uint32_t jump_ = 0;  // 0: none was seen twice
  uint64_t expected_ = 0;
  uint64_t unexpected_ = 0;
  std::vector<uint32_t> residues_;  // sorted
};

// How many expected steps prove an order of n that is one of `candidates`: that
// a wrong one shows as many has probability 2^-20 at most. Holds if no more
// than a quarter as many steps are unexpected.
uint64_t StepsToProve(uint32_t n, uint64_t candidates);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_LANES_H_
