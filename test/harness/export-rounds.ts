import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { SeededRandom } from './seeded-random.js';
import { postmasterPid, startServiceProcess, type ServiceProcess } from './service-process.js';

/**
 * kill -9 of the service or of its Postgres while exports are written. Every export must end
 * completed, with the bytes that it says, or aborted with a reason.
 */

export interface ExportRoundsOptions {
  readonly dataDir: string;
  readonly service: ServiceProcess;
  readonly apiKey: string;
  readonly rounds: number;
  readonly random: SeededRandom;
  /** Exports of each round. */
  readonly exportsEach: number;
  readonly people: number;
  readonly report?: (line: string) => void;
}

export interface ExportReport {
  /** The one that runs at the end. */
  readonly service: ServiceProcess;
  readonly completed: number;
  readonly aborted: number;
  readonly violations: readonly string[];
}

interface Shown {
  readonly id: string;
  readonly status: string;
  readonly stats: Readonly<Record<string, unknown>> | null;
}

const TYPES = ['USER', 'REWARD', 'USER_REWARD_BALANCE'];
const FORMATS = ['CSV', 'XLSX'];
const OVER_WITHIN_MS = 240_000;
const LOOK_EVERY_MS = 200;

/** @throws when the service does not come back. */
export async function exportRounds(options: ExportRoundsOptions): Promise<ExportReport> {
  const { dataDir, apiKey, rounds, random, exportsEach, people } = options;
  let { service } = options;
  const client = new ExportClient(apiKey);
  await client.arrive(service.url, people);
  const violations: string[] = [];
  const counts = { completed: 0, aborted: 0 };
  for (let round = 1; round <= rounds; round++) {
    const ids: string[] = [];
    for (let asked = 0; asked < exportsEach; asked++)
      ids.push(await client.ask(service.url, asked, round));
    await delay(random.integer(0, 600));
    if (round % 2 === 1) {
      await service.kill();
      service = await startServiceProcess({ env: { DATA_DIR: dataDir } });
    } else process.kill((await postmasterPid(dataDir)) ?? 0, 'SIGKILL');
    await service.ready();
    for (const id of ids) {
      const shown = await client.over(service.url, id);
      if (shown.status === 'COMPLETED') counts.completed += 1;
      if (shown.status === 'ABORTED') counts.aborted += 1;
      const fault = await client.faultOf(service.url, shown);
      if (fault !== undefined) violations.push(`round ${round}: ${fault}`);
    }
    options.report?.(`round ${round}: ${counts.completed} completed, ${counts.aborted} aborted`);
  }
  return { service, ...counts, violations };
}

/** Asks again while the service or its database is away. */
class ExportClient {
  constructor(private readonly apiKey: string) {}

  async arrive(url: string, people: number): Promise<void> {
    for (let number = 0; number < people; number++) {
      const id = `person-${number}`;
      await this.json(url, '/accountsync', { id, subscription: { status: 'TRIAL' } });
      await this.json(url, '/user', { id, accountId: id, firstName: `Ann ${number}` });
    }
  }

  async ask(url: string, number: number, round: number): Promise<string> {
    const type = TYPES[number % TYPES.length];
    const format = FORMATS[number % FORMATS.length];
    const key = `export-${round}-${number}`;
    return ((await this.json(url, '/export', { type, format }, key)) as Shown).id;
  }

  async over(url: string, id: string): Promise<Shown> {
    const end = performance.now() + OVER_WITHIN_MS;
    for (;;) {
      const shown = (await this.json(url, `/export/${id}`)) as Shown;
      if (shown.status !== 'PENDING' || performance.now() > end) return shown;
      await delay(LOOK_EVERY_MS);
    }
  }

  /** Undefined: there is none. */
  async faultOf(url: string, { id, status, stats }: Shown): Promise<string | undefined> {
    if (status === 'ABORTED')
      return typeof stats?.['reason'] === 'string' ? undefined : `${id} is aborted without reason`;
    if (status !== 'COMPLETED') return `${id} is ${status}`;
    const response = await this.fetched(url, `/export/${id}/download`);
    const bytes = Buffer.from(await response.arrayBuffer());
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const isWhole = bytes.length === stats?.['bytes'] && sha256 === stats['sha256'];
    return response.status === 200 && isWhole ? undefined : `${id} is not the file that it says`;
  }

  private async json(url: string, path: string, body?: object, key?: string): Promise<unknown> {
    return (await this.fetched(url, path, body, key)).json();
  }

  private async fetched(url: string, path: string, body?: object, key?: string): Promise<Response> {
    const end = performance.now() + OVER_WITHIN_MS;
    for (;;) {
      const response = await fetch(`${url}/api/v1/demo${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(`:${this.apiKey}`).toString('base64')}`,
          ...(body && { 'content-type': 'application/json' }),
          ...(key !== undefined && { 'idempotency-key': key }),
        },
        ...(body && { body: JSON.stringify(body) }),
      }).catch(() => undefined);
      if (response !== undefined && response.status < 500 && response.status !== 409)
        return response;
      if (performance.now() > end) throw new Error(`${path}: no answer`);
      await response?.arrayBuffer().catch(() => undefined);
      await delay(LOOK_EVERY_MS);
    }
  }
}
