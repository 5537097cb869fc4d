// SPDX-License-Identifier: Apache-2.0
#include "core/records/tfrecord_api/tfrecord_writer.h"

#include "core/base/status.h"
#include "core/formats/tfrecord/tfrecord_frame.h"

namespace shufflefs {

absl::StatusOr<TfrecordWriter> TfrecordWriter::Create(const std::string& path) {
  ASSIGN_OR_RETURN(FreshFile file, FreshFile::Create(path));
  return TfrecordWriter(std::move(file));
}

absl::Status TfrecordWriter::Add(absl::string_view data) {
  frame_.clear();
  AppendTfrecord(data, &frame_);
  RETURN_IF_ERROR(file_.Append(frame_));
  ++count_;
  return absl::OkStatus();
}

absl::Status TfrecordWriter::Finish() {
  RETURN_IF_ERROR(file_.Finish());
  return file_.Publish();
}

}  // namespace shufflefs
