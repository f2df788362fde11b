#pragma once

namespace CLI {
class App;
}

namespace tenon::cli {

/// Makes the help of `app` and of the subcommands added after this call look like a man page's
/// synopsis: arguments in capitals, defaults behind the text, one line for each option.
void UseHelpFormat(CLI::App& app);

}  // namespace tenon::cli
