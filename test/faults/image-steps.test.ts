// Over 5 s: installs the packages of the image, twice, and starts the service from it.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import {
  environmentOf,
  readComposeFile,
  readDockerfile,
  textsOf,
  type BuildStage,
} from '../support/container-files.js';
import { eventually } from '../support/embedded.js';
import { startOwnPostgres, type OwnPostgres } from '../harness/own-postgres.js';
import { freePort, statusOf } from '../harness/service-process.js';

/**
 * The steps of docker/Dockerfile, in folders that stand in for the file systems of its stages, and
 * its result under the user of the image, which takes root. Needs no engine: the Node.js of this
 * machine takes the place of the base image.
 */

const root = join(__dirname, '..', '..');
const stages = readDockerfile();
const image = stages.at(-1)!;
/** The words of an instruction that has them as JSON. */
const wordsOf = (name: string): readonly string[] =>
  z.array(z.string()).parse(JSON.parse(/\[.*\]$/.exec(textsOf(image, name).join(''))?.[0] ?? ''));

const isRoot = process.getuid?.() === 0;
// The folder of the key belongs to another user.
const ifRoot = isRoot ? it : it.skip;
jest.setTimeout(400_000);

let folder: string;
let server: OwnPostgres;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ledger-image-steps-'));
  await chmod(folder, 0o755);
  server = await startOwnPostgres();
  // Its certificate is for others, too.
  await chmod(server.folder, 0o755);
  await server.asSuperuser(
    'postgres',
    `create role ledger login password 'pw'`,
    `create database ledger owner ledger encoding 'UTF8' template template0`,
  );
});
afterAll(async () => {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

/** A text with paths of the image, with what they are here. */
const here = (text: string, stage: string): string =>
  text.replaceAll(/(?<=^|[ =])\/(?=app|var|usr)/g, `${stage}/`);

async function build(stage: BuildStage): Promise<string> {
  const at = join(folder, stage.name ?? 'final');
  for (const there of ['usr/local/bin', 'var/lib'])
    await mkdir(join(at, there), { recursive: true });
  const cwd = here(textsOf(stage, 'WORKDIR').join(''), at);
  await mkdir(cwd);
  const run = (script: string, from: string) =>
    promisify(execFile)('sh', ['-ec', script], { cwd: from });
  for (const { instruction, text } of stage.steps)
    if (instruction === 'RUN') await run(here(text, at), cwd);
    else if (instruction === 'COPY') {
      const [, from, paths = ''] = /^(?:--from=(\S+) )?(.*)$/.exec(text) ?? [];
      const [, sources = '', target = ''] = /^(.*) (\S+)$/.exec(paths) ?? [];
      // Of a folder its contents, as an engine does it.
      await run(
        `mkdir -p ${cwd}/${target}
         for one in ${from === undefined ? sources : here(sources, join(folder, from))}
         do if [ -d $one ]; then cp -a $one/. ${cwd}/${target}; else cp -a $one ${cwd}/${target}; fi; done`,
        root,
      );
    }
  return at;
}

ifRoot(
  'the image is built by its steps, and answers as its user, who can write nowhere (needs root)',
  async () => {
    for (const stage of stages) await build(stage);
    const final = join(folder, 'final');
    const app = join(final, 'app');
    const port = await freePort();
    const set = Object.entries(environmentOf(image)).map(([k, v]) => [k, here(v, final)]);
    const env = {
      PATH: `${final}/usr/local/bin:${process.env.PATH}`,
      ...Object.fromEntries(set),
      HOST: '127.0.0.1',
      PORT: String(port),
      DATABASE_URL: server.url('ledger', 'pw', 'ledger'),
      LOG_LEVEL: 'warn',
    };
    const [uid, gid] = textsOf(image, 'USER').join('').split(':').map(Number);
    const options = { cwd: app, env, uid, gid };
    const run = async (...words: readonly string[]): Promise<string> =>
      (await promisify(execFile)(words[0] ?? '', words.slice(1), options)).stdout;

    await run(
      ...(readComposeFile('compose.yaml').services['master-key']?.command ?? []).map((word) =>
        here(word, final),
      ),
    );
    const writable = await run('find', final, '-writable', '!', '-type', 'l');
    expect(writable).toBe(`${final}/var/lib/ledger\n`);
    const [program = '', ...args] = wordsOf('CMD');
    const service = spawn(program, args, { ...options, stdio: ['ignore', 'ignore', 'inherit'] });
    const ended = once(service, 'exit');
    const origin = `http://127.0.0.1:${port}`;
    try {
      await eventually(async () => (await statusOf(`${origin}/health/ready`)) === 200);
      await run(...wordsOf('HEALTHCHECK'));
      const made = await run('ledger-service', 'tenant', 'create', 'acme', '--json');
      const { liveApiKey } = JSON.parse(made) as { readonly liveApiKey: string };
      const headers = { authorization: `Basic ${btoa(`:${liveApiKey}`)}` };
      const users = await fetch(`${origin}/api/v1/acme/users`, { headers });
      expect(await users.json()).toMatchObject({ totalCount: 0 });
      // Pages are templates with a style sheet and scripts; the reference has texts from docs/.
      const page = await (await fetch(`${origin}/console`)).text();
      const files = [...page.matchAll(/(?:src|href)="(\/[^"]+\.(?:css|js|svg)[^"]*)"/g)];
      expect(files.length).toBeGreaterThan(2);
      const known = ['/', '/docs', '/openapi.json', '/console', ...files.map(([, path]) => path)];
      const answers = known.map(async (path) => [path, (await fetch(`${origin}${path}`)).status]);
      expect(await Promise.all(answers)).toEqual(known.map((path) => [path, 200]));
      expect((await fetch(`${origin}/r/acme/NOONE`)).status).toBe(404);
    } finally {
      service.kill('SIGTERM');
      await ended;
    }
    expect(service.exitCode).toBe(0);
  },
);
