#include "kubeapi/credentials.h"

#include <algorithm>
#include <utility>

namespace tenon::kubeapi {
namespace {

constexpr size_t kMostBytes = size_t{1} << 20;

/// Without the white space around it.
std::string Trimmed(const std::string& text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

/// It goes into a header, where a line end would begin another one.
bool IsToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

Result<void> Credentials::ReadOne(const Secret& secret, std::string& kept) {
  if (kept.empty()) kept = secret.text;
  if (secret.path.empty()) return {};
  auto text = host_.Read(secret.path, kMostBytes);
  if (text && !text->empty()) {
    kept = *std::move(text);
    return {};
  }
  if (!kept.empty()) return {};
  if (!text) return std::move(text).error();
  return Error(Code::kFailedPrecondition, secret.path + " is empty");
}

Result<Credential> Credentials::Read() {
  TENON_TRY_VOID(ReadOne(access_.authority, kept_.authority));
  TENON_TRY_VOID(ReadOne(access_.certificate, kept_.certificate));
  TENON_TRY_VOID(ReadOne(access_.key, kept_.key));
  TENON_TRY_VOID(ReadOne(access_.token, kept_.token));
  Credential current = kept_;
  current.token = Trimmed(current.token);
  if (!access_.token.empty() && !IsToken(current.token)) {
    return Error(Code::kInvalidArgument,
                 (access_.token.path.empty() ? access_.origin : access_.token.path) +
                     ": the token has characters that no token has");
  }
  return current;
}

}  // namespace tenon::kubeapi
