#pragma once

#include <string>
#include <vector>

#include "hub/cache_layout.h"
#include "hub/pull.h"
#include "hub/settings.h"

namespace CLI {
class App;
}

namespace millrace::app {

// Flags of the commands that may download a model from the Hugging Face hub.
struct HubFlags {
  bool offline = false, no_progress = false;
  int max_workers = 4;       // files downloaded at the same time, [1, 16]
  double retry_delay = 0.5;  // seconds before the first retry, [0, 60]; doubles with each further one
  bool to_log = false;       // progress and notes are lines of the log, and no bar is shown

  void declare(CLI::App& app);           // --offline, --no-progress
  void declare_transfer(CLI::App& app);  // --max-workers, --retry-delay
};

// The settings of the environment variables (hub/settings.h), with --offline and --no-progress applied. Throws
// LoadError.
hub::HubSettings hub_settings(const HubFlags& flags);
// The cache of downloaded models that the environment variables select.
hub::CacheLayout hub_cache();

// Throws LoadError (kUnsupported) saying what to write instead if the reference is a short name of ollama's library,
// which the hub would be asked for in vain.
void refuse_ollama_name(const hub::RepositoryReference& reference);

// Downloads a model with a progress bar on stderr, or lines of the log. Blocks until all files are there. Ctrl-C ends
// the download with kCancelled; the next download continues the partial files. Until it returns, it handles SIGINT and
// ignores SIGPIPE for the whole process. Throws LoadError.
hub::PullResult pull_model(const hub::HubSettings& settings, const hub::PullRequest& request, const HubFlags& flags);

// The path of a model of the hub in the local cache. If the cache lacks the model or parts of it, downloads it, unless
// offline. Throws LoadError.
std::string hub_model_path(const hub::RepositoryReference& reference, const HubFlags& flags);

}  // namespace millrace::app
