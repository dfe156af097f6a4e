#include "hub_access.h"

#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include "base/log.h"
#include "cli.h"
#include "http/client/curl_client.h"
#include "hub/model_address.h"
#include "hub/model_lookup.h"
#include "option_heading.h"
#include "printable.h"
#include "progress.h"

namespace millrace::app {
namespace {

using std::chrono::milliseconds;

volatile std::sig_atomic_t interrupted = 0;

// While it lives, Ctrl-C asks the download to end; a second one ends the program as ever. A server that closes a TLS
// connection while we write is an error of ours to handle, not a signal.
class InterruptScope {
 public:
  InterruptScope() {
    interrupted = 0;
    struct sigaction action{};
    action.sa_handler = [](int) { interrupted = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, &before_);
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &pipe_before_);
  }
  ~InterruptScope() {
    sigaction(SIGINT, &before_, nullptr);
    sigaction(SIGPIPE, &pipe_before_, nullptr);
  }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  struct sigaction before_{}, pipe_before_{};
};

class RealPause final : public hub::Pause {
 public:
  std::chrono::system_clock::time_point now() const override { return std::chrono::system_clock::now(); }
  bool sleep(milliseconds time) override {
    constexpr milliseconds kSlice{50};
    for (; time.count() > 0; time -= kSlice) {
      if (interrupted != 0) return false;
      std::this_thread::sleep_for(std::min(time, kSlice));
    }
    return interrupted == 0;
  }
};

// One bar over the bytes of all files; where stderr is no terminal, a line for each file.
class BarObserver final : public hub::PullObserver {
 public:
  explicit BarObserver(bool silent)
      : mode_(silent ? Progress::Mode::kSilent : Progress::Mode::kAuto),
        lines_(!silent && isatty(STDERR_FILENO) != 1) {}

  void planned(const std::string& what, std::uint64_t total, std::uint64_t present) override {
    const std::lock_guard lock(mutex_);
    done_ = static_cast<std::int64_t>(present);
    if (present < total) bar_.emplace(printable(what), total, mode_, present);
  }
  void advanced(std::int64_t bytes) override {
    const std::lock_guard lock(mutex_);
    done_ += bytes;
    if (bar_) bar_->update(static_cast<std::uint64_t>(std::max<std::int64_t>(done_, 0)));
  }
  void finished(const std::string& file, std::uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    if (lines_) write(fmt::format("{}  {}", printable(file), readable_bytes(static_cast<double>(bytes))));
  }
  void note(const std::string& text) override {
    const std::lock_guard lock(mutex_);
    write("millrace: " + printable(text));
  }
  bool cancelled() const override { return interrupted != 0; }

 private:
  void write(const std::string& text) {
    if (bar_) return bar_->note(text);
    std::fprintf(stderr, "%s\n", text.c_str());
  }

  const Progress::Mode mode_;
  const bool lines_;
  std::mutex mutex_;
  std::optional<Progress> bar_;  // guarded by mutex_, as what follows
  std::int64_t done_ = 0;
};

// Lines of the log: at most every 5 seconds one of progress.
class LogObserver final : public hub::PullObserver {
 public:
  explicit LogObserver(bool silent) : silent_(silent) {}

  void planned(const std::string& what, std::uint64_t total, std::uint64_t present) override {
    const std::lock_guard lock(mutex_);
    what_ = what;
    total_ = static_cast<double>(total);
    done_ = static_cast<double>(present);
    if (present < total) log::info("{}: downloading {}", what, readable_bytes(total_ - done_));
  }
  void advanced(std::int64_t bytes) override {
    const std::lock_guard lock(mutex_);
    done_ += static_cast<double>(bytes);
    const TimePoint now = Env::system().now();
    if (silent_ || milliseconds_between(told_, now) < kPeriodMs) return;
    told_ = now;
    log::info("{}: {:.0f} % of {} are there", what_, 100.0 * done_ / std::max(total_, 1.0), readable_bytes(total_));
  }
  void finished(const std::string& file, std::uint64_t bytes) override {
    log::info("{}: downloaded, {}", file, readable_bytes(static_cast<double>(bytes)));
  }
  void note(const std::string& text) override { log::warn("{}", text); }
  bool cancelled() const override { return interrupted != 0; }

