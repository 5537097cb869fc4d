// SPDX-License-Identifier: Apache-2.0
// TensorFlow's record files.
#ifndef SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_FORMAT_H_
#define SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_FORMAT_H_

#include "core/formats/record_format.h"

namespace shufflefs {

// "tfrecord". A shard without a suffix is taken for it.
const RecordFormat& TfrecordFormat();

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_FORMAT_H_
