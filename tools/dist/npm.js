#!/usr/bin/env node
// Starts the runplan binary of this system's package.
"use strict";

const { spawnSync } = require("node:child_process");

const name = `@runplan/${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "runplan.exe" : "runplan";

let program;
try {
  program = require.resolve(`${name}/bin/${file}`);
} catch {
  console.error(`runplan: the package ${name} is not installed; install again without --omit=optional, or see https://github.com/runplan/runplan/releases`);
  process.exit(1);
}
const result = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (result.error) {
  console.error(`runplan: ${result.error.message}`);
  process.exit(1);
}
if (result.signal) process.kill(process.pid, result.signal);
process.exit(result.status);
