// SPDX-License-Identifier: Apache-2.0
// WorkerInterleave describes how an order is dealt to the threads that open
// files, as the places of their opens show. A thread reads every `stride`-th
// place of a batch, because the ranks of a job take turns. Then it jumps over
// the batches of the other workers, by the same distance each time. With
// batches of one, stride and jump are the same distance. Nobody need know which
// thread is which worker, or how many there are.
//
// If the order is right, nearly every step has one of two distances. If it is
// wrong, almost none has. Plain values; use it from one thread.
#ifndef SHUFFLEFS_CORE_SAMPLER_SEARCH_WORKER_INTERLEAVE_H_
#define SHUFFLEFS_CORE_SAMPLER_SEARCH_WORKER_INTERLEAVE_H_

#include <cstdint>
#include <vector>

namespace shufflefs {

class WorkerInterleave {
 public:
  // Learns the distances from the opens of each thread so far, given as places.
  explicit WorkerInterleave(const std::vector<std::vector<uint32_t>>& streams);

  uint64_t expected() const { return expected_; }      // steps by a distance
  uint64_t unexpected() const { return unexpected_; }  // other steps
  uint32_t stride() const { return stride_; }          // 0: no step was made

  // The residues mod stride() of the places that are read here. These are the
  // ranks that this mount serves.
  const std::vector<uint32_t>& residues() const { return residues_; }

  // Returns whether a step between two places has one of the distances.
  bool Expects(uint32_t from, uint32_t to) const {
    return from < to && (to - from == stride_ || to - from == jump_);
  }

  // A thread made an expected step to `place`. So its residue is read here.
  void Learn(uint32_t place);

 private:
  void LearnDistances(const std::vector<std::vector<uint32_t>>& streams);

  uint32_t stride_ = 0;
  uint32_t jump_ = 0;  // 0: none was seen twice
  uint64_t expected_ = 0;
  uint64_t unexpected_ = 0;
  std::vector<uint32_t> residues_;  // sorted
};

// Returns how many expected steps prove an order of n, out of this many
// candidates. With these, a wrong order passes with probability 2^-20 at most.
// This holds if at most a quarter as many steps are unexpected.
uint64_t StepsToProve(uint32_t n, uint64_t candidates);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_SAMPLER_SEARCH_WORKER_INTERLEAVE_H_
