#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace tenon::base {

/// Appends `text` as a JSON string with its quotes. Control characters are escaped; each byte
/// that is not part of valid UTF-8 becomes U+FFFD, so the result is always valid JSON.
void AppendJsonString(std::string& out, std::string_view text);

/// `text` made safe for one line of a log or a terminal: printable ASCII and valid UTF-8 above
/// U+009F stay, all else becomes \n, \t, \\ or \xNN.
std::string EscapeForLine(std::string_view text);

/// The length in bytes (1 to 4) of the valid UTF-8 sequence at the start of `text`, 0 if there
/// is none (overlong forms, surrogates and code points above U+10FFFF are not valid).
size_t Utf8SequenceLength(std::string_view text);
bool IsValidUtf8(std::string_view text);

/// Splits at every `separator`; an empty text gives one empty part.
std::vector<std::string_view> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);

/// Compares with runs of digits taken as numbers: "tty2" before "tty10". Texts that differ only
/// in leading zeros are ordered bytewise, so that the order is total.
bool NaturalLess(std::string_view a, std::string_view b);

/// A decimal number that fills `text` completely: no sign but "-", no spaces, no overflow.
std::optional<int64_t> ParseInt64(std::string_view text);

/// "2026-11-30T13:36:47.123Z", always UTC with milliseconds.
std::string FormatRfc3339(WallTime time);
/// Reads what FormatRfc3339() writes and the same without the fraction; UTC as "Z" only.
std::optional<WallTime> ParseRfc3339(std::string_view text);

/// Path pieces joined with exactly one "/".
std::string JoinPath(std::string_view directory, std::string_view name);

std::string Base64Encode(std::string_view bytes);
/// Standard alphabet with padding; nothing else is accepted (RFC 4648 §4).
std::optional<std::string> Base64Decode(std::string_view text);

}  // namespace tenon::base
