#include "chat/jinja/compare.h"

#include <algorithm>

namespace millrace::chat::jinja {
namespace {

bool equal_items(Budget& budget, const List& a, const List& b) {
  if (a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!equals(budget, a.items[i], b.items[i])) return false;
  }
  return true;
}

bool equal_dicts(Budget& budget, const Dict& a, const Dict& b) {
  if (a.entries().size() != b.entries().size()) return false;
  for (const Dict::Entry& entry : a.entries()) {
    const Value* other = b.find(entry.key);
    if (!other || !equals(budget, entry.value, *other)) return false;
  }
  return true;
}

bool equal_lists(Budget& budget, const List& a, const List& b) {
  const bool same_kind = a.kind == b.kind || (a.is_tuple() && b.is_tuple());
  if (!same_kind || a.kind == ListKind::kValues) return &a == &b;
  return equal_items(budget, a, b);
}

// -1, 0, 1 for two numbers or two strings.
int order(Budget& budget, const Value& a, const Value& b) {
  if (a.text()) {
    budget.copy(std::min(a.text()->size(), b.text()->size()));
    return a.text()->view().compare(b.text()->view());  // UTF-8 sorts by code point
  }
  const auto x = a.as_integer(), y = b.as_integer();
  if (x && y) return *x < *y ? -1 : *x > *y;
  const double p = a.as_real(), q = b.as_real();
  return p < q ? -1 : p > q ? 1 : p == q ? 0 : 2;  // 2: unordered
}

bool ordered(Budget& budget, const Value& a, const Value& b, std::string_view sign, bool or_equal) {
  budget.step();
  if (a.is_undefined() || b.is_undefined()) fail("{}", (a.is_undefined() ? a : b).undefined_reason());
  if ((a.is_number() && b.is_number()) || (a.text() && b.text())) {
    const int o = order(budget, a, b);
    return o < 0 || (or_equal && o == 0);
  }
  const List* x = a.list();
  const List* y = b.list();
  const bool comparable =
      x && y && ((x->kind == ListKind::kList && y->kind == ListKind::kList) || (x->is_tuple() && y->is_tuple()));
  if (!comparable) {
    fail("'{}' not supported between instances of '{}' and '{}'", sign, a.type_name(), b.type_name());
  }
  for (std::size_t i = 0; i < x->items.size() && i < y->items.size(); ++i) {
    if (!equals(budget, x->items[i], y->items[i])) return ordered(budget, x->items[i], y->items[i], sign, or_equal);
  }
  return or_equal ? x->items.size() <= y->items.size() : x->items.size() < y->items.size();
}

}  // namespace

bool equals(Budget& budget, const Value& a, const Value& b) {
  budget.step();
  if (a.is_number() && b.is_number()) return order(budget, a, b) == 0;
  if (a.text() && b.text()) {
    if (a.text()->size() != b.text()->size()) return false;
    budget.copy(a.text()->size());
    return a.text()->view() == b.text()->view();
  }
  if (a.list() && b.list()) return equal_lists(budget, *a.list(), *b.list());
  if (a.dict() && b.dict()) return equal_dicts(budget, *a.dict(), *b.dict());
  return a.same_as(b);
}

bool less(Budget& budget, const Value& a, const Value& b, std::string_view sign) {
  return ordered(budget, a, b, sign, false);
}

bool less_equal(Budget& budget, const Value& a, const Value& b, std::string_view sign) {
  return ordered(budget, a, b, sign, true);
}

bool contains(Runtime& runtime, const Value& container, const Value& item) {
  if (const Text* text = container.text()) {
    if (!item.text()) fail("'in <string>' requires string as left operand, not {}", item.type_name());
    runtime.budget.scan(text->size());
    return text->view().find(item.text()->view()) != std::string_view::npos;
  }
  if (const Dict* dict = container.dict()) {
    if (item.list() || item.dict()) fail("unhashable type: '{}'", item.type_name());
    return dict->find(item) != nullptr;
  }
  const auto items = iterate(runtime, container);
  return std::any_of(items->items.begin(), items->items.end(),
                     [&](const Value& value) { return equals(runtime.budget, value, item); });
}

}  // namespace millrace::chat::jinja
