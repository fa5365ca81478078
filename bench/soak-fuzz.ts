import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { OpenAPIObject } from '@nestjs/swagger';
import { pino } from 'pino';
import { loadConfig } from '../src/config/config.js';
import { newOperatorKey } from '../src/config/operators.js';
import { openCore } from '../src/stores/core.js';
import { fuzz, type FuzzReport } from './fuzz/fuzz-run.js';
import { MARK, type Ledger } from './fuzz/ledger-values.js';
import { OpenApiValidator } from '../test/harness/openapi-validator.js';
import { openOutsideWorld } from './fuzz/outside-world.js';
import { createLedgers } from './fuzz/small-world.js';
import { makeTrouble, TROUBLES } from './postgres-rounds.js';
import { seedFrom, SeededRandom } from '../test/harness/seeded-random.js';
import {
  makeDataDir,
  removeDataDir,
  startServiceProcess,
  statusOf,
} from '../test/harness/service-process.js';

/**
 * Requests made from the service's own description, valid, nearly valid and wild, against the
 * compiled service. Fails (exit 1) with the first violations, each with a command that sends the
 * request again. `--requests` of each operation (5 000), `--seed`, `--faults`: Postgres is killed
 * and frozen meanwhile, `--keep`: after violations the service runs on until Ctrl-C.
 */
const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '5000' },
    seed: { type: 'string' },
    faults: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});
const REQUESTS = Number(values.requests);
const SHOWN_MAX = 20;
/** Also on a busy machine. */
const READY_MS_MAX = 180_000;
const seed = seedFrom(values.seed);

async function main(): Promise<void> {
  console.log(`seed ${seed}`);
  const dataDir = await makeDataDir();
  const operators = (['fay', 'sam'] as const).map((name) => ({
    name,
    ...newOperatorKey(name, ['finance', 'support']),
  }));
  const operatorsFile = join(dataDir, 'operators.json');
  await writeFile(operatorsFile, JSON.stringify(operators.map(({ entry }) => entry)), {
    mode: 0o600,
  });
  let [marked, shown] = [0, 0];
  const failures: string[] = [];
  const outside = await openOutsideWorld();
  const service = await startServiceProcess({
    env: {
      DATA_DIR: dataDir,
      OPERATORS_FILE: operatorsFile,
      LOG_LEVEL: 'info',
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
      SMTP_URL: outside.smtpUrl,
    },
    onOutput: (text) => {
      if (text.toLowerCase().includes(MARK)) marked += 1;
      failures.push(...text.split('\n').filter((line) => /"level":[56]0/.test(line)));
    },
  });
  try {
    await service.ready(READY_MS_MAX);
    const ledgers = await ledgersIn(dataDir, outside.url);
    const response = await fetch(`${service.url}/openapi.json`);
    const random = new SeededRandom(seed);
    const trouble = async (): Promise<void> => {
      await makeTrouble(random.pick(TROUBLES), dataDir, random);
      await untilReady(service.url);
    };
    const report = await fuzz({
      world: { origin: service.url, ledgers, operators },
      validator: new OpenApiValidator((await response.json()) as OpenAPIObject),
      seed,
      requests: REQUESTS,
      ...(values.faults ? { trouble } : {}),
      onProgress: (line) => console.log(line),
      onViolation: ({ what, curl }) => {
        shown += 1;
        if (shown <= SHOWN_MAX) console.log(`${what}\n  ${curl}`);
      },
    });
    print(report);
    for (const failure of failures.slice(0, SHOWN_MAX)) console.log(failure);
    if (values.keep && report.violations.length > 0) {
      console.log(`the service runs on at ${service.url}; Ctrl-C ends it`);
      await once(process, 'SIGINT');
    }
    const code = await service.terminate();
    const faults = [
      ...(report.violations.length === 0 ? [] : [`${report.violations.length} violations`]),
      ...(code === 0 ? [] : [`the stop ended with ${code}`]),
      ...(marked === 0 ? [] : [`${marked} times a value of a client was logged`]),
    ];
    if (faults.length > 0) throw new Error(faults.join('; '));
  } finally {
    await service.kill();
    await outside.close();
    await removeDataDir(dataDir);
  }
}

/** Made next to the service, as the command line does. */
async function ledgersIn(dataDir: string, outside: string): Promise<readonly Ledger[]> {
  const core = await openCore({
    config: loadConfig({ DATA_DIR: dataDir }),
    logger: pino({ level: 'silent' }),
    actor: { kind: 'system', id: 'fuzz' },
    applicationName: 'ledger-fuzz',
  });
  try {
    return await createLedgers(core.tenantCommands, {
      aliases: ['fuzz-one', 'fuzz-two'],
      outside: { url: outside, alias: 'fuzz-paid' },
    });
  } finally {
    await core.close();
  }
}

async function untilReady(url: string): Promise<void> {
  const deadline = performance.now() + READY_MS_MAX;
  while ((await statusOf(`${url}/health/ready`)) !== 200) {
    if (performance.now() > deadline) throw new Error('the service is not ready again');
    await delay(50);
  }
}

function print({ operations, violations, requests }: FuzzReport): void {
  for (const [key, tally] of [...operations].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const statuses = [...tally.statuses]
      .sort(([a], [b]) => a - b)
      .map(([status, count]) => `${status}: ${count}`);
    console.log(
      `${key}\n  ${tally.requests} requests, ${tally.violations} violations, ` +
        `${tally.accepted} of ${tally.valid} valid ones accepted; ${statuses.join(', ')}`,
    );
  }
  console.log(`${requests} requests, ${violations.length} violations`);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  console.error(`again with --seed ${seed} --requests ${REQUESTS}`);
  process.exitCode = 1;
});
