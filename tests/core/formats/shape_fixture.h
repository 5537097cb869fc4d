// SPDX-License-Identifier: Apache-2.0
// What tests of headers that tell a container's shape expect of it.
#ifndef SHUFFLEFS_TESTS_CORE_FORMATS_SHAPE_FIXTURE_H_
#define SHUFFLEFS_TESTS_CORE_FORMATS_SHAPE_FIXTURE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/formats/fixed_shape.h"
#include "gtest/gtest.h"

namespace shufflefs::testing_support {

inline absl::Status Refused(absl::string_view why) {
  return absl::FailedPreconditionError(why);
}

inline void ExpectShape(const absl::StatusOr<FixedShape>& shape, uint64_t head,
                        uint64_t record, uint64_t count) {
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->head_bytes, head);
  EXPECT_EQ(shape->record_bytes, record);
  EXPECT_EQ(shape->count, count);
}

}  // namespace shufflefs::testing_support

#endif  // SHUFFLEFS_TESTS_CORE_FORMATS_SHAPE_FIXTURE_H_
