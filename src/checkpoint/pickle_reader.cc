#include "checkpoint/pickle_reader.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/error.h"
#include "checkpoint/pickle_opcode.h"
#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {
namespace {

using namespace pickle_opcode;

constexpr std::uint32_t kNoValue = std::numeric_limits<std::uint32_t>::max();

class Machine {
 public:
  Machine(BoundedReader& in, std::span<const PickleName> names) : in_(in), names_(names) {}

  Pickle run() {
    if (in_.number<std::uint8_t>("pickle") != kProtocol) fail("a pickle of protocol 2 or later expected");
    const int protocol = in_.number<std::uint8_t>("pickle protocol");
    if (protocol < 2 || protocol > 5) fail(fmt::format("pickle protocol {}, 2 to 5 expected", protocol));
    for (;;) {
      const auto opcode = in_.number<std::uint8_t>("pickle opcode");
      if (opcode == kStop) break;
      step(opcode);
    }
    pickle_.root = pop();
    if (!stack_.empty() || !marks_.empty()) fail("the pickle ends with more than one value");
    if (in_.remaining() > 0) fail("there are bytes behind the pickle's end");
    return std::move(pickle_);
  }

 private:
  void step(std::uint8_t opcode) {
    switch (opcode) {
      case kFrame: return in_.require(in_.number<std::uint64_t>("pickle frame"), 1, "pickle frame");
      case kMark: return mark();
      case kNone: return push(PickleNone{});
      case kTrue: return push(true);
      case kFalse: return push(false);
      case kInt1: return push(std::int64_t{in_.number<std::uint8_t>("number")});
      case kInt2: return push(std::int64_t{in_.number<std::uint16_t>("number")});
      case kInt4: return push(std::int64_t{in_.number<std::int32_t>("number")});
      case kLong1: return push(long_number());
      case kFloat: return push(big_endian_double());
      case kText1: return push(text(in_.number<std::uint8_t>("text length")));
      case kText4: return push(text(in_.number<std::uint32_t>("text length")));
      case kEmptyTuple: return push(PickleTuple{});
      case kTuple1: return push(PickleTuple{take(1)});
      case kTuple2: return push(PickleTuple{take(2)});
      case kTuple3: return push(PickleTuple{take(3)});
      case kTuple: return push(PickleTuple{take_to_mark()});
      case kEmptyList: return push(PickleList{});
      case kAppend: return append(take(1));
      case kAppends: return append(take_to_mark());
      case kEmptyDict: return push(PickleDict{});
      case kSetItem: return set_items(take(2));
      case kSetItems: return set_items(take_to_mark());
      case kGet1: return get(in_.number<std::uint8_t>("memo"));
      case kGet4: return get(in_.number<std::uint32_t>("memo"));
      case kPut1: return put(in_.number<std::uint8_t>("memo"));
      case kPut4: return put(in_.number<std::uint32_t>("memo"));
      case kMemoize: return put(memo_.size());
      case kGlobal: return global_of_lines();
      case kStackGlobal: return global_of_stack();
      case kPersistent: return push(PicklePersistent{pop()});
      case kCall: return call();
      case kBuild: return build();
      default:
        reject(fmt::format("opcode 0x{:02x} at byte {} is not one that tensors need", opcode, in_.position() - 1));
    }
  }

  [[noreturn]] void fail(std::string_view why) const {
    throw_load_error(ErrorCode::kBadFile, "pickle", "{}: byte {}: {}", in_.path(), in_.position(), why);
  }
  // Of what a pickle may say, but would be code.
  [[noreturn]] void reject(std::string_view what) const {
    throw_load_error(ErrorCode::kUnsupported, "pickle",
                     "{}: {}: refused, as reading it would run code; convert the file to safetensors", in_.path(),
                     what);
  }

  void push(PickleValue value) {
    if (pickle_.values.size() == kPickleMaxValues) {
      fail(fmt::format("the pickle holds more than {} values", kPickleMaxValues));
    }
    stack_.push_back(static_cast<PickleRef>(pickle_.values.size()));
    pickle_.values.push_back(std::move(value));
  }
  // Values above the last mark: those below it are not to be had.
  std::size_t available() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }
  std::vector<PickleRef> take(std::size_t n) {
    if (available() < n) fail(fmt::format("an opcode needs {} values and has {}", n, available()));
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(n);
    std::vector<PickleRef> taken(first, stack_.end());
    stack_.erase(first, stack_.end());
    return taken;
  }
  PickleRef pop() { return take(1).front(); }
  std::vector<PickleRef> take_to_mark() {
    if (marks_.empty()) fail("an opcode needs a mark and there is none");
    std::vector<PickleRef> taken = take(available());
    marks_.pop_back();
    return taken;
  }
  void mark() {
    if (marks_.size() == kPickleMaxDepth) fail(fmt::format("values nest more than {} deep", kPickleMaxDepth));
    marks_.push_back(stack_.size());
  }
  // The value on top, which stays there.
  template <typename T>
  T& top(std::string_view expected) {
    T* value = available() > 0 ? std::get_if<T>(&pickle_.values[stack_.back()]) : nullptr;
    if (value == nullptr) fail(fmt::format("an opcode needs {}", expected));
    return *value;
  }

