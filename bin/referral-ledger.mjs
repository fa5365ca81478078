#!/usr/bin/env node
// `referral-ledger start` starts the service; every other word is a command of the command line.
import { buildOrExit } from '../scripts/build-if-stale.mjs';

buildOrExit();
if (process.argv[2] === 'start') {
  process.argv.splice(2, 1);
  await import('../dist/bin/main.js');
} else await import('../dist/bin/cli.js');
