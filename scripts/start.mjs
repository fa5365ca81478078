#!/usr/bin/env node
// In one process: signals reach the service itself, and nothing is started twice.
import { buildOrExit } from './build-if-stale.mjs';

buildOrExit();
await import('../dist/bin/main.js');
