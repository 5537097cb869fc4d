// SPDX-License-Identifier: Apache-2.0
// The FileReader that works here.
#ifndef SHUFFLEFS_CORE_IO_MAKE_READER_H_
#define SHUFFLEFS_CORE_IO_MAKE_READER_H_

#include <memory>

#include "core/io/file_reader.h"
#include "core/io/reader_options.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// By io_uring, or by threads where that is refused (by the kernel, a sandbox or
// the options) or lacks a call that is needed; one line of the log says why.
// `source` outlives the reader. It has threads: make it after the process
// became a daemon.
std::unique_ptr<FileReader> MakeFileReader(const SourceDir& source,
                                           const FileReaderOptions& options);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_MAKE_READER_H_
