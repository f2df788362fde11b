#include "fake_api/test_authority.h"

#include <cstdlib>
#include <utility>

#include "base/check.h"

namespace tenon::fake_api {

namespace {

void RunOpenssl(const std::string& arguments) {
  const std::string command = "openssl " + arguments + " >/dev/null 2>&1";
  TENON_CHECK(std::system(command.c_str()) == 0);
}

constexpr const char* kNewKey =
    "req -x509 -days 1 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256";

}  // namespace

TestAuthority::TestAuthority(std::string directory, const std::string& name)
    : directory_(std::move(directory)),
      certificate_(directory_ + "/" + name + ".crt"),
      key_(directory_ + "/" + name + ".key") {
  RunOpenssl(std::string(kNewKey) + " -subj /CN=" + name + " -keyout " + key_ + " -out " +
             certificate_);
}

TestAuthority::Pair TestAuthority::Issue(const std::string& name,
                                         const std::string& alt_name) const {
  Pair pair{.certificate = directory_ + "/" + name + ".crt",
            .key = directory_ + "/" + name + ".key"};
  RunOpenssl(std::string(kNewKey) + " -CA " + certificate_ + " -CAkey " + key_ +
             " -subj /CN=" + name + " -addext subjectAltName=" + alt_name +
             " -addext basicConstraints=critical,CA:FALSE -keyout " + pair.key + " -out " +
             pair.certificate);
  return pair;
}

}  // namespace tenon::fake_api
