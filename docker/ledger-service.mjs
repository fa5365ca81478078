#!/usr/bin/env node
// The command line: `docker compose exec ledger ledger-service tenant list`.
import { completeEnvironment } from './environment.mjs';

completeEnvironment();
await import('../dist/bin/cli.js');
