#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli.h"
#include "command.h"
#include "hub/cache_removal.h"
#include "hub/model_lookup.h"
#include "hub_access.h"
#include "printable.h"
#include "progress.h"

namespace millrace::commands {
namespace {

using Json = nlohmann::ordered_json;

struct RmFlags {
  std::string reference;
  bool yes = false, json = false;
};

hub::RepositoryReference parse(const std::string& reference) {
  const auto path = hub::find_path(reference);
  if (reference == "default" || !path || *path) {
    throw_load_error(ErrorCode::kInvalidArgument, "model",
                     "{}: only models of the Hugging Face cache are removed; delete other files by hand", reference);
  }
  return hub::parse_reference(reference).or_throw();
}

void describe(const hub::Removal& removal) {
  for (const hub::CachedModel& model : removal.models) {
    std::fprintf(stderr, "%s  %s\n", app::printable(model.reference).c_str(),
                 app::readable_bytes(static_cast<double>(model.bytes)).c_str());
  }
  std::fprintf(stderr, "%s%s: frees %s\n", app::printable(removal.repository).c_str(),
               removal.whole ? ", all of it" : "", app::readable_bytes(static_cast<double>(removal.bytes)).c_str());
}

bool confirmed() {
  std::fprintf(stderr, "Remove? [y/N] ");
  const int answer = std::getchar();
  return answer == 'y' || answer == 'Y';
}

int rm(const RmFlags& flags) {
  const hub::RepositoryReference reference = parse(flags.reference);
  const hub::CacheLayout cache = app::hub_cache();
  const hub::Removal removal = hub::plan_removal(cache, reference).or_throw();
  if (!flags.yes) {
    describe(removal);
    if (isatty(STDIN_FILENO) != 1) {
      throw_load_error(ErrorCode::kInvalidArgument, "yes", "not a terminal: nothing was removed; --yes does it");
    }
    if (!confirmed()) return 1;
  }
  const std::uint64_t freed = hub::remove(cache, removal).or_throw();
  if (flags.json) {
    std::vector<std::string> models;
    for (const hub::CachedModel& model : removal.models) models.push_back(model.reference);
    const Json report = {
        {"repository", removal.repository}, {"whole", removal.whole}, {"models", models}, {"freed_bytes", freed}};
    std::printf("%s\n", report.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    std::printf("removed %s, freed %s\n", app::printable(reference.text()).c_str(),
                app::readable_bytes(static_cast<double>(freed)).c_str());
  }
  return 0;
}

}  // namespace

app::Command rm() {
  return {.name = "rm",
          .summary = "Remove a model from the Hugging Face cache",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<RmFlags>();
            app.add_option("model", flags->reference,
                           "What to remove from the cache: org/name (everything), org/name:quantization (one model) or "
                           "org/name@revision (one snapshot)")
                ->required();
            app.add_flag("-y,--yes", flags->yes, "Remove without asking for confirmation");
            app.add_flag("--json", flags->json, "Print the result as one JSON object");
            return [flags] { return rm(*flags); };
          },
          .example = "millrace rm bartowski/SmolLM2-135M-Instruct-GGUF:Q4_K_M"};
}

}  // namespace millrace::commands
