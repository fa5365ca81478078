import { isDeepStrictEqual } from 'node:util';
import { isList, isMap, isSet } from 'immutable';
import { AccountPostings, POSTED_TYPES, type PostedEvent } from '../src/bookkeeping/postings.js';
import type { AccountState, OpenAccount } from '../src/domain/account/account.state.js';
import { availableCredit } from '../src/domain/account/rewards/redemption.js';
import { amountLeft, isBeingPushed, unitOf } from '../src/domain/account/rewards/reward-state.js';
import { AccountCommandEnvelope } from '../src/command-handling/commands.js';
import { bytesOf, HEAP_PER_STREAM } from '../src/command-handling/stream-cache.js';
import type { Scope } from '../src/domain/scope.js';
import { erasedSubjects, EventCodec, type Decoded } from '../src/event-log/codec.js';
import type { CommandMeta } from '../src/event-log/envelope.js';
import type { RecordedEvent } from '../src/event-log/event-log.js';
import { newId } from '../src/foundation/world.js';
import { scopeOfStream, type KeyedNames } from '../src/privacy/keyed-names.js';
import { FixedSealer } from '../src/privacy/sealed-bytes.js';
import { WrappedKeys } from '../src/privacy/subject-keys.js';
import { unexplained } from './explained.js';
import {
  brokenBetweenAccounts,
  brokenByAccount,
  traceAccounts,
  type TracedAccount,
} from './promises.js';
import { brokenPayments } from './payment-promises.js';
import { brokenReadModels } from './read-model-promises.js';
import type { Sent } from './requests.js';
import { brokenSeals } from './seal-promises.js';
import type { SeededRandom } from './seeded-random.js';
import { brokenWebhooks } from './webhook-promises.js';
import type { SimulatedProviderAccount } from './simulated-provider.js';
import { WRAPPING_KEY, type SharedStores, type SimulatedService } from './service.js';
import { keyRowsIn, type SimulatedVault } from './simulated-keys.js';
import type { Owner } from './virtual-world.js';

/** A world at rest. */
export interface WorldAtRest {
  readonly shared: SharedStores;
  readonly services: readonly SimulatedService[];
  readonly requests: readonly Sent[];
  /** Epoch milliseconds. */
  readonly now: number;
  readonly scope: Scope;
  readonly names: KeyedNames;
  readonly random: SeededRandom;
  /** Undefined: the tenant has none. */
  readonly provider: SimulatedProviderAccount | undefined;
  /** All kept answers are gone: only the log knows then what a key was used for. */
  readonly areAnswersLost: boolean;
  /** The clock jumped so far that events may have been old when they were read. */
  readonly mayEventsBeOld: boolean;
  /** Does something in the name of a process, and waits for it. */
  readonly inProcess: <T>(owner: Owner, work: () => Promise<T>) => Promise<T>;
}

const UNITS = ['cents', 'points'] as const;

/** What does not hold in a world at rest; empty: everything does. */
export async function brokenPromises(world: WorldAtRest): Promise<string[]> {
  const { shared, now } = world;
  const isOwn = ({ stream }: RecordedEvent): boolean =>
    scopeOfStream(stream) !== undefined || stream === world.names.tenantStream(world.scope.tenant);
  const own = shared.log.all.filter(isOwn);
  const log = await codecOf(shared.vault).decodeAll(own);
  const lost = await codecOf(shared.vault).decodeAll(shared.log.lost.filter(isOwn));
  const accounts = traceAccounts(log);
  return [
    ...[...accounts.values()].flatMap((account) => [
      ...brokenByAccount(account),
      ...brokenByBooks(account, now),
    ]),
    ...brokenBetweenAccounts(log, accounts, now),
    ...unexplained(world.requests, log, { ...world, lost }),
    ...notForgotten(log, shared.vault),
    ...noncesUsedTwice(own),
    ...heldForEver(shared),
    ...(world.provider === undefined
      ? []
      : brokenPayments({ ...world, provider: world.provider, accounts, log, lost, now })),
    ...brokenWebhooks(shared, { ...world, log, lost }),
    ...(await brokenReadModels(shared, codecOf(shared.vault))),
    ...(await brokenInProcesses(world, accounts)),
    ...(await brokenSeals(world)),
  ];
}

/** Reads with the keys as they are, without a process. */
const codecOf = (vault: SimulatedVault): EventCodec =>
  new EventCodec(
    new WrappedKeys(
      {
        find: (subjects) => Promise.resolve(keyRowsIn(vault, subjects)),
        create: () => Promise.reject(new Error('a check writes nothing')),
        destroy: () => Promise.reject(new Error('a check writes nothing')),
      },
      new FixedSealer(WRAPPING_KEY),
    ),
  );

const POSTED: ReadonlySet<string> = new Set(POSTED_TYPES);

/**
 * Debits equal credits by the way they are made; what is available must be what can be spent, or
 * may be at the provider.
 */
function brokenByBooks({ account, events, state }: TracedAccount, now: number): string[] {
  const books = new AccountPostings();
  const balances = new Map<string, number>();
  const add = (key: string, amount: number): void =>
    void balances.set(key, (balances.get(key) ?? 0) + amount);
  const post = ({
    unitKey,
    amount,
    debit,
    credit,
  }: ReturnType<AccountPostings['settle']>[number]) => {
    add(`${unitKey} ${debit}`, -amount);
    add(`${unitKey} ${credit}`, amount);
  };
  for (const { event, recorded } of events) {
    if (!POSTED.has(event.type)) continue;
    const { id: eventId, position, recordedAt } = recorded;
    const entry = { event: event as PostedEvent, eventId, position, recordedAt, actor: '' };
    books.post(entry).forEach(post);
  }
  books.settle(now).forEach(post);
  if (state.status !== 'open') return [];
  return UNITS.flatMap((unit) => {
    const [spendable, booked] = [
      availableCredit(state, unit, now) + perhapsPaid(state, unit, now),
      balances.get(`${unit} available`) ?? 0,
    ];
    return spendable === booked
      ? []
      : [`${account}: ${spendable} ${unit} can be spent, and ${booked} are in the books`];
  });
}

