#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/strings.h"
#include "tenon/commands.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

/// How many single letters must change to make one word of the other.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

bool IsCommand(std::string_view word) {
  return std::any_of(Commands().begin(), Commands().end(),
                     [word](const Command& command) { return command.name == word; });
}

/// "'statsu' is no command of tenon; did you mean 'status'?"
std::string UnknownCommand(std::string_view word) {
  const auto& commands = Commands();
  auto nearest = std::min_element(commands.begin(), commands.end(),
                                  [word](const Command& a, const Command& b) {
                                    return EditDistance(word, a.name) < EditDistance(word, b.name);
                                  });
  std::string text = "'" + base::EscapeForLine(word) + "' is no command of tenon; ";
  if (EditDistance(word, nearest->name) <= 2)
    return text + "did you mean '" + std::string(nearest->name) + "'?";
  return text + "'tenon --help' lists them";
}

/// "tenon pod apply" for what was being read when the command line turned out wrong.
std::string Deepest(const CLI::App& app) {
  std::string name = app.get_name();
  for (const CLI::App* sub : app.get_subcommands())
    name += " " + Deepest(*sub);
  return name;
}

int ReportParseError(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {  // --help
    Print(app.help());
    return kExitOk;
  }
  PrintError(std::string(error.what()) + "; see '" + Deepest(app) + " --help'");
  return kExitUsage;
}

int Main(int argc, char** argv) {
  // A pipe that is closed early is an error of write(), not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app("Joins devices to pods: the Kubernetes device-plugin system.", "tenon");
  app.get_formatter()->column_width(28);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("Subcommands", "Commands");
  app.require_subcommand(1);
  std::map<const CLI::App*, RunFn> runs;
  for (const Command& command : Commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    runs[sub] = command.add(*sub);
  }
  app.footer(
      "'tenon COMMAND --help' tells more about one of them.\n"
      "Exit codes: 0 done, 1 failed, 2 wrong command line.");
  if (argc > 1 && argv[1][0] != '-' && !IsCommand(argv[1])) {
    PrintError(UnknownCommand(argv[1]));
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ReportParseError(app, error);
  }
  return runs.at(app.get_subcommands().front())();
}

}  // namespace
}  // namespace tenon::cli

int main(int argc, char** argv) {
  int code = tenon::cli::Main(argc, argv);
  if (tenon::cli::FlushOutput()) return code;
  tenon::cli::PrintError("standard output could not be written");
  return code == tenon::cli::kExitOk ? tenon::cli::kExitFailed : code;
}
