import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import { projectRoot } from '../test/harness/service-process.js';

/**
 * Where the service's process spends its time in a route of `bench:http`: self time under load by
 * part, in percent of the time that it is not idle. Each route has a service of its own, with all
 * roles in one process.
 *
 * `BENCH_SECONDS` (8) under load per route, `BENCH_ONLY`: a part of the names to measure; the other
 * variables are those of `bench:http`.
 */
const SECONDS = Number(process.env.BENCH_SECONDS ?? 8);
const ONLY = process.env.BENCH_ONLY ?? '';
/** The two bare sides and the route; each also runs a second for its start. */
const MEASURED_US = 3 * (SECONDS + 1) * 1_000_000;

const ROUTES = [
  'GET /reward/balance',
  'GET /account/{id}/user/{id}',
  'GET /code/{code}',
  'GET /reward/{id}',
  'POST /credit/{id}/redeem',
  'POST /user',
  'POST /accountsync',
] as const;

/** The first part whose pattern fits the path of the source, or the name of a native function. */
const PARTS = [
  ['garbage', /^\(garbage collector\)$/],
  [
    'sockets and streams',
    /^(?:write|read|shutdown|close|node:(?:net|_http|http|internal\/stream|stream|events|internal\/(?:tls|js_stream)))/,
  ],
  ['hashing and encryption', /^(?:node:(?:internal\/)?crypto|src\/privacy)/],
  [
    'framework',
    /node_modules\/(?:fastify|@fastify|find-my-way|@nestjs|light-my-request|avvio|rxjs|reflect-metadata|secure-json-parse|fast-json-stringify|fast-querystring)/,
  ],
  [
    'validation',
    /node_modules\/(?:class-validator|class-transformer|validator|zod|ajv)|^src\/http\/shapes/,
  ],
  ['driver', /node_modules\/(?:pg|pg-.*|kysely|postgres-.*)\/|^src\/postgres/],
  [
    'logging',
    /node_modules\/(?:pino|sonic-boom|@opentelemetry|prom-client|thread-stream)|^src\/observability/,
  ],
  ['credentials and limits', /^src\/(?:http\/(?:credentials|limits)|tenants)/],
  ['edge and routes', /^src\/http/],
  ['decision', /^src\/(?:domain|command-handling|idempotency)/],
  ['event log', /^src\/event-log/],
  [
    'projecting',
    /^(?:src\/(?:projecting|following|reacting|policies|webhooks|chain|stores)|projections)/,
  ],
] as const;
const OTHER = 'the rest of Node and of the service';

const profileSchema = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.number() }),
    }),
  ),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});
type Profile = z.infer<typeof profileSchema>;

/** In a bundle, a line `// path` precedes the code of each source. */
class Sources {
  private readonly marks = new Map<string, (string | undefined)[]>();

  async pathAt(bundle: string, line: number): Promise<string> {
    const lines = this.marks.get(bundle) ?? (await this.read(bundle));
    this.marks.set(bundle, lines);
    return lines.slice(0, line + 1).findLast((path) => path !== undefined) ?? basename(bundle);
  }

  private async read(bundle: string): Promise<(string | undefined)[]> {
    const text = await readFile(bundle, 'utf8');
    return text
      .split('\n')
      .map((each) => /^\/\/ (?:dist\/)?((?:src|projections|node_modules)\/.*)$/.exec(each)?.[1]);
  }
}

async function partsOf(profile: Profile): Promise<ReadonlyMap<string, number>> {
  const { nodes, samples, timeDeltas } = profile;
  const self = new Map<number, number>();
  let left = MEASURED_US;
  for (let index = samples.length - 1; index >= 0 && left > 0; index--) {
    const [id, us] = [samples[index] ?? 0, timeDeltas[index] ?? 0];
    left -= us;
    self.set(id, (self.get(id) ?? 0) + us);
  }
  const sources = new Sources();
  const parts = new Map<string, number>();
  for (const { id, callFrame } of nodes) {
    const { functionName, url, lineNumber } = callFrame;
    const us = self.get(id) ?? 0;
    if (us === 0 || functionName === '(idle)' || functionName === '(program)') continue;
    const path = url.startsWith('file:')
      ? await sources.pathAt(fileURLToPath(url), lineNumber)
      : url || functionName;
    const part = PARTS.find(([, pattern]) => pattern.test(path))?.[0] ?? OTHER;
    parts.set(part, (parts.get(part) ?? 0) + us);
  }
  return parts;
}

async function measure(route: string): Promise<ReadonlyMap<string, number>> {
  const dir = await mkdtemp(join(tmpdir(), 'bench-profile-'));
  try {
    await promisify(execFile)(process.execPath, [join(projectRoot(), 'dist/bench/http.js')], {
      env: {
        ...process.env,
        BENCH_ONLY: route,
        BENCH_ROUNDS: '1',
        BENCH_SECONDS: String(SECONDS),
        BENCH_NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${dir}`,
      },
    });
    // A thread has a file of its own; the service's is the largest.
    const files = await Promise.all(
      (await readdir(dir)).map(async (name) => ({
        path: join(dir, name),
        size: (await stat(join(dir, name))).size,
      })),
    );
    const [{ path } = { path: '' }] = files.sort((a, b) => b.size - a.size);
    return await partsOf(profileSchema.parse(JSON.parse(await readFile(path, 'utf8'))));
  } finally {
    await rm(dir, { recursive: true });
  }
}

const measured: (readonly [string, ReadonlyMap<string, number>])[] = [];
for (const route of ROUTES.filter((name) => name.includes(ONLY)))
  measured.push([route, await measure(route)]);
const shareOf = (parts: ReadonlyMap<string, number>, part: string): string => {
  const all = [...parts.values()].reduce((sum, us) => sum + us, 0);
  return `${(((parts.get(part) ?? 0) / all) * 100).toFixed(0)} %`;
};
console.log(`| Self time | ${measured.map(([route]) => route).join(' | ')} |`);
console.log(`|${' --- |'.repeat(measured.length + 1)}`);
for (const part of [...PARTS.map(([name]) => name), OTHER])
  console.log(`| ${part} | ${measured.map(([, parts]) => shareOf(parts, part)).join(' | ')} |`);
