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

it('nginx counts an IPv6 address by its first 64 bits, also where zeros are left out', () => {
  const [, lines = ''] =
    /map \$remote_addr \$client_network \{([^}]*)\}/.exec(
      readFileSync(join(shipped, 'nginx.conf'), 'utf8'),
    ) ?? [];
  const patterns = [...lines.matchAll(/~(\S+) \$network;/g)].map(([, text = '']) => RegExp(text));
  const networkOf = (address: string) =>
    patterns.map((pattern) => pattern.exec(address)?.groups?.['network']).find(Boolean) ?? address;
  const addresses = ['2001:db8:1:2:3:4:5:6', '2001:db8::a:b:c:d', '2001:db8:1::b:c:d', '::1'];
  expect(['192.0.2.7', ...addresses].map(networkOf)).toEqual([
    '192.0.2.7',
    '2001:db8:1:2',
    '2001:db8::',
    '2001:db8:1::',
    '::',
  ]);
});

it('a page of any origin can read the errors of nginx itself', () => {
  const locations = readFileSync(join(shipped, 'locations.conf'), 'utf8');
  const own = [...locations.matchAll(/location @\w+ \{([^}]*)/g)].map(([, lines = '']) => lines);
  expect(own).toHaveLength(3);
  for (const lines of own)
    expect(lines).toContain('add_header Access-Control-Allow-Origin * always;');
});
