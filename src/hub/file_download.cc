#include "hub/file_download.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/readable_bytes.h"
#include "checkpoint/quote_name.h"
#include "hub/content_hash.h"
#include "hub/file_lock.h"

namespace millrace::hub {
namespace {

namespace fs = std::filesystem;
using checkpoint::quote_name;

constexpr std::chrono::milliseconds kLockPoll{100};
constexpr std::size_t kHashChunk = 1 << 20;

std::string partial_path(const CacheLayout& cache, const std::string& repository, const RepositoryFile& file) {
  return cache.blob(repository, file.etag).string() + ".incomplete";
}

// "bytes 100-199/200": where the part begins and how long the whole is.
struct ContentRange {
  std::uint64_t first = 0, total = 0;
};
std::optional<ContentRange> parse_content_range(const std::string* text) {
  constexpr std::string_view kUnit = "bytes ";
  if (text == nullptr || !text->starts_with(kUnit)) return std::nullopt;
  ContentRange range;
  const char* const end = text->data() + text->size();
  const auto first = std::from_chars(text->data() + kUnit.size(), end, range.first);
  const std::size_t slash = text->find('/');
  if (first.ec != std::errc() || slash == std::string::npos) return std::nullopt;
  const auto total = std::from_chars(text->data() + slash + 1, end, range.total);
  if (total.ec != std::errc() || total.ptr != end) return std::nullopt;
  return range;
}

// One file on its way into the cache. Holds the lock for as long as it lives.
class Download final : public http::HttpSink {
 public:
  Download(const DownloadContext& context, const RepositoryInfo& repository, const RepositoryFile& file,
           std::unique_ptr<PartialFile> partial)
      : context_(context),
        repository_(repository),
        file_(file),
        partial_(std::move(partial)),
        hash_(file.digest, file.size) {}

  Result<void> run() {
    if (auto taken = take_up(); !taken) return taken;
    const bool continued = partial_->size() > 0;
    if (auto fetched = fetch(); !fetched) return fetched;
    if (matches()) return finish();
    if (!continued) return wrong_content();
    // What an earlier process left may be the part that is wrong.
    context_.observer.note(fmt::format("{}: the part from an earlier download is damaged; starting again", label()));
    if (auto cleared = start_again(); !cleared) return cleared;
    if (auto fetched = fetch(); !fetched) return fetched;
    return matches() ? finish() : wrong_content();
  }

  bool begin(const http::HttpResponse& head) override {
    accepting_ = false;
    const std::uint64_t have = partial_->size();
    if (const std::string* tag = head.headers.find("etag")) foreign_tag_ = normalized_etag(*tag) != file_.etag;
    if (head.status == 206) {
      const auto range = parse_content_range(head.headers.find("content-range"));
      accepting_ = range && range->first == have && range->total == file_.size;
      if (!accepting_) range_rejected_ = true;
      return accepting_;
    }
    if (head.status != 200) return true;  // its body is dropped
    const std::string* length = head.headers.find("content-length");
    if (length != nullptr && *length != std::to_string(file_.size)) {
      error_ = make_error(ErrorCode::kBadFile, file_.name, "{}: {} bytes expected, the server sends {}", label(),
                          file_.size, quote_name(*length));
      return false;
    }
    // A server that does not know ranges sends all of it.
    if (have > 0) {
      if (auto cleared = start_again(); !cleared) return false;
    }
    accepting_ = true;
    return true;
  }

  bool write(std::span<const std::byte> body) override {
    if (!accepting_) return (dropped_ += body.size()) <= kMaxErrorBytes;
    if (body.size() > file_.size - partial_->size()) {
      error_ = make_error(ErrorCode::kBadFile, file_.name, "{}: {} bytes expected, the server sends more", label(),
                          file_.size);
      return false;
    }
    if (auto written = partial_->append(body); !written) {
      error_ = disk_error(written.error());
      return false;
    }
    hash_.update(body);
    context_.observer.advanced(static_cast<std::int64_t>(body.size()));
    return true;
  }

 private:
  static constexpr std::uint64_t kMaxErrorBytes = 1 << 20;

  std::string label() const { return fmt::format("{}: {}", repository_.name, quote_name(file_.name)); }

  // Hashes what is there already.
  Result<void> take_up() {
    if (partial_->size() > file_.size) return start_again();
    std::vector<std::byte> chunk(static_cast<std::size_t>(std::min<std::uint64_t>(partial_->size(), kHashChunk)));
    for (std::uint64_t at = 0; at < partial_->size(); at += chunk.size()) {
      chunk.resize(static_cast<std::size_t>(std::min<std::uint64_t>(partial_->size() - at, kHashChunk)));
      if (auto read = partial_->read(at, chunk); !read) return read;
      hash_.update(chunk);
      if (context_.observer.cancelled()) return cancelled();
    }
    return {};
  }

  Result<void> start_again() {
    const auto lost = static_cast<std::int64_t>(partial_->size());
    if (auto cleared = partial_->truncate(); !cleared) {
      error_ = cleared.error();
      return cleared;
    }
    hash_.restart();
    context_.observer.advanced(-lost);
    return {};
  }

  // One request for what is missing after another, until nothing is.
  Result<void> fetch() {
    RetrySchedule schedule = context_.transport.new_schedule();
    bool ranges = true;
    while (partial_->size() < file_.size) {
      const std::uint64_t before = partial_->size();
      if (!ranges && before > 0) {
        if (auto cleared = start_again(); !cleared) return cleared;
      }
      const Answer answer = request(ranges);
      if (error_) return *error_;
      // A server that sends a byte at a time must not keep us for ever: progress is a thousandth of the file.
      if (partial_->size() > before + file_.size / 1000) schedule.reset();
      if (partial_->size() == file_.size) break;
      const http::HttpResponse* response = answer.response();
      if (range_rejected_ || (response != nullptr && response->status == 416)) {
        if (!ranges) return hub_error_of(answer);
        ranges = range_rejected_ = false;
        continue;
      }
      if (!worth_another_try(answer)) return hub_error_of(answer);
      if (!context_.transport.wait(schedule, as_cut(answer), label())) {
        return context_.observer.cancelled() ? Result<void>(cancelled()) : given_up(answer);
      }
    }
    return {};
  }

