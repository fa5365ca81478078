#!/usr/bin/env node
// Lints the OpenAPI document of a service that this command starts on an empty data folder: Redocly and Spectral with their recommended rules. Any error
// or warning is a failure.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'ledger-reference-'));
const file = join(folder, 'openapi.json');

/** The document as clients get it. */
async function downloadDocument() {
  const service = spawn(process.execPath, [join(root, 'scripts/start.mjs')], {
    cwd: root,
    env: { ...process.env, PORT: '0', DATA_DIR: join(folder, 'data'), LOG_FORMAT: 'json' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => service.once('exit', resolve));
  try {
    let output = '';
    for await (const chunk of service.stdout) {
      output += chunk;
      const [, url] = /"url":"([^"]+)"[^\n]*"msg":"listening"/.exec(output) ?? [];
      if (url === undefined) continue;
      return await (await fetch(`${url}/openapi.json`)).text();
    }
    throw new Error(`the service did not start:\n${output}`);
  } finally {
    service.kill('SIGTERM');
    await ended;
  }
}

const lint = (tool, ...args) =>
  spawnSync(join(root, 'node_modules/.bin', tool), ['lint', file, ...args], {
    cwd: root,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    stdio: 'inherit',
  }).status === 0;

try {
  writeFileSync(file, await downloadDocument());
  const isClean = [
    lint('redocly', '--config', 'redocly.yaml'),
    lint('spectral', '--ruleset', '.spectral.yaml', '--fail-severity', 'warn'),
  ].every(Boolean);
  process.exitCode = isClean ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
