#pragma once

#include <cstddef>
#include <string_view>

namespace millrace::loadtest {

// web/report as one html file, which holds the word of kReportPlace in html_report.cc once; "" where this build has
// none (it was built without npm). Lives as long as the program.
std::string_view report_page() noexcept;

}  // namespace millrace::loadtest
