import { setTimeout as delay } from 'node:timers/promises';
import type { Core } from '../src/core/core.js';
import type { Scope } from '../src/domain/scope.js';
import { LedgerClient } from './ledger-client.js';
import { rewardLinesAt } from './rewards-in-log.js';

/** An export of rewards while rewards are granted, cancelled and read. */

export interface ExportLoadOptions {
  /** Of the service, without path. */
  readonly url: string;
  readonly apiKey: string;
  /** On the same stores. */
  readonly core: Core;
  readonly scope: Scope;
  /** Writes a second that are offered: half of them grant, the others cancel what was granted. */
  readonly writesPerSecond: number;
  /** Accounts that are written: each decides its writes one after the other. */
  readonly writers: number;
  readonly readers: number;
  /** Of the phase before each export. */
  readonly phaseMs: number;
}

export interface Phase {
  readonly ms: number;
  readonly writes: number;
  /** Writes that were due while as many as may be were under way. */
  readonly notOffered: number;
  /** Milliseconds of each read. */
  readonly reads: readonly number[];
  /** Answers of another kind than expected. */
  readonly faults: readonly string[];
}

export interface ExportUnderLoad {
  /** The same load without an export. */
  readonly before: Phase;
  readonly beside: Phase;
  readonly rows: number;
  readonly bytes: number;
  /** Undefined: the file is the state at its position. */
  readonly difference: string | undefined;
}

const WRITES_AT_ONCE = 64;
const TICK_MS = 10;
const READ_PAUSE_MS = 5;
const LOOK_EVERY_MS = 200;
const REWARD = { type: 'CREDIT', unit: 'CENTS', assignedCredit: 1 };
const OVER_WITHIN_MS = 1_800_000;
/** @throws when the export is not completed. */
export async function exportUnderLoad(options: ExportLoadOptions): Promise<ExportUnderLoad> {
  const { url, apiKey, phaseMs, core, scope, writers } = options;
  const client = new LedgerClient({ url, apiKey, tenant: scope.tenant, connectionsMax: 128 });
  for (let writer = 0; writer < writers; writer++) {
    const id = `writer-${writer}`;
    await expectOk(client.post('accountsync', { id, subscription: { status: 'TRIAL' } }));
    await expectOk(client.post('user', { id: 'u', accountId: id }));
  }
  const load = new Load(client, options);
  load.start();
  try {
    await delay(phaseMs / 4);
    load.takePhase();
    await delay(phaseMs);
    const before = load.takePhase();
    const { id, stats } = await exported(client);
    const beside = load.takePhase();
    await load.stop();
    const file = await download(options, id);
    const difference = differenceOf(file, await rewardLinesAt(core, scope, stats.position));
    return { before, beside, rows: stats.rows, bytes: stats.bytes, difference };
  } finally {
    await load.stop();
    client.close();
  }
}

interface Completed {
  readonly id: string;
  readonly status: string;
  readonly stats: { readonly position: string; readonly rows: number; readonly bytes: number };
}

async function exported(client: LedgerClient): Promise<Completed> {
  const { id } = (await expectOk(client.post('export', { type: 'REWARD' }))) as Completed;
  const end = performance.now() + OVER_WITHIN_MS;
  while (performance.now() < end) {
    const shown = (await expectOk(client.get(`export/${id}`))) as Completed;
    if (shown.status === 'COMPLETED') return shown;
    if (shown.status !== 'PENDING') throw new Error(`the export is ${shown.status}`);
    await delay(LOOK_EVERY_MS);
  }
  throw new Error('the export did not end');
}

async function expectOk(answer: ReturnType<LedgerClient['get']>): Promise<unknown> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}

async function download(
  { url, apiKey, scope }: Pick<ExportLoadOptions, 'url' | 'apiKey' | 'scope'>,
  id: string,
): Promise<string> {
  const authorization = `Basic ${Buffer.from(`:${apiKey}`).toString('base64')}`;
  const response = await fetch(`${url}/api/v1/${scope.tenant}/export/${id}/download`, {
    headers: { authorization },
  });
  if (response.status !== 200) throw new Error(`the download is ${response.status}`);
  return response.text();
}

/** The first line that differs. */
function differenceOf(file: string, lines: readonly string[]): string | undefined {
  const written = file.split('\n');
  if (written.pop() !== '') return 'the last line has no end';
  const place = lines.findIndex((line, index) => written[index] !== line);
  if (place >= 0) return `line ${place + 1}: ${written[place] ?? 'none'}, not ${lines[place]}`;
  return written.length === lines.length ? undefined : `${written.length} lines`;
}

const nothing = () => ({
  startedAt: performance.now(),
  writes: 0,
  notOffered: 0,
  reads: [] as number[],
  faults: [] as string[],
});

/** Writes at a rate, whatever the answers take, and readers one request after the other. */
class Load {
  private phase = nothing();
  private isOver = false;
  private readonly under = new Set<Promise<void>>();
  private readonly granted: string[] = [];
  private work: Promise<unknown> = Promise.resolve();
  private grants = 0;

  constructor(
    private readonly client: LedgerClient,
    private readonly options: Pick<ExportLoadOptions, 'writesPerSecond' | 'writers' | 'readers'>,
  ) {}

  start(): void {
    const readers = Array.from({ length: this.options.readers }, () => this.read());
    this.work = Promise.all([this.write(), ...readers]);
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await this.work;
  }

  takePhase(): Phase {
    const { startedAt, ...counted } = this.phase;
    this.phase = nothing();
    return { ms: performance.now() - startedAt, ...counted };
  }

  private async write(): Promise<void> {
    const { writesPerSecond } = this.options;
    const startedAt = performance.now();
    for (let sent = 0; !this.isOver; await delay(TICK_MS)) {
      const due = ((performance.now() - startedAt) / 1_000) * writesPerSecond;
      for (; sent < due; sent++) {
        if (this.under.size >= WRITES_AT_ONCE) this.phase.notOffered += 1;
        else this.send();
      }
    }
    await Promise.all(this.under);
  }

  private send(): void {
    const written: Promise<void> = this.one()
      .catch((error: unknown) => void this.phase.faults.push(String(error)))
      .finally(() => this.under.delete(written));
    this.under.add(written);
  }

  private async one(): Promise<void> {
    const { client } = this;
    const id = this.granted.length > WRITES_AT_ONCE ? this.granted.shift() : undefined;
    const { status, body } = await (id === undefined
      ? client.post(`rewards/account/writer-${this.grants++ % this.options.writers}/user/u`, REWARD)
      : client.post(`reward/${id}/cancel`, {}));
    if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
    if (id === undefined) this.granted.push((body as { readonly id: string }).id);
    this.phase.writes += 1;
  }

  private async read(): Promise<void> {
    for (let turn = 0; !this.isOver; turn++, await delay(READ_PAUSE_MS)) {
      const { status, ms } = await this.client.get(`reward/balance?accountId=account-${turn % 97}`);
      this.phase.reads.push(ms);
      if (status !== 200) this.phase.faults.push(`a read: ${status}`);
    }
  }
}
