#!/usr/bin/env node
// Standard output belongs to the command; the build writes to standard error.
import { buildOrExit } from './build-if-stale.mjs';

buildOrExit();
await import('../dist/bin/cli.js');
