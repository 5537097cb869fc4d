// SPDX-License-Identifier: Apache-2.0
// Finds the records of a tar archive as webdataset reads it: successive members
// that share a key (webdataset_key.h) are one record. It extends from the first
// header of its first member, including a GNU long name or a pax header, to the
// end of the padding of its last.
//
// webdataset skips members without a key (directories, README, metadata), also
// inside a sample. Those before the first record and after the last stay in
// place, and so do the zero blocks at the end of the archive and anything after
// them. Those in between belong to the record of the next member with a key. So
// a directory comes before one of its files, as unpacking programs expect, and
// a record is never cut.
#ifndef SHUFFLEFS_CORE_FORMATS_TAR_TAR_SCANNER_H_
#define SHUFFLEFS_CORE_FORMATS_TAR_TAR_SCANNER_H_

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "core/formats/record_scanner.h"

namespace shufflefs {

// Returns whether a file that begins with `head` is a tar archive. REQUIRES:
// `head` is the first 512 bytes of the file or more, or all of it.
bool LooksLikeTar(absl::string_view head);

// Feed and Finish return these errors, besides those of tar_header.h and
// tar_names.h. FailedPrecondition: two headers of one kind for a member, a
// header of more than 1 MiB, a member after a single zero block. DataLoss:
// members that extend over the end of the file, a file that ends inside a
// member, a file that does not have `file_bytes`. A scan takes 9 to 20 bytes
// per record, for a table of its keys. TakeNames takes 8 more.
std::unique_ptr<RecordScanner> MakeTarScanner(uint64_t file_bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TAR_TAR_SCANNER_H_
