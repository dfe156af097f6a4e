#include "chat/jinja/text_ops.h"

#include <algorithm>

#include "chat/jinja/unicode.h"

namespace millrace::chat::jinja {
namespace {

std::size_t previous_character(std::string_view text, std::size_t offset) {
  do --offset;
  while (offset > 0 && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80);
  return offset;
}

bool is_sigma_final(std::string_view text, std::size_t sigma_at, std::size_t after) {
  bool cased_before = false;
  for (std::size_t i = sigma_at; i > 0 && !cased_before;) {
    i = previous_character(text, i);
    std::size_t at = i;
    const char32_t c = next_code_point(text, at);
    if (c == '\'' || c == '.' || c == ':' || c == 0xAD || c == 0x2019) continue;  // case-ignorable
    if (!is_cased(c)) break;
    cased_before = true;
  }
  while (after < text.size()) {
    const char32_t c = next_code_point(text, after);
    if (c == '\'' || c == '.' || c == ':' || c == 0xAD || c == 0x2019) continue;
    return cased_before && !is_cased(c);
  }
  return cased_before;
}

// Walks the separators of white space, calling part(from, to) for each word; stops when it returns false.
template <typename Part>
void for_each_word(std::string_view text, Part part) {
  for (std::size_t i = 0; i < text.size();) {
    std::size_t start = i;
    if (is_space(next_code_point(text, i))) continue;
    std::size_t end = i;
    while (end < text.size()) {
      std::size_t next = end;
      if (is_space(next_code_point(text, next))) break;
      end = next;
    }
    if (!part(start, end)) return;
    i = end;
  }
}

std::size_t skip_space_back(std::string_view text, std::size_t i) {
  while (i > 0) {
    const std::size_t at = previous_character(text, i);
    std::size_t next = at;
    if (!is_space(next_code_point(text, next))) break;
    i = at;
  }
  return i;
}

std::vector<Value> split_words(Budget& budget, const Text& text, std::int64_t limit) {
  std::vector<Value> parts;
  for_each_word(text.view(), [&](std::size_t from, std::size_t to) {
    const bool last = limit >= 0 && static_cast<std::int64_t>(parts.size()) == limit;
    parts.push_back(substring(budget, text, from, last ? text.size() : to));
    return !last;
  });
  return parts;
}

std::vector<Value> split_words_from_right(Budget& budget, const Text& text, std::int64_t limit) {
  std::vector<Value> parts;
  std::size_t end = skip_space_back(text.view(), text.size());
  while (end > 0) {
    if (limit >= 0 && static_cast<std::int64_t>(parts.size()) == limit) {
      parts.push_back(substring(budget, text, 0, end));
      break;
    }
    std::size_t start = end;
    while (start > 0) {
      std::size_t at = previous_character(text.view(), start);
      std::size_t next = at;
      if (is_space(next_code_point(text.view(), next))) break;
      start = at;
    }
    parts.push_back(substring(budget, text, start, end));
    end = skip_space_back(text.view(), start);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

Text substring(Budget& budget, const Text& text, std::size_t from, std::size_t to) {
  if (from == 0 && to == text.size()) return text;
  budget.step();
  TextBuilder out(budget);
  out.append(text, from, to);
  return out.take();
}

Text concatenate(Budget& budget, const Text& a, const Text& b) {
  if (b.empty()) return a;
  if (a.empty()) return b;
  TextBuilder out(budget);
  out.append(a);
  out.append(b);
  return out.take();
}

Text repeat(Budget& budget, const Text& text, std::int64_t count) {
  TextBuilder out(budget);
  if (text.empty()) return {};
  for (std::int64_t i = 0; i < count; ++i) {
    budget.step();
    out.append(text);
  }
  return out.take();
}

Text slice(Budget& budget, const Text& text, std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step == 1) {
    if (start >= stop) return {};
    if (!text.ascii()) budget.scan(text.size());
    return substring(budget, text, text.offset_of(static_cast<std::size_t>(start)),
                     text.offset_of(static_cast<std::size_t>(stop)));
  }
  std::vector<std::size_t> offsets;  // of every character, and the end
  budget.scan(text.size());
  for (std::size_t i = 0; i < text.size(); next_code_point(text.view(), i)) offsets.push_back(i);
  offsets.push_back(text.size());
  TextBuilder out(budget);
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop; i += step) {
    budget.scan(16);
    out.append(text, offsets[static_cast<std::size_t>(i)], offsets[static_cast<std::size_t>(i) + 1]);
    if (step > 0 ? step > stop - i : step < stop - i) break;
  }
  return out.take();
}

Text strip(Budget& budget, const Text& text, const Text* chars, Side side) {
  const auto stripped = [&](std::size_t from, std::size_t to) {
    const std::string_view c = text.view().substr(from, to - from);
    if (chars) return chars->view().find(c) != std::string_view::npos;
    std::size_t at = 0;
    return is_space(next_code_point(c, at));
  };
  std::size_t from = 0, to = text.size();
  while (side != Side::kRight && from < to) {
    std::size_t next = from;
    next_code_point(text.view(), next);
    if (!stripped(from, next)) break;
    from = next;
    if (chars) budget.scan(chars->size());
  }
  while (side != Side::kLeft && to > from) {
    const std::size_t at = previous_character(text.view(), to);
    if (!stripped(at, to)) break;
    to = at;
    if (chars) budget.scan(chars->size());
  }
  budget.scan(2 * (text.size() - (to - from)));
  return substring(budget, text, from, to);
}

Text replace(Budget& budget, const Text& text, const Text& from, const Text& to, std::int64_t limit) {
  budget.scan(text.size());
  TextBuilder out(budget);
  const std::string_view view = text.view();
  std::size_t done = 0;
  for (std::int64_t count = 0; limit < 0 || count < limit; ++count) {
    std::size_t at, next;
    if (from.empty()) {  // Python puts `to` before every character and at the end
      if (done > view.size() || (count > 0 && done == view.size())) break;
      at = done;
      if (count > 0) next_code_point(view, at);
      next = at;
    } else {
      at = view.find(from.view(), done);
      if (at == view.npos) break;
      next = at + from.size();
    }
    budget.step();
    out.append(text, done, at);
    out.append(to);
    done = next;
  }
  out.append(text, std::min(done, view.size()), view.size());
  return out.take();
}

Text change_case(Budget& budget, const Text& text, Case change) {
  budget.scan(text.size());
  TextBuilder out(budget);
  const std::string_view whole = text.view();
  bool at_start = true;  // of the text, or of a word for kTitle
  text.for_each_run(0, text.size(), [&](std::string_view run, bool trusted) {
    std::string changed;
    for (std::size_t i = 0; i < run.size();) {
      const std::size_t before = i;
      const char32_t c = next_code_point(run, i);
      const bool title = (change == Case::kTitle || change == Case::kCapitalize) && at_start;
      at_start = change == Case::kTitle && !is_cased(c);
      if (change == Case::kFold) {
        append_folded(changed, c);
      } else if (change == Case::kSwap && !is_upper(c) && !is_lower(c)) {
        append_utf8(changed, c);
      } else if (change == Case::kUpper || (change == Case::kSwap && is_lower(c))) {
        append_upper(changed, c);
      } else if (title) {
        append_title(changed, c);
      } else if (c == 0x3A3) {
        const auto base = static_cast<std::size_t>(run.data() - whole.data());
        append_utf8(changed, is_sigma_final(whole, base + before, base + i) ? 0x3C2 : 0x3C3);
        budget.scan(64);
      } else {
        append_lower(changed, c);
      }
    }
    out.append(changed, trusted);
  });
  return out.take();
}

Text join(Budget& budget, const Text& separator, const std::vector<Text>& parts) {
  TextBuilder out(budget);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    budget.step();
    if (i > 0) out.append(separator);
    out.append(parts[i]);
  }
  return out.take();
}

Text pad(Budget& budget, const Text& text, std::int64_t width, std::string_view fill, Side side) {
  const auto length = static_cast<std::int64_t>(text.length());
  if (width <= length) return text;
  budget.check_string(static_cast<std::size_t>(width));
  const std::int64_t missing = width - length;
  // str.center puts the odd one on the left when the width is odd.
  const std::int64_t left = side == Side::kLeft    ? 0
                            : side == Side::kRight ? missing
                                                   : missing / 2 + (missing & width & 1);
  const auto fill_of = [&](std::int64_t count) {
    std::string out;
    for (std::int64_t i = 0; i < count; ++i) out += fill;
    return out;
  };
  TextBuilder out(budget);
  out.append(fill_of(left), false);
  out.append(text);
  out.append(fill_of(missing - left), false);
  return out.take();
}

Text expand_tabs(Budget& budget, const Text& text, std::int64_t size) {
  budget.scan(text.size());
  TextBuilder out(budget);
  std::int64_t column = 0;
  text.for_each_run(0, text.size(), [&](std::string_view run, bool trusted) {
    for (std::size_t i = 0; i < run.size();) {
      const std::size_t start = i;
      const char32_t c = next_code_point(run, i);
      if (c != '\t') {
        column = c == '\n' || c == '\r' ? 0 : column + 1;
        out.append(run.substr(start, i - start), trusted);
      } else if (size > 0) {
        const std::int64_t spaces = size - column % size;
        budget.check_string(static_cast<std::size_t>(spaces));
        out.append(std::string(static_cast<std::size_t>(spaces), ' '), trusted);
        column += spaces;
      }
    }
  });
  return out.take();
}

std::vector<Value> characters(Budget& budget, const Text& text) {
  std::vector<Value> out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t start = i;
    next_code_point(text.view(), i);
    out.push_back(substring(budget, text, start, i));
  }
  return out;
}

