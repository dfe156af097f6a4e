#include "chat/jinja/json_format.h"

#include <algorithm>
#include <cmath>

#include "chat/jinja/compare.h"
#include "chat/jinja/merge_sort.h"
#include "chat/jinja/repr.h"
#include "chat/jinja/unicode.h"

namespace millrace::chat::jinja {
namespace {

void append_escaped(std::string& out, char32_t c, bool ensure_ascii) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    case '\f': out += "\\f"; return;
    case '\b': out += "\\b"; return;
    default: break;
  }
  const auto code = static_cast<unsigned>(c);
  if (c < 0x20 || (ensure_ascii && c >= 0x7F && c < 0x10000)) {
    out += fmt::format("\\u{:04x}", code);
  } else if (ensure_ascii && c >= 0x10000) {
    out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF));
  } else {
    append_utf8(out, c);
  }
}

std::string json_real(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return real_to_string(value);
}

class JsonWriter {
 public:
  JsonWriter(Runtime& runtime, const JsonStyle& style) : runtime_(runtime), style_(style), out_(runtime.budget) {}

  void write(const Value& value, int depth) {
    runtime_.budget.step();
    runtime_.budget.check_depth(depth);
    if (const Text* text = value.text()) return write_string(text->view());
    if (const Dict* dict = value.dict()) return write_dict(*dict, depth);
    const List* list = value.list();
    if (list && (list->kind == ListKind::kList || list->is_tuple())) return write_list(*list, depth);
    if (value.is_none() || value.is_number()) return put(scalar(value));
    fail("Object of type {} is not JSON serializable", value.type_name());
  }

  Text take() { return out_.take(); }

 private:
  void put(std::string_view bytes) { out_.append(bytes, false); }

  static std::string scalar(const Value& value) {
    if (value.is_none()) return "null";
    if (const bool* b = value.boolean()) return *b ? "true" : "false";
    if (const double* r = value.real()) return json_real(*r);
    return integer_to_string(*value.integer());
  }

  void write_string(std::string_view text) {
    runtime_.budget.scan(text.size());
    std::string out = "\"";
    for (std::size_t i = 0; i < text.size();) append_escaped(out, next_code_point(text, i), style_.ensure_ascii);
    put(out + '"');
  }

  void new_line(int depth) {
    if (!style_.indent) return;
    put("\n");
    for (int i = 0; i < depth; ++i) put(*style_.indent);
  }

  void write_list(const List& list, int depth) {
    if (list.items.empty()) return put("[]");
    put("[");
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) put(style_.item_separator);
      new_line(depth + 1);
      write(list.items[i], depth + 1);
    }
    new_line(depth);
    put("]");
  }

  void write_dict(const Dict& dict, int depth) {
    if (dict.entries().empty()) return put("{}");
    std::vector<const Dict::Entry*> entries;
    for (const Dict::Entry& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sort_keys) {
      merge_sort(entries,
                 [this](const Dict::Entry* a, const Dict::Entry* b) { return less(runtime_.budget, a->key, b->key); });
    }
    put("{");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) put(style_.item_separator);
      new_line(depth + 1);
      const Value& key = entries[i]->key;
      key.text() ? write_string(key.text()->view()) : put('"' + scalar(key) + '"');
      put(style_.key_separator);
      write(entries[i]->value, depth + 1);
    }
    new_line(depth);
    put("}");
  }

  Runtime& runtime_;
  const JsonStyle& style_;
  TextBuilder out_;
};

}  // namespace

Text to_json(Runtime& runtime, const Value& value, const JsonStyle& style) {
  JsonWriter writer(runtime, style);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace millrace::chat::jinja
