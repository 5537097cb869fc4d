// SPDX-License-Identifier: Apache-2.0
// shufflectl inspects datasets and mounts. See shufflectl(1).
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "mount-tools/config/paths.h"
#include "mount-tools/ctl/shufflectl_app.h"

int main(int argc, char** argv) try {
  // Where a parent ignores it, how a child ended would not be known.
  std::signal(SIGCHLD, SIG_DFL);
  // SIGPIPE keeps its default action: `shufflectl order | head` ends silently.
  shufflefs::CommandContext context;
  // If nobody can name the working directory, "/" is used: commands with
  // absolute paths still work.
  context.cwd = shufflefs::WorkingDirectory().value_or("/");
  context.out = &std::cout;
  context.err = &std::cerr;
  context.err_terminal = isatty(STDERR_FILENO) == 1;
  context.out_terminal = isatty(STDOUT_FILENO) == 1;
  return shufflefs::RunShufflectl(
      std::vector<std::string>(argv + 1, argv + argc), context);
} catch (const std::exception& error) {  // no memory, or no thread
  std::fprintf(stderr, "shufflectl: %s\n", error.what());
  return 1;
}