  Answer request(bool ranges) {
    http::HttpHeaders headers;
    if (ranges && partial_->size() > 0) {
      headers.add("Range", fmt::format("bytes={}-", partial_->size()));
      if (!foreign_tag_) headers.add("If-Range", fmt::format("\"{}\"", file_.etag));
    }
    accepting_ = false;
    dropped_ = 0;
    return context_.transport.get(file_url(context_.transport.settings(), repository_, file_.name), headers, *this);
  }

  static bool is_content(const http::HttpResponse& response) {
    return response.status == 200 || response.status == 206;
  }

  bool worth_another_try(const Answer& answer) const {
    const http::HttpResponse* response = answer.response();
    return (response != nullptr && is_content(*response)) || context_.transport.is_worth_a_retry(answer);
  }

  // A response that ended well, but short of the file.
  Answer as_cut(const Answer& answer) const {
    Answer cut = answer;
    if (answer.response() != nullptr && is_content(*answer.response())) {
      cut.outcome = http::HttpFailure{http::HttpFailure::Kind::kCut,
                                      fmt::format("the answer ended at {} of {} bytes", partial_->size(), file_.size)};
    }
    return cut;
  }

  bool matches() { return file_.digest == RepositoryFile::Digest::kNone || hash_.finish() == file_.etag; }

  Result<void> finish() {
    const std::string blob = context_.cache.blob(repository_.name, file_.etag).string();
    if (auto done = partial_->commit(blob); !done) return disk_error(done.error());
    context_.observer.finished(file_.name, file_.size);
    return {};
  }

  Result<void> wrong_content() {
    partial_->remove();
    return make_error(ErrorCode::kBadFile, file_.name,
                      "{}: checksum {} expected, the server's content has another; the file was removed", label(),
                      file_.etag);
  }

  Error disk_error(const Error& error) const {
    if (error.code != ErrorCode::kResourceExhausted) return error;
    const auto free = free_bytes(context_.cache.root().string());
    return make_error(ErrorCode::kResourceExhausted, file_.name,
                      "{}: the disk is full: {}: {} more needed, {} free; what was downloaded stays and is continued",
                      label(), error.message, readable_bytes(static_cast<double>(file_.size - partial_->size())),
                      free ? readable_bytes(static_cast<double>(*free)) : "?");
  }

  Error cancelled() const { return make_error(ErrorCode::kCancelled, file_.name, "{}: interrupted", label()); }

  Error hub_error_of(const Answer& answer) const {
    return hub_error(answer, context_.transport.settings(), repository_.name, repository_.commit, file_.name);
  }

  Error given_up(const Answer& answer) const {
    Error error = hub_error_of(as_cut(answer));
    error.message +=
        fmt::format("; given up with {} of {} bytes, which stay and are continued", partial_->size(), file_.size);
    return error;
  }

  const DownloadContext& context_;
  const RepositoryInfo& repository_;
  const RepositoryFile& file_;
  std::unique_ptr<PartialFile> partial_;
  ContentHash hash_;
  // Of the response at hand.
  bool accepting_ = false, range_rejected_ = false;
  std::uint64_t dropped_ = 0;
  bool foreign_tag_ = false;  // the server tags files in its own way; its If-Range would never match ours
  std::optional<Error> error_;
};

Result<FileLock> lock_blob(const DownloadContext& context, const RepositoryInfo& repository,
                           const RepositoryFile& file) {
  bool told = false;
  return FileLock::acquire(context.cache.lock(repository.name, file.etag).string(), [&] {
    if (!told) {
      context.observer.note(
          fmt::format("{}: {}: another process downloads it; waiting", repository.name, quote_name(file.name)));
    }
    told = true;
    return !context.observer.cancelled() && context.pause.sleep(kLockPoll);
  });
}

}  // namespace

std::uint64_t partial_bytes(const CacheLayout& cache, const std::string& repository, const RepositoryFile& file) {
  std::error_code error;
  const auto bytes = fs::file_size(partial_path(cache, repository, file), error);
  return error || bytes > file.size ? 0 : bytes;
}

bool blob_is_there(const CacheLayout& cache, const std::string& repository, const RepositoryFile& file) {
  std::error_code error;
  const fs::path blob = cache.blob(repository, file.etag);
  return cache.holds(blob) && fs::file_size(blob, error) == file.size && !error;
}

Result<void> download_file(const DownloadContext& context, const RepositoryInfo& repository,
                           const RepositoryFile& file) {
  const std::uint64_t planned = partial_bytes(context.cache, repository.name, file);
  const auto lock = lock_blob(context, repository, file);
  if (!lock) return lock.error();
  if (blob_is_there(context.cache, repository.name, file)) {  // the other process was at the same file
    context.observer.advanced(static_cast<std::int64_t>(file.size - planned));
    context.observer.finished(file.name, file.size);
    return {};
  }
  auto partial = context.open_partial(partial_path(context.cache, repository.name, file));
  if (!partial) return partial.error();
  // What is there now may differ from what the plan saw.
  context.observer.advanced(static_cast<std::int64_t>((*partial)->size()) - static_cast<std::int64_t>(planned));
  return Download(context, repository, file, *std::move(partial)).run();
}

}  // namespace millrace::hub
