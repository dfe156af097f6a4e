#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/readable_bytes.h"
#include "bench/table.h"
#include "cli.h"
#include "command.h"
#include "model/adapters/adapter_listing.h"
#include "printable.h"

namespace millrace::lora::commands {
namespace {

using Json = nlohmann::ordered_json;

int list(const std::string& directory, bool json) {
  const std::vector<model::ListedAdapter> adapters = model::list_adapters(Env::system(), directory);
  Json all = Json::array();
  bench::Table table({{"name", true}, {"kind", true}, {"rank"}, {"modules"}, {"size"}, {"base", true}});
  for (const model::ListedAdapter& one : adapters) {
    all.push_back({{"name", one.name},
                   {"path", one.path},
                   {"kind", one.kind},
                   {"rank", one.rank},
                   {"modules", one.modules},
                   {"bytes", one.bytes},
                   {"base_model_name_or_path", one.base},
                   {"problem", one.problem}});
    table.add({app::printable(one.name), app::printable(one.kind), std::to_string(one.rank),
               std::to_string(one.modules), readable_bytes(static_cast<double>(one.bytes)), app::printable(one.base)});
  }
  if (json) {
    std::printf("%s\n", Json{{"adapters", all}}.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    return 0;
  }
  std::fputs(table.str().c_str(), stdout);
  for (const model::ListedAdapter& one : adapters) {
    if (!one.problem.empty()) std::fprintf(stderr, "%s\n", app::printable(one.problem).c_str());
  }
  return 0;
}

}  // namespace

app::Command list() {
  return {
      .name = "list",
      .summary = "List the adapters in a directory",
      .configure = [](CLI::App& app) -> std::function<int()> {
        auto directory = std::make_shared<std::string>();
        auto json = std::make_shared<bool>(false);
        app.add_option("directory", *directory, "Directory of adapters, or one of them")->type_name("DIR")->required();
        app.add_flag("--json", *json, "Print the result as one JSON object");
        return [directory, json] { return list(*directory, *json); };
      },
      .example = "millrace lora list adapters"};
}

}  // namespace millrace::lora::commands
