#pragma once

#include <string>

#include "base/result.h"
#include "host/host.h"
#include "kubeapi/access.h"

namespace tenon::kubeapi {

/// What one request is sent with.
struct Credential {
  std::string authority;
  std::string certificate;
  std::string key;
  std::string token;
};

/// Reads the files that an Access names anew for each request, so that a renewed token, client
/// certificate or authority counts from the next request on; there are few requests and the files
/// are small. While a file cannot be read, what it held last is used: whoever renews it may just
/// be replacing it. Thread: loop only.
class Credentials final {
 public:
  /// `host` and `access` are borrowed.
  Credentials(host::Host& host, const Access& access) : host_(host), access_(access) {}

  /// Errors: a file that was never readable; a token that is none.
  Result<Credential> Read();

  /// Whether reading again can give a token that the server has not refused yet.
  bool renewable() const { return !access_.token.path.empty(); }

 private:
  Result<void> ReadOne(const Secret& secret, std::string& kept);

  host::Host& host_;
  const Access& access_;
  Credential kept_;
};

}  // namespace tenon::kubeapi
