#pragma once

#include <cstddef>
#include <string_view>

namespace millrace::loadtest {

// The page of web/report as one HTML file, which contains kReportPlace of html_report.cc once. "" if this build has
// none (it was built without npm). Lives as long as the program.
std::string_view report_page() noexcept;

}  // namespace millrace::loadtest
