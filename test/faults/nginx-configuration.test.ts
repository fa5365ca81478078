import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const shipped = join(__dirname, '..', '..', 'docker', 'nginx');
const nginx = ['nginx', '/usr/sbin/nginx'].find(
  (path) => spawnSync(path, ['-v']).error === undefined,
);

// Debian's package has it: apt-get install nginx.
const ifInstalled = nginx === undefined ? it.skip : it;
const reason = nginx === undefined ? ' (skipped: nginx is not installed)' : '';

ifInstalled(`nginx takes the configuration${reason}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-nginx-'));
  try {
    cpSync(shipped, folder, { recursive: true });
    // The name of the composition is not known here.
    const upstream = join(folder, 'upstream.conf');
    const addresses = readFileSync(upstream, 'utf8').replaceAll(
      /server [\w-]+:/g,
      'server 127.0.0.1:',
    );
    writeFileSync(upstream, addresses);
    const { status, stderr } = spawnSync(
      nginx ?? '',
      ['-t', '-p', folder, '-c', join(folder, 'nginx.conf')],
      // nginx cannot open a socket of its parent as /dev/stdout.
      { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] },
    );
    expect([status, stderr]).toEqual([0, expect.stringContaining('test is successful')]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
