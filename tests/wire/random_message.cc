#include "random_message.h"

#include <array>
#include <limits>
#include <string_view>

namespace tenon::wire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

template <size_t N>
std::string_view OneOf(Random& random, const std::array<std::string_view, N>& texts) {
  return texts[Below(random, N)];
}

std::string RandomText(const FieldDescriptor& field, Random& random) {
  if (field.name() == "health")
    return std::string(OneOf<4>(random, {"Healthy", "Unhealthy", "", "healthy"}));
  std::string text;
  while (Below(random, 4) != 0)
    text += OneOf<9>(random, {"a", "Z9", "/dev/tty", "\x01", "\x7f", "\u00e9", "\u2028",
                              "\U0001f600", "\U0010ffff"});
  if (Below(random, 50) == 0) text.append(200, 'x');  // Its length takes two bytes.
  return text;
}

template <class Int>
Int RandomInt(Random& random) {
  switch (Below(random, 6)) {
    case 0:
      return 0;
    case 1:
      return static_cast<Int>(-1);
    case 2:
      return std::numeric_limits<Int>::min();
    case 3:
      return std::numeric_limits<Int>::max();
    case 4:
      return static_cast<Int>(Below(random, 300));
    default:
      return static_cast<Int>(random());
  }
}

/// Sets a singular field, or adds a value to a repeated one.
void PutRandomValue(Message& message, const FieldDescriptor& field, Random& random) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  auto put = [&](auto add, auto set, auto value) {
    (reflection.*(repeated ? add : set))(&message, &field, std::move(value));
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return FillRandomly(repeated ? *reflection.AddMessage(&message, &field)
                                   : *reflection.MutableMessage(&message, &field),
                          random);
    case FieldDescriptor::CPPTYPE_STRING:
      return put(&Reflection::AddString, &Reflection::SetString, RandomText(field, random));
    case FieldDescriptor::CPPTYPE_BOOL:
      return put(&Reflection::AddBool, &Reflection::SetBool, Below(random, 2) == 0);
    case FieldDescriptor::CPPTYPE_INT32:
      return put(&Reflection::AddInt32, &Reflection::SetInt32, RandomInt<int32_t>(random));
    case FieldDescriptor::CPPTYPE_INT64:
      return put(&Reflection::AddInt64, &Reflection::SetInt64, RandomInt<int64_t>(random));
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(&Reflection::AddUInt64, &Reflection::SetUInt64, RandomInt<uint64_t>(random));
    default:
      GOOGLE_LOG(FATAL) << "no random value for " << field.full_name();
  }
}

/// Fields that no message here has: groups that match and that do not, to the depth where
/// libprotobuf gives up and one level beyond; numbers that are reserved; fixed widths.
std::string ForeignField(Random& random) {
  if (Below(random, 8) == 0) {
    const size_t depth = 95 + Below(random, 7);
    return std::string(depth, '\x7b') + std::string(depth, '\x7c');
  }
  return std::string(
      OneOf<6>(random, {"\x7b\x0a\x01z\x73\x74\x7c", "\x7b\x74", "\x7b\x73\x7c\x74",
                        "\xc2\xa3\x09\x01r", "\x79\1\2\3\4\5\6\7\x08", "\x7d\1\2\3\4"}));
}

/// One wound; `bytes` may be empty.
void Damage(std::string& bytes, Random& random) {
  const size_t at = Below(random, bytes.size() + 1);
  const size_t run = Below(random, 12);
  const auto byte = static_cast<char>(random());
  // Tags and lengths as they stand in these messages, ends and starts of groups among them.
  constexpr std::string_view kLikely("\x00\x01\x02\x08\x0a\x0b\x0c\x0d\x12\x1a\x22\x7f\x80\xff",
                                     14);
  switch (Below(random, 8)) {
    case 0:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(random, 8)));
      break;
    case 1:
      if (at < bytes.size()) bytes[at] = byte;
      break;
    case 2:
      if (at < bytes.size()) bytes[at] = kLikely[Below(random, kLikely.size())];
      break;
    case 3:
      bytes.insert(at, 1, kLikely[Below(random, kLikely.size())]);
      break;
    case 4:
      bytes.erase(at, run);
      break;
    case 5:
      bytes.insert(Below(random, bytes.size() + 1), bytes.substr(at, run));
      break;
    case 6:
      bytes.insert(at, ForeignField(random));
      break;
    default:
      bytes.insert(at, run, Below(random, 2) == 0 ? '\x80' : byte);
      break;
  }
}

}  // namespace

size_t Below(Random& random, size_t bound) {
  return random() % bound;
}

void FillRandomly(Message& message, Random& random) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const size_t values = field.is_repeated() ? Below(random, 4) : Below(random, 2);
    for (size_t n = 0; n < values; ++n)
      PutRandomValue(message, field, random);
  }
}

std::string Damaged(std::string bytes, Random& random) {
  for (size_t wounds = 1 + Below(random, 3); wounds > 0; --wounds)
    Damage(bytes, random);
  return bytes;
}

}  // namespace tenon::wire