 private:
  static constexpr double kPeriodMs = 5'000.0;
  const bool silent_;
  std::mutex mutex_;  // guards what follows
  std::string what_;
  double total_ = 0.0, done_ = 0.0;  // bytes
  TimePoint told_ = Env::system().now();
};

std::unique_ptr<hub::PullObserver> make_observer(const HubFlags& flags, bool silent) {
  if (flags.to_log) return std::make_unique<LogObserver>(silent);
  return std::make_unique<BarObserver>(silent);
}

const char* read_environment(const char* name) { return std::getenv(name); }

}  // namespace

void HubFlags::declare(CLI::App& app) {
  const OptionHeading heading(app, "Download");
  app.add_flag("--offline", offline, "Never use the network; models outside the local cache are not found")
      ->envname("MILLRACE_OFFLINE");
  app.add_flag("--no-progress", no_progress, "Show no progress bar while a model is downloaded")
      ->envname("MILLRACE_NO_PROGRESS");
}

void HubFlags::declare_transfer(CLI::App& app) {
  const OptionHeading heading(app, "Download");
  app.add_option("--max-workers", max_workers, "Max files downloaded at the same time")
      ->envname("MILLRACE_MAX_WORKERS")
      ->check(CLI::Range(1, 16));
  app.add_option("--retry-delay", retry_delay,
                 "Seconds before a failed download request is retried; doubles with each further retry")
      ->envname("MILLRACE_RETRY_DELAY")
      ->check(CLI::Range(0.0, 60.0));
}

hub::HubSettings hub_settings(const HubFlags& flags) {
  hub::HubSettings settings = hub::hub_settings(read_environment, Env::system()).or_throw();
  if (flags.offline) settings.offline = true;
  if (flags.no_progress) settings.progress = false;
  return settings;
}

hub::CacheLayout hub_cache() { return hub::CacheLayout(hub::huggingface_cache_root(read_environment)); }

void refuse_ollama_name(const hub::RepositoryReference& reference) {
  const auto instead = reference.names_hub ? std::nullopt : hub::ollama_name(reference.text());
  if (!instead) return;
  throw_load_error(ErrorCode::kUnsupported, "model", "model '{}': {}; hf://{} asks the hub all the same",
                   reference.text(), *instead, reference.text());
}

hub::PullResult pull_model(const hub::HubSettings& settings, const hub::PullRequest& request, const HubFlags& flags) {
  refuse_ollama_name(request.reference);
  const auto client = http::make_curl_client({.user_agent = "millrace/" MILLRACE_VERSION,
                                              .ca_file = settings.ca_file,
                                              .stalled_seconds = settings.stalled_seconds});
  const InterruptScope scope;
  RealPause pause;
  const auto observer = make_observer(flags, !settings.progress);
  const hub::PullWorld world{
      .client = *client,
      .pause = pause,
      .observer = *observer,
      .retry = {.first_delay = milliseconds(static_cast<std::int64_t>(flags.retry_delay * 1000.0)),
                .seed = Env::system().random_seed()}};
  return hub::pull(settings, request, world).or_throw();
}

std::string hub_model_path(const hub::RepositoryReference& reference, const HubFlags& flags) {
  auto cached = hub::find_cached(hub_cache(), reference);
  if (cached) return *std::move(cached);
  // Absent, or only in part: other programs fetch a tokenizer or a configuration alone. The rest is the user's to see:
  // a download makes no ambiguous name clearer.
  const ErrorCode code = cached.error().code;
  if (code != ErrorCode::kNotFound && code != ErrorCode::kUnsupported) throw LoadError(cached.error());
  refuse_ollama_name(reference);
  const hub::HubSettings settings = hub_settings(flags);
  if (settings.offline) {
    Error error = cached.error();
    error.message += " (offline: nothing is downloaded)";
    throw LoadError(error);
  }
  const std::string asking = fmt::format("{} is not in the cache: asking {}", reference.text(), settings.endpoint);
  flags.to_log ? log::info("{}", asking) : fmt::print(stderr, "millrace: {}\n", printable(asking));
  try {
    return pull_model(settings, {.reference = reference, .max_workers = flags.max_workers}, flags).path;
  } catch (const LoadError& failure) {
    if (failure.error().code == ErrorCode::kCancelled) throw;
    Error error = failure.error();
    error.message +=
        fmt::format("; it is not in the cache either: looked for {}", hub_cache().repository(reference.name).string());
    throw LoadError(error);
  }
}

}  // namespace millrace::app
