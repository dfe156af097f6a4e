#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "base/error.h"
#include "bench/load/output_flags.h"
#include "cli.h"
#include "command.h"

namespace millrace::bench::commands {
namespace {

struct ReportCommandFlags {
  std::string file;
  OutputFlags output;
};

int report(const ReportCommandFlags& flags) {
  std::ifstream stream(flags.file);
  const Json json = Json::parse(stream, nullptr, false);
  const std::string schema = json.is_object() ? json.value("schema", "") : "";
  const auto is_its = [&](std::string_view command) { return schema == fmt::format("millrace.bench.{}", command); };
  if (std::ranges::none_of(std::array{"serve", "sweep", "compare", "peers"}, is_its)) {
    throw_load_error(ErrorCode::kBadFile, "file", "{}: no JSON of `millrace bench serve`, sweep, compare or peers",
                     flags.file);
  }
  flags.output.check_writable();
  flags.output.write(schema, json);
  return 0;
}

}  // namespace

app::Command report() {
  return {.name = "report",
          .summary = "Write HTML, CSV and Markdown from an existing JSON report",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<ReportCommandFlags>();
            app.add_option("file", flags->file, "JSON report of bench serve, sweep, compare or peers")
                ->type_name("FILE")
                ->required();
            app.add_option("--report", flags->output.report,
                           "HTML file to write the report to; CSV and Markdown are written beside it")
                ->type_name("FILE")
                ->required();
            return [flags] { return report(*flags); };
          },
          .example = "millrace bench report run.json --report run.html"};
}

}  // namespace millrace::bench::commands
