#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace millrace::loadtest {

// A report above this many bytes is embedded without `itls`, which the page does not need: browsers open it still.
inline constexpr std::size_t kMaxEmbeddedBytes = 30'000'000;

// The page with the report (docs/bench_reports.md) in the place it keeps for it, such that no text of the report can
// end the element it stands in. `page` is report_page() or has its form; CHECKed. What is not UTF-8 becomes U+FFFD.
std::string fill_report_page(std::string_view page, const nlohmann::ordered_json& report,
                             std::size_t max_bytes = kMaxEmbeddedBytes);

// One html file that opens from disk and needs no network. Appears whole or not at all. Throws LoadError where `path`
// cannot be written, and kUnsupported where this build has no page.
void write_html_report(const nlohmann::ordered_json& report, const std::string& path);

}  // namespace millrace::loadtest
