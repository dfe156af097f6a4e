#include "loadtest/report/svg_canvas.h"

#include <fmt/core.h>

#include <iterator>

namespace millrace::loadtest::report {
namespace {

// The colours of series are those of Okabe and Ito 2008, which people with any colour vision tell apart; black is left
// out and the yellow darkened on light pages.
constexpr std::string_view kStyle = R"(<style>
svg{--page:#ffffff;--ink:#1f2328;--faint:#59636e;--grid:#e4e8ec;--axis:#8c959f;
--s0:#0072b2;--s1:#d55e00;--s2:#009e73;--s3:#b85c92;--s4:#b78a00;--s5:#3a9bd0;--s6:#6e5494;--s7:#59636e}
@media (prefers-color-scheme:dark){svg{--page:#0d1117;--ink:#e6edf3;--faint:#9198a1;--grid:#262c36;--axis:#656c76;
--s0:#58a6e0;--s1:#f08a48;--s2:#3fc79a;--s3:#d98cba;--s4:#e3c34a;--s5:#86cdf5;--s6:#a98fd0;--s7:#9198a1}}
text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;fill:var(--ink)}
.title{font-size:15px;font-weight:600}.tick,.note{font-size:11px;fill:var(--faint)}
.page{fill:var(--page)}.grid{stroke:var(--grid)}.axis{stroke:var(--axis)}
.mark{stroke:var(--faint);stroke-dasharray:4 3}
.line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.band{fill:var(--c);fill-opacity:.18;stroke:none}.bar{fill:var(--c);fill-opacity:.85}
.whisker{stroke:var(--c);stroke-width:2}.error{stroke:var(--ink);stroke-width:1.5}
.dot{fill:var(--c);stroke:var(--page);stroke-width:1.5}.hollow{fill:var(--page);stroke:var(--c);stroke-width:2}
.s0{--c:var(--s0)}.s1{--c:var(--s1)}.s2{--c:var(--s2)}.s3{--c:var(--s3)}
.s4{--c:var(--s4)}.s5{--c:var(--s5)}.s6{--c:var(--s6)}.s7{--c:var(--s7)}
</style>
)";
constexpr std::size_t kSeriesColours = 8;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

constexpr const char* kAnchors[] = {"start", "middle", "end"};

}  // namespace

SvgCanvas::SvgCanvas(double width, double height, std::string_view title) {
  text_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" "
      "role=\"img\">\n"
      "<title>{2}</title>\n",
      width, height, escaped(title));
  text_ += kStyle;
  rectangle(0, 0, width, height, "page");
  text(16, 24, title, Anchor::kStart, "title");
}

void SvgCanvas::line(double x1, double y1, double x2, double y2, std::string_view style) {
  fmt::format_to(std::back_inserter(text_),
                 "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2, y2,
                 style);
}

void SvgCanvas::path(const std::vector<std::pair<double, double>>& points, std::string_view style, bool closed) {
  if (points.empty()) return;
  text_ += "<path d=\"";
  for (std::size_t i = 0; i < points.size(); ++i) {
    fmt::format_to(std::back_inserter(text_), "{}{:.1f} {:.1f}",
                   i == 0   ? "M"
                   : i == 1 ? "L"
                            : " ",
                   points[i].first, points[i].second);
  }
  fmt::format_to(std::back_inserter(text_), "{}\" class=\"{}\"/>\n", closed ? "Z" : "", style);
}

void SvgCanvas::rectangle(double x, double y, double width, double height, std::string_view style) {
  fmt::format_to(std::back_inserter(text_),
                 "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"/>\n", x, y, width,
                 height, style);
}

void SvgCanvas::circle(double x, double y, double radius, std::string_view style, std::string_view tooltip) {
  fmt::format_to(std::back_inserter(text_), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:g}\" class=\"{}\"", x, y, radius,
                 style);
  text_ += tooltip.empty() ? "/>\n" : fmt::format("><title>{}</title></circle>\n", escaped(tooltip));
}

void SvgCanvas::text(double x, double y, std::string_view text, Anchor anchor, std::string_view style) {
  fmt::format_to(std::back_inserter(text_),
                 "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", x, y,
                 kAnchors[static_cast<int>(anchor)], style, escaped(text));
}

void SvgCanvas::upright_text(double x, double y, std::string_view text) {
  fmt::format_to(std::back_inserter(text_),
                 "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n", x, y,
                 escaped(text));
}

std::string SvgCanvas::str() && { return std::move(text_) + "</svg>\n"; }

std::string series_class(std::size_t series) { return "s" + std::to_string(series % kSeriesColours); }

}  // namespace millrace::loadtest::report
