#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>

#include "base/log.h"
#include "cli.h"
#include "command.h"
#include "configuration.h"
#include "progress.h"
#include "rank_process.h"
#include "serve/served_model.h"
#include "server/batch/batch_run.h"
#include "server/service.h"

namespace millrace::commands {
namespace {

constexpr int kEngineFailed = 70;  // EX_SOFTWARE, as of `serve`
constexpr std::size_t kHeldPerRunning = 4;

struct RunBatchFlags {
  app::ServedModelsFlags models;
  std::string input, output;
  std::size_t max_concurrency = 128;
};

// A file of the command line; "-" is a standard stream.
class OpenFile {
 public:
  OpenFile(const std::string& path, int flags, int standard) : owned_(path != "-") {
    fd_ = owned_ ? ::open(path.c_str(), flags | O_CLOEXEC, 0644) : standard;
    if (fd_ >= 0) return;
    const bool reads = (flags & O_ACCMODE) == O_RDONLY;
    throw_load_error(reads ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument, path, "{}: {}", path,
                     std::strerror(errno));
  }
  ~OpenFile() {
    if (owned_) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const noexcept { return fd_; }
  // 0 where there is no telling.
  std::uint64_t size() const noexcept {
    struct stat status{};
    return ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
  }

 private:
  bool owned_;
  int fd_ = -1;
};

void wait_for_model(const server::ModelHost& models) {
  for (;;) {
    const server::ModelStatus first = models.first();
    if (first.state == server::ModelState::kFailed) throw LoadError(first.error);
    if (first.state == server::ModelState::kReady) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

int run_batch(const RunBatchFlags& flags) {
  static_cast<void>(flags.models.engine.config());  // says what is wrong before anything starts
  std::signal(SIGPIPE, SIG_IGN);
  const OpenFile input(flags.input, O_RDONLY, STDIN_FILENO);
  const OpenFile output(flags.output, O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
  server::ObserverConfig quiet;
  quiet.log_requests = false;
  server::observe::LogWriter writer({.colour = log::colour()});
  server::Observers observers(quiet, writer, Env::system());
  auto nobody = server::Access::load("", {}, Env::system().random_seed()).or_throw();
  server::Service service({.version = MILLRACE_VERSION}, std::move(nobody), flags.models.entries(observers), {},
                          observers, Env::system());
  wait_for_model(service.models());
  const TimePoint start = Env::system().now();
  const std::uint64_t size = input.size();
  app::Progress progress(
      "batch", size,
      size == 0 || flags.models.model.hub.no_progress ? app::Progress::Mode::kSilent : app::Progress::Mode::kAuto);
  server::batch::BatchRun run(service, fmt::format("batch_req_{:016x}_", Env::system().random_seed()),
                              {.max_running = flags.max_concurrency,
                               .max_held = flags.max_concurrency * kHeldPerRunning,
                               .gave_up = [&] { return service.engine_failed(); },
                               .progress = [&](std::uint64_t bytes) { progress.update(bytes); }});
  const auto counts = run.run(input.fd(), output.fd());
  if (service.engine_failed()) {
    std::fprintf(stderr, "millrace: an engine has failed\n");
    log::flush();
    ::_exit(kEngineFailed);  // its thread may never end
  }
  if (!counts) throw LoadError(counts.error());
  progress.note(fmt::format("{} requests in {:.1f} s, {} failed", counts->lines,
                            milliseconds_between(start, Env::system().now()) / 1e3, counts->failed));
  return counts->failed > 0 ? 1 : 0;
}

}  // namespace

app::Command run_batch() {
  return {.name = "run-batch",
          .summary = "Run the requests of a file in OpenAI's batch format",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<RunBatchFlags>();
            app.add_option("-i,--input-file", flags->input,
                           "JSONL file of requests, one per line with custom_id, method, url and body; - = stdin")
                ->type_name("FILE")
                ->required();
            app.add_option("-o,--output-file", flags->output,
                           "JSONL file to write results to, one per line in the order of requests; - = stdout")
                ->type_name("FILE")
                ->required();
            app.add_option("--max-concurrency", flags->max_concurrency, "Max requests processed at the same time")
                ->check(CLI::Range(1, 1024));
            flags->models.declare(app);
            app::declare_configuration(app);
            return [flags, &app] {
              if (app::apply_configuration(app)) return 0;
              const std::optional<int> followed = app::follow_as_rank(app);  // the file may ask for it
              return followed ? *followed : run_batch(*flags);
            };
          },
          .example = "millrace run-batch -i requests.jsonl -o results.jsonl default"};
}

}  // namespace millrace::commands
