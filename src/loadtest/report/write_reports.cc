#include "loadtest/report/write_reports.h"

#include <span>
#include <string_view>
#include <utility>

#include "base/output_file.h"
#include "loadtest/report/csv.h"
#include "loadtest/report/markdown.h"

namespace millrace::loadtest::report {
namespace {

void write(const std::string& path, const std::string& text) {
  OutputFile file = OutputFile::create(path).or_throw();
  file.write(std::as_bytes(std::span(text))).or_throw();
  file.commit(false).or_throw();
}

}  // namespace

std::vector<std::string> write_beside(const Json& report, const std::string& html_or_stem) {
  std::string stem = html_or_stem;
  for (const std::string_view ending : {".html", ".json"}) {
    if (stem.ends_with(ending)) stem.resize(stem.size() - ending.size());
  }
  std::vector<std::pair<std::string, std::string>> files;
  files.emplace_back(stem + ".csv", csv_of(report));
  files.emplace_back(stem + ".md", markdown_of(report));
  std::vector<std::string> written;
  for (const auto& [path, text] : files) {
    if (text.empty()) continue;
    write(path, text);
    written.push_back(path);
  }
  return written;
}

}  // namespace millrace::loadtest::report
