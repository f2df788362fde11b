#pragma once

#include <string>

namespace tenon::fake_api {

/// Certificates made by the openssl command, below a directory of the test.
class TestAuthority final {
 public:
  /// Makes NAME.crt and NAME.key of an authority.
  TestAuthority(std::string directory, const std::string& name);

  const std::string& certificate() const { return certificate_; }  ///< A path, as below.

  struct Pair {
    std::string certificate;
    std::string key;
  };
  /// Makes NAME.crt and NAME.key, signed; `alt_name` is "IP:127.0.0.1" or "DNS:api.example".
  Pair Issue(const std::string& name, const std::string& alt_name) const;

 private:
  const std::string directory_;
  std::string certificate_;
  std::string key_;
};

}  // namespace tenon::fake_api
