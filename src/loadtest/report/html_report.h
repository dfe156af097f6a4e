#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace millrace::loadtest {

// Reports above this many bytes are embedded without `itls`, which the page does not need, so that browsers can open
// them.
inline constexpr std::size_t kMaxEmbeddedBytes = 30'000'000;

// The page with the report (docs/bench_reports.md) embedded, escaped so that no text of the report can end the element
// around it. `page` must have the form of report_page(); CHECKed. Invalid UTF-8 becomes U+FFFD.
std::string fill_report_page(std::string_view page, const nlohmann::ordered_json& report,
                             std::size_t max_bytes = kMaxEmbeddedBytes);

// Writes one HTML file that needs no network. The file is complete or absent. Throws LoadError if `path` cannot be
// written, and kUnsupported if this build has no page.
void write_html_report(const nlohmann::ordered_json& report, const std::string& path);

}  // namespace millrace::loadtest
