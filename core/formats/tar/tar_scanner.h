// SPDX-License-Identifier: Apache-2.0
// Records of a tar archive as webdataset reads it: members that follow each
// other and share a key (webdataset_key.h) are one record. It lies from the
// first header of its first member, a GNU long name or a pax header included,
// to the end of the padding of its last.
//
// Members without a key (directories, README, metadata) are passed over by
// webdataset, inside a sample too. Those before the first record stay, and so
// do those behind the last, with the zero blocks that end the archive and
// anything behind these. Those between belong to the record whose next member
// follows them: so a directory comes before a file of its own, as programs
// that unpack expect, and a record is never cut.
#ifndef SHUFFLEFS_CORE_FORMATS_TAR_TAR_SCANNER_H_
#define SHUFFLEFS_CORE_FORMATS_TAR_TAR_SCANNER_H_

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "core/formats/record_scanner.h"

namespace shufflefs {

// Whether a file that begins so is a tar archive. REQUIRES of `head`: the first
// 512 bytes of the file or more, or all of it.
bool LooksLikeTar(absl::string_view head);

// What Feed and Finish refuse, beside the errors of tar_header.h and
// tar_names.h:
// FailedPrecondition: two headers of a kind for one member, one of more than
// 1 MiB, a member behind a zero block that stands alone.
// DataLoss: members that run over the end of the file, a file that ends inside
// one, and one that does not have `file_bytes`.
// While it scans it holds 9 to 20 bytes a record: a table of its keys.
std::unique_ptr<RecordScanner> MakeTarScanner(uint64_t file_bytes);

}  // namespace shufflefs

#endif  // SHUFFLEFS_CORE_FORMATS_TAR_TAR_SCANNER_H_
