#include "kv/prefix_tree.h"

namespace millrace::kv {

struct PrefixTree::Impl {};
PrefixTree::PrefixTree(BlockPool&, std::int64_t) {}
PrefixTree::~PrefixTree() = default;

}  // namespace millrace::kv
