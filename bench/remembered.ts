import { createHash } from 'node:crypto';
import { fold, emptyStream } from '../src/command-handling/fold-stream.js';
import { HEAP_PER_STORED_BYTE, type Folded } from '../src/command-handling/stream-cache.js';
import type { AccountEvent, Profile } from '../src/domain/account/account.events.js';
import { evolve, initialState, type AccountState } from '../src/domain/account/account.state.js';
import { emptyProfile } from '../src/domain/account/identify-user.js';
import { personal, type SubjectId } from '../src/domain/personal.js';
import { EventCodec } from '../src/event-log/codec.js';
import type { SubjectKeys } from '../src/privacy/subject-keys.js';

/**
 * How much memory a remembered stream takes for each byte of its events: accounts of several shapes
 * are stored, read and folded, as the service does it, and the heap is measured before and after.
 * `REMEMBERED_STREAMS_MB` is kept by that factor. Needs --expose-gc.
 */
const keyOf = (subject: SubjectId): Buffer => createHash('sha256').update(subject).digest();
const keysOf = (subjects: Iterable<SubjectId>): Promise<ReadonlyMap<SubjectId, Buffer>> =>
  Promise.resolve(new Map([...subjects].map((subject) => [subject, keyOf(subject)])));
const keys: SubjectKeys = {
  load: keysOf,
  loadOrCreate: keysOf,
  destroy: () => Promise.resolve(),
  forget: () => undefined,
};
const codec = new EventCodec(keys);

const uuid = (cause: string): string => {
  const hex = createHash('sha256').update(cause).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
};

const opened = (account: string): AccountEvent[] => [
  {
    type: 'AccountOpened',
    at: 1,
    account: uuid(account),
    accountId: personal(uuid(account), account),
    currency: 'USD',
  },
];
function user(account: string, n: number, over: Partial<Profile> = {}): AccountEvent[] {
  const person = uuid(`${account}/${n}`);
  const code = uuid(`code of ${person}`).replaceAll('-', '').slice(0, 15);
  return [
    {
      type: 'UserIdentified',
      at: 2,
      person,
      profile: personal(person, { ...emptyProfile(`user-${n}`), firstName: 'Ann', ...over }),
    },
    {
      type: 'ReferralCodeAssigned',
      at: 2,
      person,
      code: personal(person, code),
      programId: 'default',
    },
  ];
}
function reward(account: string, n: number): AccountEvent {
  const person = uuid(`${account}/0`);
  return {
    type: 'RewardGranted',
    at: 3,
    rewardId: uuid(`reward ${account} ${n}`),
    person,
    source: 'MANUAL',
    cancellable: true,
    value: { type: 'CREDIT', unit: 'CENTS', assignedCredit: n + 1, currency: null },
    dateScheduledFor: null,
    dateExpires: null,
    referralId: null,
    programId: null,
    programVersion: null,
    rule: null,
    redeemsAutomatically: false,
    texts: { subject: person, value: null },
    owner: personal(person, { accountId: account, userId: 'user-0' }),
  };
}
const fields = (account: string, length: number, letter: string) => ({
  customFields: Object.fromEntries(
    Array.from({ length: 100 }, (_, n) => [
      `field${n}`,
      `${account}${letter.repeat(length)}`.slice(-length),
    ]),
  ),
});
const event = (account: string, n: number): AccountEvent => ({
  type: 'UserEventReceived',
  at: 4,
  userEventId: uuid(`event ${account} ${n}`),
  person: uuid(`${account}/0`),
  batch: uuid(`batch ${n}`),
  content: personal(uuid(`${account}/0`), {
    id: `e-${n}`,
    key: 'visit',
    fields: {},
    dateTriggered: 4,
  }),
});
const announced = (account: string, n: number): AccountEvent => ({
  type: 'ReferralAnnounced',
  at: 5,
  referralId: uuid(`referral ${account} ${n}`),
  account: uuid(`account ${n}`),
  person: uuid(`${account}/0`),
});

const many = (count: number, make: (n: number) => AccountEvent[]): AccountEvent[] =>
  Array.from({ length: count }, (_, n) => make(n)).flat();
const SHAPES: Readonly<
  Record<string, { readonly accounts: number; readonly of: (account: string) => AccountEvent[] }>
> = {
  'one user each': { accounts: 4_000, of: (account) => [...opened(account), ...user(account, 0)] },
  '500 users': {
    accounts: 20,
    of: (account) => [...opened(account), ...many(500, (n) => user(account, n))],
  },
  '2 000 rewards': {
    accounts: 10,
    of: (account) => [
      ...opened(account),
      ...user(account, 0),
      ...many(2_000, (n) => [reward(account, n)]),
    ],
  },
  '2 000 user events': {
    accounts: 10,
    of: (account) => [
      ...opened(account),
      ...user(account, 0),
      ...many(2_000, (n) => [event(account, n)]),
    ],
  },
  '5 000 referrals': {
    accounts: 10,
    of: (account) => [
      ...opened(account),
      ...user(account, 0),
      ...many(5_000, (n) => [announced(account, n)]),
    ],
  },
  '100 custom fields of 1 024 characters': {
    accounts: 200,
    of: (account) => [...opened(account), ...user(account, 0, fields(account, 1_024, 'x'))],
  },
  '100 custom fields of 1 024 wide characters': {
    accounts: 200,
    of: (account) => [...opened(account), ...user(account, 0, fields(account, 1_024, '李'))],
  },
};

/** @param isKeyed every event is of a request with a key of its own, which is remembered, too. */
async function remembered(
  events: readonly AccountEvent[],
  isKeyed: boolean,
): Promise<Folded<AccountState>> {
  const folding = { initialState, evolve };
  let folded = emptyStream(folding);
  for (let from = 0; from < events.length; from += 500) {
    const page = events.slice(from, from + 500);
    const encoded = await Promise.all(
      page.map(async (one, index) => {
        const id = uuid(`${from + index}`);
        const idempotency = isKeyed
          ? { key: uuid(`key ${id}`).repeat(2), fingerprint: uuid(`print ${id}`).repeat(2) }
          : null;
        const actor = { kind: 'api-key', id: 'live-1' } as const;
        const envelope = {
          tenant: 'demo',
          mode: 'live',
          correlationId: id,
          causationId: id,
          commandId: id,
          actor,
          idempotency,
        } as const;
        return codec.encode([one], envelope, [id]);
      }),
    );
    const stored = encoded.flat().map((one, index) => ({
      ...one,
      stream: 's',
      revision: BigInt(from + index),
      position: 'p',
      recordedAt: 1,
    }));
    folded = fold(folding, folded, await codec.decodeAll(stored));
  }
  return folded;
}

function heap(): number {
  if (!global.gc) throw new Error('start it with --expose-gc');
  global.gc();
  global.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

for (const isKeyed of [false, true]) {
  for (const [shape, { accounts, of }] of Object.entries(SHAPES)) {
    const before = heap();
    const kept: Folded<AccountState>[] = [];
    for (let n = 0; n < accounts; n++) kept.push(await remembered(of(`account-${n}`), isKeyed));
    const taken = heap() - before;
    const estimate = kept.reduce((sum, { bytes }) => sum + bytes, 0);
    const share = (taken / estimate).toFixed(2);
    console.log(
      `${shape}${isKeyed ? ', with keys' : ''}: ${(taken / accounts / 1024).toFixed(1)} KiB each, ` +
        `${((taken / estimate) * HEAP_PER_STORED_BYTE).toFixed(2)} a stored byte, ${share} of the estimate`,
    );
    kept.length = 0;
  }
}
