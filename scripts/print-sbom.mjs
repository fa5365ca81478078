#!/usr/bin/env node
// Prints what is shipped, as CycloneDX: npm run --silent sbom > sbom.json
// From the lock file without the packages of development. `npm sbom --omit=dev` leaves out packages that the service and a tool both use.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'));

const { devDependencies: _, ...manifest } = read('package.json');
const lock = read('package-lock.json');
const shipped = Object.entries(lock.packages).filter(([, { dev }]) => dev !== true);
const packages = Object.fromEntries(shipped);
const { devDependencies: __, ...project } = packages[''];

const folder = mkdtempSync(join(tmpdir(), 'ledger-sbom-'));
try {
  // npm takes the name of the folder for that of the project.
  const copy = join(folder, manifest.name);
  mkdirSync(copy);
  const write = (name, content) => writeFileSync(join(copy, name), JSON.stringify(content));
  write('package.json', manifest);
  write('package-lock.json', { ...lock, packages: { ...packages, '': project } });
  const { status } = spawnSync(
    'npm',
    ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'],
    { cwd: copy, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
