#include "bench/load/output_flags.h"

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/log.h"
#include "cli.h"
#include "loadtest/report/html_report.h"
#include "loadtest/report/report_page.h"
#include "loadtest/report/write_reports.h"
#include "option_heading.h"

namespace millrace::bench {
namespace {

std::string utc(const char* format) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, format, &parts));
}

void check(const std::string& flag, const std::string& path) {
  if (path.empty() || path == "-") return;
  const bool there = std::filesystem::exists(path);
  if (!std::ofstream(path, std::ios::app)) {
    throw_load_error(ErrorCode::kInvalidArgument, flag, "{}: {} cannot be written", flag, path);
  }
  std::error_code ignored;
  if (!there) std::filesystem::remove(path, ignored);
}

}  // namespace

void OutputFlags::declare(CLI::App& app) {
  const app::OptionHeading heading(app, "Reports");
  app.add_option("--output", output, "Write the report as JSON to this file; - = stdout, without the table")
      ->type_name("FILE");
  app.add_option("--report", report, "HTML file to write the report to; CSV and Markdown are written beside it")
      ->type_name("FILE");
  app.add_flag("--save-result", save_result, "Write the JSON report to a file named after label, command and time");
  app.add_option("--result-dir", result_dir,
                 "Directory that --save-result and --result-filename write to; default the current one")
      ->type_name("DIR");
  app.add_option("--result-filename", result_filename,
                 "File name of the JSON report, instead of the generated one of --save-result")
      ->type_name("FILE");
  app.add_option("--label", label, "Label of this run in reports");
  app.add_option("--metadata", metadata, "Metadata to store in the report, as NAME=VALUE ...")->expected(1, -1);
  app.add_flag("--disable-tqdm,--no-progress", quiet, "Show no progress while running");
}

std::string OutputFlags::json_path(std::string_view command) const {
  if (!output.empty()) return output;
  if (!save_result && result_filename.empty()) return "";
  const std::string name = !result_filename.empty() ? result_filename
                                                    : fmt::format("{}-{}-{}.json", label.empty() ? "millrace" : label,
                                                                  command, utc("%Y%m%d-%H%M%S"));
  return result_dir.empty() ? name : (std::filesystem::path(result_dir) / name).string();
}

void OutputFlags::check_writable() const {
  check("output", output);
  check("report", report);
  for (const std::string& entry : metadata) {
    if (entry.find('=') == std::string::npos || entry.starts_with('=')) {
      throw_load_error(ErrorCode::kInvalidArgument, "metadata", "metadata is '{}': expected NAME=VALUE", entry);
    }
  }
  if (!report.empty() && loadtest::report_page().empty()) {
    throw_load_error(ErrorCode::kUnsupported, "report",
                     "report: this build has no report page, as it was built without npm; --output writes the JSON");
  }
}

Json OutputFlags::complete(std::string_view command, Json body) const {
  Json whole = new_report(command, static_cast<int>(cpu_info().logical_cpus), detect_isa());
  whole["command"] = command_line();
  whole["date"] = utc("%Y-%m-%dT%H:%M:%SZ");
  whole["label"] = label.empty() ? Json(nullptr) : Json(label);
  for (const std::string& entry : metadata) {
    const std::size_t equals = entry.find('=');
    whole["metadata"][entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  for (auto& [name, value] : body.items()) whole[name] = std::move(value);
  return whole;
}

void OutputFlags::write(std::string_view command, const Json& report_json) const {
  const std::string path = json_path(command);
  write_report({.json = path}, report_json);
  if (!path.empty() && path != "-") fmt::print(stderr, "JSON: {}\n", path);
  if (report.empty()) return;
  loadtest::write_html_report(report_json, report);
  loadtest::report::write_beside(report_json, report);
  fmt::print(stderr, "report: {}\n", report);
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\0', at), text.size());
    std::string word = text.substr(at, end - at);
    at = end + 1;
    const bool secret = !words.empty() && (words.back() == "--api-key" || words.back() == "--header");
    for (const std::string_view flag : {"--api-key=", "--header="}) {
      if (word.starts_with(flag)) word = std::string(flag) + "...";
    }
    words.push_back(secret ? "..." : std::move(word));
  }
  return words;
}

}  // namespace millrace::bench
