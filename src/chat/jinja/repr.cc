#include "chat/jinja/repr.h"

#include <charconv>
#include <cmath>

#include "chat/jinja/unicode.h"

namespace millrace::chat::jinja {
namespace {

void escape_code_point(std::string& out, char32_t c) {
  const auto code = static_cast<unsigned>(c);
  if (c == '\n') {
    out += "\\n";
  } else if (c == '\r') {
    out += "\\r";
  } else if (c == '\t') {
    out += "\\t";
  } else if (c < 0x100) {
    out += fmt::format("\\x{:02x}", code);
  } else if (c < 0x10000) {
    out += fmt::format("\\u{:04x}", code);
  } else {
    out += fmt::format("\\U{:08x}", code);
  }
}

std::string quoted(std::string_view text) {
  const bool use_double = text.find('\'') != text.npos && text.find('"') == text.npos;
  const char quote = use_double ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t start = i;
    const char32_t c = next_code_point(text, i);
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == ' ' || is_printable(c)) {
      out += text.substr(start, i - start);
    } else {
      escape_code_point(out, c);
    }
  }
  return out + quote;
}

class ReprWriter {
 public:
  explicit ReprWriter(Runtime& runtime) : runtime_(runtime), out_(runtime.budget) {}

  void write(const Value& value, int depth) {
    runtime_.budget.step();
    runtime_.budget.check_depth(depth);
    if (const Text* text = value.text()) {
      runtime_.budget.scan(text->size());
      put(quoted(text->view()));
    } else if (const List* list = value.list()) {
      write_list(*list, depth);
    } else if (const Dict* dict = value.dict()) {
      write_dict(*dict, depth);
    } else if (auto* ns = dynamic_cast<Namespace*>(value.object())) {
      write_namespace(*ns, depth);
    } else {
      write_scalar(value);
    }
  }

  Text take() { return out_.take(); }

 private:
  void put(std::string_view bytes) { out_.append(bytes, false); }

  void write_scalar(const Value& value) {
    if (value.is_undefined()) return put("Undefined");
    if (value.is_none()) return put("None");
    if (const bool* b = value.boolean()) return put(*b ? "True" : "False");
    if (const Integer* i = value.integer()) return put(integer_to_string(*i));
    if (const double* r = value.real()) return put(real_to_string(*r));
    put(value.object() ? value.object()->shown() : fmt::format("<{} object>", value.type_name()));
  }

  void write_items(const std::vector<Value>& items, int depth) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) put(", ");
      write(items[i], depth + 1);
    }
  }

  void write_list(const List& list, int depth) {
    if (list.kind == ListKind::kRange) {
      put(fmt::format("range({}, {}", list.range_start, list.range_stop));
      return put(list.range_step == 1 ? ")" : fmt::format(", {})", list.range_step));
    }
    if (list.is_tuple()) {
      put("(");
      write_items(list.items, depth);
      return put(list.items.size() == 1 ? ",)" : ")");
    }
    if (list.is_view())
      put(fmt::format("{}(", Value(std::make_shared<const List>(List{list.kind, {}, 1})).type_name()));
    put("[");
    write_items(list.items, depth);
    put(list.is_view() ? "])" : "]");
  }

  void write_dict(const Dict& dict, int depth) {
    put("{");
    for (std::size_t i = 0; i < dict.entries().size(); ++i) {
      if (i > 0) put(", ");
      write(dict.entries()[i].key, depth + 1);
      put(": ");
      write(dict.entries()[i].value, depth + 1);
    }
    put("}");
  }

  void write_namespace(const Namespace& ns, int depth) {
    put("<Namespace {");
    bool first = true;
    for (const auto& [name, value] : ns.attributes()) {
      put(fmt::format("{}'{}': ", first ? "" : ", ", name));
      write(value, depth + 1);
      first = false;
    }
    put("}>");
  }

  Runtime& runtime_;
  TextBuilder out_;
};

}  // namespace

std::string integer_to_string(Integer value) { return fmt::format("{}", value); }

// The shortest digits that read back as the same double; an exponent below -4 or from 16 on.
std::string real_to_string(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = text.find('e');
  int exponent = 0;
  const char* digits = text.data() + e + 1 + (text[e + 1] == '+');
  std::from_chars(digits, end, exponent);
  if (exponent >= -4 && exponent < 16) {
    const auto fixed = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
    std::string out(buffer, fixed);
    return out.find('.') == out.npos ? out + ".0" : out;
  }
  return std::string(text);
}

Text to_text(Runtime& runtime, const Value& value) {
  if (const Text* text = value.text()) return *text;
  if (value.is_undefined()) return {};
  return to_repr(runtime, value);
}

Text to_repr(Runtime& runtime, const Value& value) {
  ReprWriter writer(runtime);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace millrace::chat::jinja
