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

// The flags of every command that may download a model.
struct HubFlags {
  bool offline = false, no_progress = false;
  int max_workers = 4;
  double retry_delay = 0.5;  // seconds before the first retry

  void declare(CLI::App& app);           // --offline, --no-progress
  void declare_transfer(CLI::App& app);  // --max-workers, --retry-delay
};

// Hub settings from flags and environment; flags win. Throws LoadError.
hub::HubSettings hub_settings(const HubFlags& flags);
hub::CacheLayout hub_cache();

// Downloads with a progress bar on stderr. Ctrl-C cancels it (kCancelled); the next download continues where it ended.
hub::PullResult pull_model(const hub::HubSettings& settings, const hub::PullRequest& request, const HubFlags& flags);

// The path of a hub model in the cache; downloads it first unless offline. Throws LoadError.
std::string hub_model_path(const hub::RepositoryReference& reference, const HubFlags& flags);

}  // namespace millrace::app
