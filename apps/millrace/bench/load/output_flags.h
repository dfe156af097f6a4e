#pragma once

#include <string>
#include <vector>

#include "bench/report.h"

namespace CLI {
class App;
}

namespace millrace::bench {

// Where the report of a load goes: --output as JSON, --report as a page with SVG, CSV and Markdown beside it.
struct OutputFlags {
  std::string output, report, label;
  std::vector<std::string> metadata;  // "name=value"
  bool save_result = false, quiet = false;
  std::string result_dir, result_filename;  // vLLM's way to say --output

  void declare(CLI::App& app);
  // Before an hour of work: throws LoadError where a file could not be written.
  void check_writable() const;
  bool table() const noexcept { return output != "-"; }
  // The path of the JSON, "" = none.
  std::string json_path(std::string_view command) const;

  // Adds what every report holds (docs/bench_reports.md, "All") in front.
  Json complete(std::string_view command, Json body) const;
  // Writes all that is asked for, and says on stderr what lies where. Throws LoadError naming the file.
  void write(std::string_view command, const Json& report) const;
};

// The command line of this process with what follows --api-key and --header left out.
std::vector<std::string> command_line();

}  // namespace millrace::bench
