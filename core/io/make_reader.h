// SPDX-License-Identifier: Apache-2.0
// Makes the FileReader that works here.
#ifndef SHUFFLEFS_CORE_IO_MAKE_READER_H_
#define SHUFFLEFS_CORE_IO_MAKE_READER_H_

#include <functional>
#include <memory>

#include "core/io/file_reader.h"
#include "core/io/reader_options.h"
#include "core/source/source_dir.h"

namespace shufflefs {

// Uses io_uring. Falls back to threads if io_uring is refused (by the kernel, a
// sandbox or the options) or lacks a needed call; one line of the log says why.
// `source` outlives the reader. The reader has threads, so make it after the
// process became a daemon.
std::unique_ptr<FileReader> MakeFileReader(const SourceDir& source,
                                           const FileReaderOptions& options);

// Makes a reader of one known directory. Thread-safe.
using ReaderMaker =
    std::function<std::unique_ptr<FileReader>(const FileReaderOptions&)>;

// As `maker` makes it. Without one: MakeFileReader.
inline std::unique_ptr<FileReader> MakeFileReaderBy(
    const ReaderMaker& maker, const SourceDir& source,
    const FileReaderOptions& options) {
  return maker ? maker(options) : MakeFileReader(source, options);
}

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_IO_MAKE_READER_H_
