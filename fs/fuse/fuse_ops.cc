// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/fuse_ops.h"

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fs/fuse/dir_stream.h"
#include "fs/fuse/fuse_reply.h"
#include "fs/model/node_id.h"

namespace shufflefs {
namespace {

constexpr unsigned kMostBackground = 4096;

Filesystem& Fs(fuse_req_t req) { return *Context(req).filesystem; }

Caller Asker(fuse_req_t req) {
  const fuse_ctx& context = *fuse_req_ctx(req);
  return {context.pid, context.uid};
}

// Returns whether the request waits for the catalogue. If so, `again` answers
// it later.
template <typename Again>
bool Waits(fuse_req_t req, Again&& again) {
  return Context(req).gate.Keep([req, again](ReadyGate::Outcome outcome) {
    if (outcome == ReadyGate::Outcome::kReady) return again();
    fuse_reply_err(req, ENOTCONN);
  });
}

// Answers on another thread, because the answer may wait for the source.
template <typename Answer>
void Ask(fuse_req_t req, Answer answer) {
  auto job = [req, answer = std::move(answer)](const absl::Status& turn) {
    if (!turn.ok()) return ReplyError(req, "asking the source", turn);
    answer();
  };
  Fs(req).AskSource(std::move(job));
}

// Answers now, or on another thread if the answer may wait for the source.
template <typename Answer>
void AnswerOrAsk(fuse_req_t req, bool asks_source, Answer answer) {
  if (!asks_source) return answer();
  Ask(req, std::move(answer));
}

// The same, with a timer.
template <typename Answer>
void AnswerOrAsk(fuse_req_t req, bool asks_source, Latency latency,
                 Counter counter, Answer answer) {
  if (!asks_source) {
    Timer timer(req, latency, counter);
    return answer();
  }
  auto timer = std::make_shared<Timer>(req, latency, counter);
  Ask(req, [timer, answer = std::move(answer)] { answer(); });
}

void Init(void* userdata, fuse_conn_info* conn) {
  // A nodeid has one content for life. Requests for attributes before each
  // read, to detect stale pages, would be useless.
  conn->want &= ~FUSE_CAP_AUTO_INVAL_DATA;
  // O_TRUNC must come as SETATTR, which is refused. With opens unseen, the
  // kernel would otherwise set a file's cached size to 0 by itself.
  conn->want &= ~FUSE_CAP_ATOMIC_O_TRUNC;
  // Splicing from a file is the slowest way to reply (notes: 0.08x), and it
  // steals pages from the source's cache.
  conn->want &=
      ~(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
  // A link's target is part of its content, so it does not change.
  conn->want |= conn->capable & FUSE_CAP_CACHE_SYMLINKS;
  conn->max_readahead = 1 << 20;
  // At this limit the kernel sends no read-ahead for any file, so readers of a
  // hanging source must not use it up.
  conn->max_background = kMostBackground;
  conn->congestion_threshold = kMostBackground / 4 * 3;
  static_cast<FuseContext*>(userdata)->proto_minor = conn->proto_minor;
}

void Lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  if (Fs(req).MustWait(parent, name) &&
      Waits(req, [req, parent, text = std::string(name)] {
        Lookup(req, parent, text.c_str());
      })) {
    return;
  }
  const bool control =
      parent == FUSE_ROOT_ID && absl::string_view(name) == kControlName;
  // A file there is written down at its lookup, which takes a while for orders
  // of millions of names.
  if (UnpackNode(parent).kind == NodeKind::kControlDir) {
    Context(req).let_others_serve();
  }
  AnswerOrAsk(req, !control && Fs(req).AsksSource(parent), Latency::kLookup,
              Counter::kLookups, [req, parent, text = std::string(name)] {
                ReplyEntry(req, Fs(req).Lookup(parent, text, Asker(req)));
              });
}

void Forget(fuse_req_t req, fuse_ino_t ino, uint64_t count) {
  Fs(req).Forget(ino, count);
  fuse_reply_none(req);
}

void ForgetMulti(fuse_req_t req, size_t count, fuse_forget_data* forgets) {
  for (size_t i = 0; i < count; ++i) {
    Fs(req).Forget(forgets[i].ino, forgets[i].nlookup);
  }
  fuse_reply_none(req);
}

void GetAttr(fuse_req_t req, fuse_ino_t ino, fuse_file_info*) {
  Context(req).metrics->Add(Counter::kGetattrs);
  const bool asks = ino != FUSE_ROOT_ID && Fs(req).AsksSource(ino);
  AnswerOrAsk(req, asks, [req, ino] {
    ReplyAttributesWhenSized(req, Fs(req).GetAttributes(ino));
  });
}

void SetAttr(fuse_req_t req, fuse_ino_t ino, struct stat*, int to_set,
             fuse_file_info*) {
  const int harmless = FUSE_SET_ATTR_SIZE | FUSE_SET_ATTR_MTIME_NOW |
                       FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_CTIME;
  const bool only_size =
      (to_set & FUSE_SET_ATTR_SIZE) != 0 && (to_set & ~harmless) == 0;
  ReplyAttributes(req, Fs(req).SetAttributes(ino, only_size));
}

void ReadLink(fuse_req_t req, fuse_ino_t ino) {
  Ask(req, [req, ino] {
    const absl::StatusOr<std::string> target = Fs(req).ReadLink(ino);
    if (!target.ok()) return ReplyError(req, "readlink", target.status());
    fuse_reply_readlink(req, target->c_str());
  });
}

void Open(fuse_req_t req, fuse_ino_t ino, fuse_file_info* info) {
  auto timer = std::make_shared<Timer>(req, Latency::kOpen, Counter::kOpens);
  const absl::StatusOr<OpenReply> reply =
      Fs(req).Open(ino, info->flags, fuse_req_ctx(req)->pid);
  BackingFiles* const backing = Context(req).backing;
  if (!reply.ok() || backing == nullptr || reply->reads == ReadBy::kDaemon) {
    ReplyOpen(req, reply, BackingFiles::Opened());
    return;
  }
  using Opened = absl::StatusOr<BackingFiles::Opened>;
  backing->Open(ino, reply->reads == ReadBy::kKernel,
                [=, reply = *reply](const Opened& opened) {
                  static_cast<void>(timer);
                  const bool heard = ReplyOpen(req, reply, opened);
                  if (!heard) backing->Close(ino, opened->handle);
                });
}

void ReadNow(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset) {
  auto timer = std::make_shared<Timer>(req, Latency::kRead, Counter::kReads);
  thread_local std::vector<char> buffer;
  if (buffer.size() < size) buffer.resize(size);
  const absl::StatusOr<absl::optional<size_t>> got =
      Fs(req).Read(ino, offset, absl::MakeSpan(buffer.data(), size));
  if (!got.ok()) return ReplyError(req, "read", got.status());
  if (*got) {
    fuse_reply_buf(req, buffer.data(), **got);
  } else {
    Fs(req).ReadLater(ino, offset, size, ReplyBytesLater(req, timer));
  }
}

void Read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
          fuse_file_info*) {
  const std::shared_ptr<ContentProvider> provider =
      Fs(req).ServingProvider(ino, offset, fuse_req_ctx(req)->pid);
  if (provider != nullptr) {
    auto timer = std::make_shared<Timer>(req, Latency::kRead, Counter::kReads);
    provider->Read(Filesystem::FileOf(ino), offset, size,
                   ReplyBytesLater(req, std::move(timer)));
    return;
  }
  AnswerOrAsk(req, Fs(req).AsksSource(ino),
              [req, ino, size, offset] { ReadNow(req, ino, size, offset); });
}

void Release(fuse_req_t req, fuse_ino_t ino, fuse_file_info* info) {
  Fs(req).Release(ino);
  BackingFiles* const backing = Context(req).backing;
  if (backing != nullptr) backing->Close(ino, info->fh);
  fuse_reply_err(req, 0);
}

void Write(fuse_req_t req, fuse_ino_t ino, const char* data, size_t size,
           off_t offset, fuse_file_info* info) {
  Context(req).let_others_serve();  // the write may wait for another one
  const WrittenText text{absl::string_view(data, size),
                         static_cast<uint64_t>(offset),
                         info->fh == kWritesDirectly};
  const absl::Status done = Fs(req).Write(ino, text);
  if (!done.ok()) {
    Context(req).write_refused(ino);
    return ReplyError(req, "write", done);
  }
  fuse_reply_write(req, size);
}

void OpenDir(fuse_req_t req, fuse_ino_t ino, fuse_file_info* info) {
  if (Fs(req).MustWait(ino, "") && Waits(req, [req, ino, copy = *info] {
        fuse_file_info opened = copy;
        OpenDir(req, ino, &opened);
      })) {
    return;
  }
  absl::StatusOr<std::unique_ptr<DirHandle>> dir =
      Fs(req).OpenDir(ino, Asker(req));
  if (!dir.ok()) return ReplyError(req, "opendir", dir.status());
  OpenDirs& dirs = Context(req).open_dirs;
  info->fh =
      dirs.Add(std::make_shared<DirStream>(*std::move(dir), dirs.ahead()));
  fuse_reply_open(req, info);
}

void ReadPiece(fuse_req_t req, const fuse_file_info& info,
               const DirStream::Piece& piece) {
  const auto dir = Context(req).open_dirs.Find(info.fh);
  AnswerOrAsk(req, dir->asks_source(), Latency::kReaddir, Counter::kReaddirs,
              [req, dir, piece] {
                const absl::Status loaded = dir->Load();
                if (!loaded.ok()) return ReplyError(req, "readdir", loaded);
                dir->Reply(req, piece);
              });
}

void ReadDir(fuse_req_t req, fuse_ino_t, size_t size, off_t offset,
             fuse_file_info* info) {
  ReadPiece(req, *info, {size, static_cast<uint64_t>(offset), false});
}

void ReadDirPlus(fuse_req_t req, fuse_ino_t, size_t size, off_t offset,
                 fuse_file_info* info) {
  ReadPiece(req, *info, {size, static_cast<uint64_t>(offset), true});
}

void ReleaseDir(fuse_req_t req, fuse_ino_t, fuse_file_info* info) {
  Context(req).open_dirs.Remove(info->fh);
  fuse_reply_err(req, 0);
}

void StatFs(fuse_req_t req, fuse_ino_t) {
  const absl::StatusOr<struct statvfs> st = Fs(req).StatFs();
  if (!st.ok()) return ReplyError(req, "statfs", st.status());
  fuse_reply_statfs(req, &*st);
}

void GetXattr(fuse_req_t req, fuse_ino_t ino, const char* name, size_t size) {
  const absl::StatusOr<std::string> value = Fs(req).GetXattr(ino, name);
  if (!value.ok()) return ReplyError(req, "getxattr", value.status());
  if (size == 0) {
    fuse_reply_xattr(req, value->size());
  } else if (size < value->size()) {
    fuse_reply_err(req, ERANGE);
  } else {
    fuse_reply_buf(req, value->data(), value->size());
  }
}

void ListXattr(fuse_req_t req, fuse_ino_t, size_t size) {
  // user.shufflefs.sample is answered but not listed, because cp -a would copy
  // it.
  if (size == 0) {
    fuse_reply_xattr(req, 0);
  } else {
    fuse_reply_buf(req, nullptr, 0);
  }
}

// Refuses every call that would change something, whatever its arguments.
template <typename... Args>
void Refuse(fuse_req_t req, Args...) {
  fuse_reply_err(req, EROFS);
}

}  // namespace

const fuse_lowlevel_ops& FuseOps() {
  static const fuse_lowlevel_ops ops = [] {
    fuse_lowlevel_ops o = {};
    o.init = Init;
    o.lookup = Lookup;
    o.forget = Forget;
    o.forget_multi = ForgetMulti;
    o.getattr = GetAttr;
    o.setattr = SetAttr;
    o.readlink = ReadLink;
    o.open = Open;
    o.read = Read;
    o.release = Release;
    o.write = Write;
    o.opendir = OpenDir;
    o.readdir = ReadDir;
    o.readdirplus = ReadDirPlus;
    o.releasedir = ReleaseDir;
    o.statfs = StatFs;
    o.getxattr = GetXattr;
    o.listxattr = ListXattr;
    o.mknod = Refuse;
    o.mkdir = Refuse;
    o.unlink = Refuse;
    o.rmdir = Refuse;
    o.symlink = Refuse;
    o.rename = Refuse;
    o.link = Refuse;
    o.setxattr = Refuse;
    o.removexattr = Refuse;
    o.create = Refuse;
    o.fallocate = Refuse;
    return o;
  }();
  return ops;
}

}  // namespace shufflefs