  std::string text(std::uint64_t bytes) {
    if (bytes > kPickleMaxTextBytes) fail(fmt::format("a text of {} bytes, at most {}", bytes, kPickleMaxTextBytes));
    in_.require(bytes, 1, "text");
    std::string out(static_cast<std::size_t>(bytes), '\0');
    in_.read(std::as_writable_bytes(std::span(out)), "text");
    return out;
  }
  // Little-endian, with a sign.
  std::int64_t long_number() {
    const int bytes = in_.number<std::uint8_t>("length of a number");
    if (bytes > 8) fail(fmt::format("a number of {} bytes, at most 8", bytes));
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= std::uint64_t{in_.number<std::uint8_t>("number")} << (8 * i);
    const int unused = 64 - 8 * bytes;
    return bytes == 0 ? 0 : static_cast<std::int64_t>(value << unused) >> unused;
  }
  double big_endian_double() {
    std::uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | in_.number<std::uint8_t>("number");
    return std::bit_cast<double>(bits);
  }
  std::string line() {
    constexpr std::size_t kMaxBytes = 256;
    std::string out;
    for (char c; (c = static_cast<char>(in_.number<std::uint8_t>("global"))) != '\n'; out += c) {
      if (out.size() == kMaxBytes) fail(fmt::format("the name of a global has more than {} bytes", kMaxBytes));
    }
    return out;
  }

  void global_of_lines() {
    const std::string module = line();
    global(module, line());
  }
  void global_of_stack() {
    const std::vector<PickleRef> names = take(2);
    const auto* module = pickle_.get_if<std::string>(names[0]);
    const auto* name = pickle_.get_if<std::string>(names[1]);
    if (module == nullptr || name == nullptr) fail("a global has a name that is no text");
    global(*module, *name);
  }
  void global(const std::string& module, const std::string& name) {
    const std::string full = module + "." + name;
    const auto known = std::ranges::find(names_, full, &PickleName::name);
    if (known == names_.end()) reject(fmt::format("it names {}", quote_name(full)));
    push(PickleGlobal{static_cast<std::size_t>(known - names_.begin())});
  }
  void call() {
    const std::vector<PickleRef> parts = take(2);
    const auto* callee = pickle_.get_if<PickleGlobal>(parts[0]);
    const auto* arguments = pickle_.get_if<PickleTuple>(parts[1]);
    if (callee == nullptr || arguments == nullptr) reject("it calls something that is no function");
    if (names_[callee->number].is_dictionary && arguments->items.empty()) return push(PickleDict{});
    push(PickleCall{parts[0], parts[1]});
  }
  void build() {
    pop();
    if (available() == 0 || pickle_.get_if<PickleDict>(stack_.back()) == nullptr) {
      reject("it sets the state of something that is no dictionary");
    }
  }

  void append(const std::vector<PickleRef>& items) {
    auto& list = top<PickleList>("a list").items;
    list.insert(list.end(), items.begin(), items.end());
  }
  void set_items(const std::vector<PickleRef>& items) {
    if (items.size() % 2 != 0) fail("a dictionary gets a key without a value");
    auto& dict = top<PickleDict>("a dictionary").items;
    for (std::size_t i = 0; i < items.size(); i += 2) dict.emplace_back(items[i], items[i + 1]);
  }
  void get(std::uint64_t number) {
    if (number >= memo_.size() || memo_[number] == kNoValue) fail(fmt::format("nothing was remembered as {}", number));
    stack_.push_back(memo_[number]);
  }
  void put(std::uint64_t number) {
    if (available() == 0) fail("there is nothing to remember");
    if (number >= kPickleMaxValues) fail(fmt::format("remembers more than {} values", kPickleMaxValues));
    if (number >= memo_.size()) memo_.resize(number + 1, kNoValue);
    memo_[number] = stack_.back();
  }

  BoundedReader& in_;
  std::span<const PickleName> names_;
  Pickle pickle_;
  std::vector<PickleRef> stack_, memo_;
  std::vector<std::size_t> marks_;  // how long the stack was
};

}  // namespace

Pickle read_pickle(BoundedReader& in, std::span<const PickleName> names) { return Machine(in, names).run(); }

}  // namespace millrace::checkpoint
