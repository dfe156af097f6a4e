#pragma once

#include <string>
#include <vector>

#include "bench/report.h"

namespace CLI {
class App;
}

namespace millrace::bench {

// Flags of the files of a report: --output for JSON, --report for an HTML page with CSV and Markdown files beside
// it.
struct OutputFlags {
  std::string output, report, label;
  std::vector<std::string> metadata;  // NAME=VALUE each
  bool save_result = false, quiet = false;
  std::string result_dir, result_filename;  // vLLM's way to say --output

  void declare(CLI::App& app);
  // Throws LoadError naming the flag if a file cannot be written, metadata has no '=', or this build has no report page
  // (kUnsupported). Does not check the file of --save-result. Call it before a long measurement.
  void check_writable() const;
  bool table() const noexcept { return output != "-"; }
  // The path of the JSON report; empty: none. A generated name has the current second in it, so call it once.
  std::string json_path(std::string_view command) const;

  // `body` behind the members that every report has (docs/bench_reports.md, "All").
  Json complete(std::string_view command, Json body) const;
  // Writes all files that the flags name and prints their paths on stderr. Throws LoadError naming the file.
  void write(std::string_view command, const Json& report) const;
};

// The command line of this process. Values of --api-key and --header are replaced by "...".
std::vector<std::string> command_line();

}  // namespace millrace::bench
