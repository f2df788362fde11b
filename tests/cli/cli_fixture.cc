#include "cli_fixture.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tenon::cli_test {
namespace {

void ReplaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

CliTest::CliTest() {
  std::string pattern = ::testing::TempDir() + "tenon-cli-XXXXXX";
  directory = ::mkdtemp(pattern.data());
}

CliTest::~CliTest() {
  std::filesystem::remove_all(directory);
}

CliTest::Outcome CliTest::Run(std::vector<std::string> args, const std::string& input,
                              const std::function<void(process::Child&)>& while_running) {
  args.insert(args.begin(), TENON_BINARY);
  std::optional<process::ChildExit> ended;
  auto child = process::Child::Start(
      *loop, {.argv = std::move(args), .working_directory = directory, .input = input},
      [&ended](process::ChildExit exit) { ended = std::move(exit); });
  if (!child) {
    ADD_FAILURE() << child.error().message();
    return {};
  }
  EXPECT_TRUE(loop->RunUntil(
      [&] {
        if (while_running) while_running(**child);
        return ended.has_value();
      },
      std::chrono::seconds(25)));
  if (!ended) return {};
  return {.code = ended->code, .out = ended->output, .errors = ended->errors};
}

std::string CliTest::WriteFile(const std::string& name, const std::string& text) const {
  std::string path = directory + "/" + name;
  std::ofstream(path) << text;
  return path;
}

void CliTest::ExpectGolden(const std::string& name, std::string text) const {
  ReplaceAll(text, directory, "DIR");
  const std::string path = std::string(TENON_GOLDEN_DIR) + "/" + name;
  if (std::getenv("TENON_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::stringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(golden.str(), text) << "see " << path;
}

}  // namespace tenon::cli_test
