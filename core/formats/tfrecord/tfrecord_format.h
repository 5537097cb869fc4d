// SPDX-License-Identifier: Apache-2.0
// Files of TensorFlow's records.
#ifndef SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_FORMAT_H_
#define SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_FORMAT_H_

#include "core/formats/record_format.h"

namespace shufflefs {

// "tfrecord". What a shard without a suffix is taken for.
const RecordFormat& TfrecordFormat();

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TFRECORD_TFRECORD_FORMAT_H_
