#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "tenon/commands.h"
#include "tenon/help_format.h"
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

std::vector<const CLI::App*> SubcommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// The first word that should be the name of a command and is not: "'statsu' is no command of
/// tenon; did you mean 'status'?".
std::optional<std::string> UnknownCommand(const CLI::App* app, int argc, char** argv) {
  std::string path = app->get_name();
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const std::string word = argv[i];
    auto commands = SubcommandsOf(*app);
    if (commands.empty()) return std::nullopt;
    auto nearest = std::min_element(commands.begin(), commands.end(), [&word](auto* a, auto* b) {
      return EditDistance(word, a->get_name()) < EditDistance(word, b->get_name());
    });
    size_t distance = EditDistance(word, (*nearest)->get_name());
    if (distance > 0) {
      std::string text = fmt::format("'{}' is no command of {}; ", word, path);
      if (distance <= 2) return text + fmt::format("did you mean '{}'?", (*nearest)->get_name());
      return text + fmt::format("'{} --help' lists them", path);
    }
    app = *nearest;
    path.append(" ").append(word);
  }
  return std::nullopt;
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
  std::string text = error.what();
  if (text == "A subcommand is required") text = "a command is required";
  if (text.starts_with("The ")) text[0] = 't';
  PrintError(text + "; see '" + Deepest(app) + " --help'");
  return kExitUsage;
}

int Main(int argc, char** argv) {
  // A pipe that is closed early is an error of write(), not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app("Joins devices to pods: the Kubernetes device-plugin system.", "tenon");
  UseHelpFormat(app);
  app.require_subcommand(1);
  std::map<const CLI::App*, RunFn> runs;
  for (const Command& command : Commands()) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    sub->group("Commands");
    runs[sub] = command.add(*sub);
  }
  app.footer(
      "'tenon COMMAND --help' tells more about one of them.\n"
      "Exit codes: 0 done, 1 failed, 2 wrong command line.");
  if (auto unknown = UnknownCommand(&app, argc, argv)) {
    PrintError(*unknown);
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

int main(int argc, char** argv) try {
  int code = tenon::cli::Main(argc, argv);
  if (tenon::cli::FlushOutput()) return code;
  tenon::cli::PrintError("standard output could not be written");
  return code == tenon::cli::kExitOk ? tenon::cli::kExitFailed : code;
} catch (const std::exception& error) {
  // Ours throws nothing; the standard library does when memory is used up.
  tenon::cli::PrintError(error.what());
  return tenon::cli::kExitFailed;
}
