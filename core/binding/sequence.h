// SPDX-License-Identifier: Apache-2.0
// Orders of one epoch in which a reader may read a view's samples. They are
// what is known in advance of a planned policy's reads.
#ifndef SHUFFLEFS_CORE_BINDING_SEQUENCE_H_
#define SHUFFLEFS_CORE_BINDING_SEQUENCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/types.h"
#include "core/binding/binding.h"

namespace shufflefs {

// A bijection between positions, [0, sample count), and the view's samples.
// Immutable; any thread may call. It keeps its epoch's binding alive. The first
// call may make tables of the plan, as Plan says. No call does I/O.
class Sequence {
 public:
  virtual ~Sequence() = default;
  virtual SampleId At(uint64_t position) const = 0;
  virtual uint64_t PositionOf(SampleId sample) const = 0;
};

// In the order of the ranks of the ranked layout.
std::unique_ptr<Sequence> RankSequence(std::shared_ptr<const Binding> binding);
// In the order of sorted names, directory after directory. Gives what each name
// shows.
std::unique_ptr<Sequence> NameSequence(std::shared_ptr<const Binding> binding);
// In the order in which directories list the names (core/binding/listing.h),
// directory after directory.
std::unique_ptr<Sequence> ListingSequence(
    std::shared_ptr<const Binding> binding);
// The order of `all` without some samples: positions are those among the rest.
// `left_out` has each of these once. PositionOf must not be asked about them.
std::unique_ptr<Sequence> SequenceWithout(
    std::unique_ptr<Sequence> all,
    std::shared_ptr<const std::vector<SampleId>> left_out);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_BINDING_SEQUENCE_H_