std::vector<Value> split(Budget& budget, const Text& text, const Text* separator, std::int64_t limit, bool from_right) {
  budget.scan(text.size());
  if (!separator) return from_right ? split_words_from_right(budget, text, limit) : split_words(budget, text, limit);
  if (separator->empty()) fail("empty separator");
  const std::string_view view = text.view();
  std::vector<Value> parts;
  if (from_right) {
    std::size_t end = view.size();
    while (limit < 0 || static_cast<std::int64_t>(parts.size()) < limit) {
      const std::size_t at =
          end < separator->size() ? view.npos : view.rfind(separator->view(), end - separator->size());
      if (at == view.npos) break;
      parts.push_back(substring(budget, text, at + separator->size(), end));
      end = at;
    }
    parts.push_back(substring(budget, text, 0, end));
    std::reverse(parts.begin(), parts.end());
    return parts;
  }
  std::size_t start = 0;
  while (limit < 0 || static_cast<std::int64_t>(parts.size()) < limit) {
    const std::size_t at = view.find(separator->view(), start);
    if (at == view.npos) break;
    parts.push_back(substring(budget, text, start, at));
    start = at + separator->size();
  }
  parts.push_back(substring(budget, text, start, view.size()));
  return parts;
}

std::vector<Value> split_lines(Budget& budget, const Text& text, bool keep_ends) {
  budget.scan(text.size());
  const std::string_view view = text.view();
  std::vector<Value> lines;
  std::size_t start = 0;
  for (std::size_t i = 0; i < view.size();) {
    const std::size_t end = i;
    const char32_t c = next_code_point(view, i);
    if (!is_line_break(c)) continue;
    if (c == '\r' && i < view.size() && view[i] == '\n') ++i;
    lines.push_back(substring(budget, text, start, keep_ends ? i : end));
    start = i;
  }
  if (start < view.size()) lines.push_back(substring(budget, text, start, view.size()));
  return lines;
}

bool all_characters(Budget& budget, const Text& text, bool (*predicate)(char32_t)) {
  budget.scan(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (!predicate(next_code_point(text.view(), i))) return false;
  }
  return !text.empty();
}

bool is_all_upper(Budget& budget, const Text& text) {
  const auto not_lower = [](char32_t c) { return !is_cased(c) || is_upper(c); };
  const auto not_cased = [](char32_t c) { return !is_cased(c); };
  return all_characters(budget, text, not_lower) && !all_characters(budget, text, not_cased);
}

bool is_titled(Budget& budget, const Text& text) {
  budget.scan(text.size());
  bool any = false, in_word = false;
  for (std::size_t i = 0; i < text.size();) {
    const char32_t c = next_code_point(text.view(), i);
    const bool cased = is_cased(c);
    if (cased && is_lower(c) != in_word) return false;
    any = any || cased;
    in_word = cased;
  }
  return any;
}

bool is_all_lower(Budget& budget, const Text& text) {
  const auto not_upper = [](char32_t c) { return !is_cased(c) || is_lower(c); };
  const auto not_cased = [](char32_t c) { return !is_cased(c); };
  return all_characters(budget, text, not_upper) && !all_characters(budget, text, not_cased);
}

}  // namespace millrace::chat::jinja
