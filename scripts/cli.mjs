#!/usr/bin/env node
// Standard output belongs to the command: whatever the build says goes to standard error.
import { buildOrExit } from './build-if-stale.mjs';

buildOrExit();
await import('../dist/bin/cli.js');