/** Not spent until it is known. What expired and what the forgotten had is in no balance. */
const perhapsPaid = ({ rewards, remains }: OpenAccount, unit: string, now: number): number =>
  [...rewards.values()]
    .filter((reward) => isBeingPushed(reward) && !remains.forgotten.has(reward.person))
    .filter(({ dateExpires }) => dateExpires === null || dateExpires > now)
    .filter((reward) => unitOf(reward.value)?.toLowerCase() === unit)
    .reduce((sum, reward) => sum + amountLeft(reward), 0);

/** An erased person has no key, and no value that opens. */
function notForgotten(log: readonly Decoded[], vault: SimulatedVault): string[] {
  const erased = new Set(
    log.flatMap(({ event }) =>
      erasedSubjects(event.type, event as unknown as Record<string, unknown>),
    ),
  );
  return [...erased].flatMap((subject) =>
    vault.get(subject) instanceof Buffer ? [`the key of the forgotten ${subject} exists`] : [],
  );
}

const SEALED = /"subject":"([^"]+)","sealed":"(?:2\.)?([^"]{16})/g;

/** Under one key a nonce seals one value: two would show what they have in common. */
function noncesUsedTwice(log: readonly RecordedEvent[]): string[] {
  const used = new Set<string>();
  return log.flatMap(({ data, id }) =>
    [...data.matchAll(SEALED)].flatMap(([, subject = '', nonce = '']) => {
      const isUsed = used.has(`${subject} ${nonce}`);
      used.add(`${subject} ${nonce}`);
      return isUsed ? [`a nonce of the key of ${subject} is used again in the event ${id}`] : [];
    }),
  );
}

/** What each process decides on is what the log says, and codes lead to who has them. */
async function brokenInProcesses(
  { services, shared, scope, names, inProcess }: WorldAtRest,
  accounts: ReadonlyMap<string, TracedAccount>,
): Promise<string[]> {
  const broken: string[] = [];
  for (const service of services) {
    const { owner, streams, handling, commands } = service;
    await inProcess(owner, async () => {
      for (const { account, state } of accounts.values()) {
        // Refused, by a decision, also the one that waits for the other: whatever is in the way for
        // ever is noticed here.
        const asks = [1, 2].map(
          () => new AccountCommandEnvelope(someMeta(scope), account, NO_CHANGE),
        );
        await Promise.all(asks.map((asked) => commands.execute(asked)));
        const stream = names.accountStream(scope, account);
        const loaded = await streams.accounts.load(stream);
        const bytes = HEAP_PER_STREAM + bytesOf(shared.log.stream(stream));
        if (loaded.bytes < bytes)
          broken.push(`${owner.name} counts ${loaded.bytes} bytes for ${account}: ${bytes}`);
        const difference = firstDifference(plain(loaded.state), plain(state));
        if (difference !== undefined)
          broken.push(`${owner.name} has another state of ${account} than the log: ${difference}`);
        for (const [code, person] of codesOf(state)) {
          const found = await handling.owners.find(scope, code);
          if (found?.party.person !== person)
            broken.push(`${owner.name}: the code ${code} does not lead to ${person}`);
        }
      }
    });
    broken.push(...overfull(service));
  }
  return broken;
}

/** What a process remembers of streams stays within its bound. */
const overfull = ({ owner, remembered: { bytes }, rememberedMax }: SimulatedService): string[] =>
  bytes > rememberedMax ? [`${owner.name} remembers ${bytes} bytes, of ${rememberedMax}`] : [];

/** No process answers these any more: another process would refuse them until the purge. */
const heldForEver = ({ answers }: SharedStores): string[] =>
  answers.held.map((name) => `a living process holds the request ${name} for ever`);

const NO_CHANGE = { type: 'CancelReward', rewardId: 'none' } as const;

function someMeta(scope: Scope): CommandMeta {
  const [commandId, correlationId] = [newId(), newId()];
  const actor = { kind: 'system', id: 'simulator' } as const;
  return { scope, commandId, correlationId, causationId: correlationId, actor, idempotency: null };
}

function codesOf(state: AccountState): readonly (readonly [code: string, person: string])[] {
  if (state.status !== 'open') return [];
  return [...state.users.values()].flatMap(({ person, codes, profile }) =>
    profile === null ? [] : [...codes.keys()].map((code) => [code, person] as const),
  );
}

/** Where two plain values first differ, and how; undefined: nowhere. */
function firstDifference(one: unknown, other: unknown, path = ''): string | undefined {
  if (isDeepStrictEqual(one, other)) return undefined;
  if (isRecord(one) && isRecord(other))
    for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
      const found = firstDifference(one[name], other[name], `${path}/${name}`);
      if (found !== undefined) return found;
    }
  return `${path}: ${JSON.stringify(one)}, ${JSON.stringify(other)}`;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** Plain members all the way down. */
function plain(value: unknown): unknown {
  if (isMap(value)) return plainMembers(value);
  if (isList(value) || isSet(value) || Array.isArray(value)) return Array.from(value, plain);
  return isRecord(value) ? plainMembers(Object.entries(value)) : value;
}

const plainMembers = (members: Iterable<readonly [unknown, unknown]>): object =>
  Object.fromEntries(Array.from(members, ([name, member]) => [String(name), plain(member)]));
