// The image holds the service compiled: nothing is built at the start.
import { completeEnvironment } from './environment.mjs';

completeEnvironment();
if (!process.env.DATABASE_URL?.trim()) {
  process.stderr.write('DATABASE_URL is required: the image has no embedded Postgres\n');
  process.exit(1);
}
await import('../dist/bin/main.js');
