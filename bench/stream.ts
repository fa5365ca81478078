import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { type AccountOutcome, AccountCommandEnvelope } from '../src/command-handling/commands.js';
import { loadConfig } from '../src/config/config.js';
import { openCore, type Core } from '../src/core/core.js';
import type { AccountRequest } from '../src/domain/account/requests/account-request.js';
import type { Scope } from '../src/domain/scope.js';
import { DEFAULT_PROGRAM } from '../src/domain/tenant/program-document.js';
import type { CommandMeta } from '../src/event-log/envelope.js';
import { lengthenAccount } from './long-account.js';
import { makeDataDir, removeDataDir } from './service-process.js';

/**
 * The duration of a redemption, from the command to the stored event, in accounts with short, long
 * and very long streams. They take turns, command by command, each with its stream in memory, as in
 * a running service. For the longest also the first command after a start, which folds the whole
 * stream, and that of a later start, which finds a snapshot.
 *
 * `BENCH_COMMANDS` (400) per length. Without fsync, unless `BENCH_FSYNC=1`: waiting for a disk
 * would hide the difference.
 */
const LENGTHS = [10, 1_000, 100_000] as const;
const COMMANDS = Number(process.env.BENCH_COMMANDS ?? 400);
const AIM = 1.2;
/** Commands make their account longer: a short one is replaced after so many. */
const COMMANDS_PER_ACCOUNT = 4;
const UNIT = 'CENTS';
const scope: Scope = { tenant: 'bench', mode: 'live' };

const meta = (): CommandMeta => {
  const id = randomUUID();
  return {
    scope,
    commandId: id,
    correlationId: id,
    causationId: id,
    actor: { kind: 'api-key', id: 'bench' },
    idempotency: null,
  };
};

const send = (core: Core, ref: string, request: AccountRequest): Promise<AccountOutcome> =>
  core.commands.execute(new AccountCommandEnvelope(meta(), ref, request));

interface BenchAccount {
  readonly ref: string;
  readonly rewardId: string;
}

/**
 * An account whose stream has about so many events, nearly all of them redemptions of one reward.
 */
async function makeAccount(core: Core, id: string, length: number): Promise<BenchAccount> {
  const ref = core.names.accountRef(scope, id);
  const subscription = { status: 'TRIAL' as const };
  await send(core, ref, {
    type: 'SyncAccount',
    accountId: id,
    subscription,
    currency: undefined,
    codes: [],
  });
  const user = {
    userId: id,
    changes: {},
    referralCode: undefined,
    referralCodes: {},
    paymentProviderId: undefined,
    codes: [],
  };
  await send(core, ref, { type: 'UpsertUser', ...user });
  const value = {
    type: 'CREDIT' as const,
    unit: UNIT,
    assignedCredit: 1_000_000_000,
    currency: null,
  };
  const terms = {
    name: null,
    description: null,
    cancellable: true,
    dateScheduledFor: null,
    dateExpires: null,
  };
  const given = await send(core, ref, { type: 'CreateReward', userId: id, value, ...terms });
  const reward =
    given.kind === 'accepted' && given.state.status === 'open'
      ? given.state.rewards.first()
      : undefined;
  if (!reward) throw new Error('no reward was given');

  await lengthenAccount(core, scope, ref, length);
  return { ref, rewardId: reward.rewardId };
}

/**
 * The first command of a process that finds the snapshot of another one, in milliseconds by length.
 */
async function firstWithSnapshot(
  core: Core,
  accounts: ReadonlyMap<number, readonly BenchAccount[]>,
): Promise<ReadonlyMap<number, number>> {
  const streams = [...accounts.values()].flatMap(([account]) => (account ? [account] : []));
  const streamOf = ({ ref }: BenchAccount): string => core.names.accountStream(scope, ref);
  for (const account of streams) {
    core.streams.accounts.forget(streamOf(account));
    await core.streams.accounts.load(streamOf(account));
  }
  const { rows: expected } = await core.pool.query(WORTH_A_SNAPSHOT);
  for (let found = -1; found < expected.length; await delay(50))
    found = (await core.pool.query('select from ledger.stream_snapshots')).rows.length;
  const first = new Map<number, number>();
  for (const [length, [account]] of accounts) {
    if (account === undefined) continue;
    core.streams.accounts.forget(streamOf(account));
    first.set(length, await redeem(core, account));
  }
  return first;
}

const WORTH_A_SNAPSHOT = `select from ledger.streams where revision >= 2000 and stream like 'referral-account-%'`;

/** @returns milliseconds. */
async function redeem(core: Core, { ref, rewardId }: BenchAccount): Promise<number> {
  const startedAt = performance.now();
  const outcome = await send(core, ref, { type: 'RedeemCredit', rewardId, amount: 1, unit: UNIT });
  const ms = performance.now() - startedAt;
  if (outcome.kind !== 'accepted') throw new Error('a redemption was refused');
  return ms;
}

async function run(core: Core): Promise<void> {
  await core.tenantCommands.create({
    alias: scope.tenant,
    programType: 'API_ONLY',
    openEndpoints: false,
    program: DEFAULT_PROGRAM,
  });
  const accounts = new Map<number, BenchAccount[]>();
  for (const length of LENGTHS) {
    const count = length > 10 ? 1 : Math.ceil(COMMANDS / COMMANDS_PER_ACCOUNT);
    const made: BenchAccount[] = [];
    for (let n = 0; n < count; n++)
      made.push(await makeAccount(core, `bench-${length}-${n}`, length));
    accounts.set(length, made);
  }
  const first = new Map<number, number>();
  for (const [length, made] of accounts)
    for (const account of made) first.set(length, await redeem(core, account));
  for (const made of accounts.values())
    for (let n = 0; n < 20; n++)
      for (const account of made.slice(0, 5)) await redeem(core, account);

  const times = new Map<number, number[]>(LENGTHS.map((length) => [length, []]));
  for (let n = 0; n < COMMANDS; n++) {
    for (const [length, made] of accounts) {
      const account = made[n % made.length];
      if (account) times.get(length)?.push(await redeem(core, account));
    }
  }
  const again = await firstWithSnapshot(core, accounts);
  const shortest = median(times.get(LENGTHS[0]) ?? []);
  console.log(
    `${COMMANDS} commands each, fsync ${process.env.BENCH_FSYNC === '1' ? 'on' : 'off'}, medians`,
  );
  console.log(
    '  length   command ms   to length 10   first command ms (folds the stream)   with a snapshot',
  );
  for (const length of LENGTHS) {
    const ms = median(times.get(length) ?? []);
    const ratio = ms / shortest;
    const columns = [
      String(length).padStart(8),
      ms.toFixed(3).padStart(13),
      ratio.toFixed(2).padStart(15),
      (first.get(length) ?? NaN).toFixed(1).padStart(19),
      (again.get(length) ?? NaN).toFixed(1).padStart(19),
    ];
    console.log(
      `${columns.join('')}${length === LENGTHS[0] ? '' : `   ${ratio <= AIM ? 'met' : 'missed'} (${AIM})`}`,
    );
  }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

async function main(): Promise<void> {
  const dataDir = await makeDataDir();
  try {
    const core = await openCore({
      config: loadConfig({ DATA_DIR: dataDir }),
      logger: pino({ level: 'warn' }),
      actor: { kind: 'system', id: 'bench' },
      applicationName: 'bench-stream',
      fsync: process.env.BENCH_FSYNC === '1',
    });
    try {
      await run(core);
    } finally {
      await core.close();
    }
  } finally {
    await removeDataDir(dataDir);
  }
}

await main();
