#pragma once

#include <string>
#include <vector>

#include "bench/report.h"

namespace CLI {
class App;
}

namespace millrace::bench {

// Where the report of a load is written: --output as JSON, --report as a page with SVG, CSV and Markdown files.
struct OutputFlags {
  std::string output, report, label;
  std::vector<std::string> metadata;  // "name=value"
  bool save_result = false, quiet = false;
  std::string result_dir, result_filename;  // vLLM's flags for --output

  void declare(CLI::App& app);
  // Throws LoadError if a file cannot be written. Call it before measuring.
  void check_writable() const;
  bool table() const noexcept { return output != "-"; }
  // The path of the JSON file; "" = none.
  std::string json_path(std::string_view command) const;

  // Puts the fields that every report has (docs/bench_reports.md, "All") in front.
  Json complete(std::string_view command, Json body) const;
  // Writes all requested files, and prints their paths to stderr. Throws LoadError naming the file.
  void write(std::string_view command, const Json& report) const;
};

// The command line of this process with what follows --api-key and --header left out.
std::vector<std::string> command_line();

}  // namespace millrace::bench
