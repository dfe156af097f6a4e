#include <cstdio>
#include <nlohmann/json.hpp>

#include "checkpoint/quote_name.h"
#include "cli.h"
#include "command.h"
#include "hub/model_lookup.h"
#include "hub_access.h"
#include "printable.h"
#include "progress.h"

namespace millrace::commands {
namespace {

using Json = nlohmann::ordered_json;

struct PullFlags {
  app::HubFlags hub;
  std::string reference, revision;
  std::vector<std::string> include;
  bool json = false, dry_run = false;
};

hub::RepositoryReference parse(const PullFlags& flags) {
  if (flags.reference == "default") {
    throw_load_error(ErrorCode::kInvalidArgument, "model",
                     "the default model is not on the hub: ./dev setup places it");
  }
  hub::RepositoryReference reference = hub::parse_reference(flags.reference).or_throw();
  if (flags.revision.empty()) return reference;
  if (reference.names_revision && reference.revision != flags.revision) {
    throw_load_error(ErrorCode::kInvalidArgument, "revision", "two revisions: {} and {}",
                     checkpoint::quote_name(reference.revision), checkpoint::quote_name(flags.revision));
  }
  if (!hub::is_revision(flags.revision)) {
    throw_load_error(ErrorCode::kInvalidArgument, "revision", "--revision {}: a branch, tag or commit expected",
                     checkpoint::quote_name(flags.revision));
  }
  reference.revision = flags.revision;
  reference.names_revision = true;
  return reference;
}

Json describe(const hub::RepositoryReference& reference, const hub::PullResult& result) {
  Json files = Json::array();
  for (const hub::PulledFile& file : result.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"present", file.present}});
  }
  return {{"repository", reference.name},
          {"revision", reference.revision},
          {"commit", result.commit},
          {"format", to_string(result.choice.format)},
          {"quantization", result.choice.quantization.empty() ? Json(nullptr) : Json(result.choice.quantization)},
          {"path", result.path},
          {"files", files},
          {"total_bytes", result.total_bytes},
          {"fetched_bytes", result.fetched_bytes}};
}

void print_json(const Json& json) {
  std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

void print_plan(const hub::PullResult& result) {
  for (const hub::PulledFile& file : result.files) {
    std::printf("%10s  %s%s\n", app::readable_bytes(static_cast<double>(file.bytes)).c_str(),
                app::printable(file.name).c_str(), file.present ? "  (in the cache)" : "");
  }
  std::printf("%10s  to download of %s\n", app::readable_bytes(static_cast<double>(result.fetched_bytes)).c_str(),
              app::readable_bytes(static_cast<double>(result.total_bytes)).c_str());
}

int pull(const PullFlags& flags) {
  const hub::RepositoryReference reference = parse(flags);
  const hub::HubSettings settings = app::hub_settings(flags.hub);
  if (settings.offline && !flags.dry_run) {
    const std::string path = hub::find_cached(app::hub_cache(), reference).or_throw();
    if (flags.json) {
      print_json({{"repository", reference.name}, {"revision", reference.revision}, {"path", path}});
    } else {
      std::printf("%s\n", path.c_str());
    }
    return 0;
  }
  const hub::PullResult result = app::pull_model(settings,
                                                 {.reference = reference,
                                                  .max_workers = flags.hub.max_workers,
                                                  .include = flags.include,
                                                  .dry_run = flags.dry_run},
                                                 flags.hub);
  if (flags.json) {
    print_json(describe(reference, result));
  } else if (flags.dry_run) {
    print_plan(result);
  } else {
    std::printf("%s\n", result.path.c_str());
  }
  return 0;
}

}  // namespace

app::Command pull() {
  return {.name = "pull",
          .summary = "Download a model from the Hugging Face hub and print its path",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<PullFlags>();
            app.add_option("model", flags->reference,
                           "Model on the Hugging Face hub: org/name[:quantization|:file][@revision]")
                ->required();
            app.add_option("--revision", flags->revision,
                           "Branch, tag or commit to download, as after '@' in the model argument");
            app.add_option("--include", flags->include,
                           "Also download files that match this pattern, e.g. 'mmproj-*.gguf'; may be repeated")
                ->type_name("GLOB")
                ->take_all()
                ->allow_extra_args(false);
            app.add_flag("--dry-run", flags->dry_run, "List the files that would be downloaded, and download none");
            app.add_flag("--json", flags->json, "Print the result as one JSON object");
            flags->hub.declare(app);
            flags->hub.declare_transfer(app);
            return [flags] { return pull(*flags); };
          },
          .example = "millrace pull bartowski/SmolLM2-135M-Instruct-GGUF:Q4_K_M"};
}

}  // namespace millrace::commands
