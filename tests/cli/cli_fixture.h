#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loop/event_loop.h"
#include "process/child.h"

namespace tenon::cli_test {

/// Runs the real `tenon` on the loop on which the fake daemons live.
struct CliTest : ::testing::Test {
  struct Outcome {
    int code = -1;
    std::string out;
    std::string errors;
  };

  CliTest();
  ~CliTest() override;

  /// Starts the program and waits for its end. `while_running` is called now and then.
  Outcome Run(std::vector<std::string> args, const std::string& input = {},
              const std::function<void(process::Child&)>& while_running = {});
  std::string WriteFile(const std::string& name, const std::string& text) const;
  /// Compares with the file of that name in golden/, in which DIR stands for `directory`.
  void ExpectGolden(const std::string& name, std::string text) const;

  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::string directory;
};

}  // namespace tenon::cli_test
