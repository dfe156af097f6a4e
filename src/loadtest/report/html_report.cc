#include "loadtest/report/html_report.h"

#include <span>

#include "base/check.h"
#include "base/error.h"
#include "base/output_file.h"
#include "loadtest/report/report_page.h"

namespace millrace::loadtest {
namespace {

constexpr std::string_view kReportPlace = "\"MILLRACE_REPORT\"";

// JSON that is the same to a parser and harmless inside a script element: without "<" there is no "</script" and no
// "<!--". U+2028 and U+2029, which end a line of JavaScript, are for who pastes it there.
std::string embedded(const nlohmann::ordered_json& report) {
  const std::string json = report.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string text;
  text.reserve(json.size() + json.size() / 64);
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = std::string_view(json).substr(i, 3);
    if (json[i] == '<') {
      text += "\\u003c";
    } else if (rest == "\u2028" || rest == "\u2029") {
      text += rest == "\u2028" ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      text += json[i];
    }
  }
  return text;
}

}  // namespace

std::string fill_report_page(std::string_view page, const nlohmann::ordered_json& report, std::size_t max_bytes) {
  const std::size_t place = page.find(kReportPlace);
  CHECK(place != std::string_view::npos);
  CHECK(page.find(kReportPlace, place + 1) == std::string_view::npos);
  std::string json = embedded(report);
  if (json.size() > max_bytes && report.contains("itls")) {
    nlohmann::ordered_json shorter = report;
    shorter["itls"] = nullptr;
    json = embedded(shorter);
  }
  std::string filled;
  filled.reserve(page.size() + json.size());
  filled.append(page.substr(0, place)).append(json).append(page.substr(place + kReportPlace.size()));
  return filled;
}

void write_html_report(const nlohmann::ordered_json& report, const std::string& path) {
  if (report_page().empty()) {
    throw_load_error(ErrorCode::kUnsupported, path, "{}: this build has no report page: it was built without npm",
                     path);
  }
  const std::string html = fill_report_page(report_page(), report);
  auto file = OutputFile::create(path);
  if (!file) throw LoadError(file.error());
  for (const auto& done : {file->write(std::as_bytes(std::span(html))), file->commit(false)}) {
    if (!done) throw LoadError(done.error());
  }
}

}  // namespace millrace::loadtest
