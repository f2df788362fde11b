#include "pod/quantity.h"

#include <array>
#include <limits>
#include <optional>

#include "base/strings.h"

namespace tenon::pod {
namespace {

__extension__ using Wide = __int128;

// They keep every product below within 128 bits.
constexpr size_t kMostIntegerDigits = 19;
constexpr size_t kMostFractionDigits = 18;
constexpr Wide kNano = 1'000'000'000;

/// What a suffix multiplies by; one of the two is 1.
struct Scale {
  Wide times = 1;
  Wide over = 1;
};

constexpr Wide Power(Wide base, int exponent) {
  Wide out = 1;
  for (int i = 0; i < exponent; ++i)
    out *= base;
  return out;
}

std::optional<Scale> ScaleOfExponent(std::string_view digits) {
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const auto exponent = base::ParseInt64(digits);
  if (!exponent || *exponent < -9 || *exponent > 18) return std::nullopt;
  if (*exponent < 0) return Scale{.over = Power(10, static_cast<int>(-*exponent))};
  return Scale{.times = Power(10, static_cast<int>(*exponent))};
}

std::optional<Scale> ScaleOfSuffix(std::string_view suffix) {
  if (suffix.empty()) return Scale{};
  constexpr std::string_view kBinary = "KMGTPE";
  constexpr std::string_view kDecimal = "kMGTPE";
  constexpr std::string_view kSmall = "mun";
  if (suffix.size() == 2 && suffix[1] == 'i') {
    const size_t at = kBinary.find(suffix[0]);
    if (at == std::string_view::npos) return std::nullopt;
    return Scale{.times = Power(1024, static_cast<int>(at) + 1)};
  }
  if (suffix.size() == 1) {
    if (const size_t at = kDecimal.find(suffix[0]); at != std::string_view::npos) {
      return Scale{.times = Power(1000, static_cast<int>(at) + 1)};
    }
    const size_t at = kSmall.find(suffix[0]);
    if (at == std::string_view::npos) return std::nullopt;
    return Scale{.over = Power(1000, static_cast<int>(at) + 1)};
  }
  if (suffix[0] == 'e' || suffix[0] == 'E') return ScaleOfExponent(suffix.substr(1));
  return std::nullopt;
}

/// The digits at the start of `text`, taken off it.
std::string_view TakeDigits(std::string_view& text) {
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

Wide ValueOf(std::string_view digits) {
  Wide value = 0;
  for (const char c : digits)
    value = value * 10 + (c - '0');
  return value;
}

Error Invalid(std::string_view text, std::string_view why) {
  return {Code::kInvalidArgument,
          "\"" + base::EscapeForLine(text.substr(0, 64)) + "\" " + std::string(why)};
}

}  // namespace

Result<Quantity> Quantity::Parse(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with('-')) return Invalid(text, "must not be negative");
  if (rest.starts_with('+')) rest.remove_prefix(1);
  std::string_view integer = TakeDigits(rest);
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = TakeDigits(rest);
  }
  const std::optional<Scale> scale = ScaleOfSuffix(rest);
  if ((integer.empty() && fraction.empty()) || !scale) {
    return Invalid(text, "is not a quantity: write a number such as 2, 500m, 0.5 or 3Ki");
  }
  integer.remove_prefix(std::min(integer.find_first_not_of('0'), integer.size()));
  if (integer.size() > kMostIntegerDigits || fraction.size() > kMostFractionDigits) {
    return Invalid(text, "has too many digits");
  }

  const Wide one = Power(10, static_cast<int>(fraction.size()));
  const Wide most = std::numeric_limits<int64_t>::max();
  const Wide from_integer = ValueOf(integer) * scale->times;  // Below 1e19 * 2^60.
  const Wide unit = one * scale->over;
  // What is below one unit, over `unit`: the integer's remainder and the scaled fraction.
  const Wide parts = (from_integer % scale->over) * one + ValueOf(fraction) * scale->times;
  const Wide whole = from_integer / scale->over + parts / unit;
  const Wide nanos = ((parts % unit) * kNano + unit - 1) / unit;
  if (whole + nanos / kNano > most) return Invalid(text, "is too large");
  return Quantity(static_cast<int64_t>(whole + nanos / kNano), static_cast<int64_t>(nanos % kNano),
                  std::string(text));
}

}  // namespace tenon::pod
