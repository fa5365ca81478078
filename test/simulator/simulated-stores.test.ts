import { placeCheckpoint } from '../../src/following/checkpoints.js';
import { CheckpointMoved } from '../../src/following/handler.js';
import { SeededRandom } from '../../simulator/seeded-random.js';
import { SimulatedAnswerRows, SimulatedAnswerTable } from '../../simulator/simulated-answers.js';
import {
  SimulatedLocks,
  SimulatedPolicyTable,
  simulatedPolicyStores,
} from '../../simulator/simulated-policy-stores.js';
import {
  simulatedProjectionStores,
  SimulatedReadModels,
} from '../../simulator/simulated-read-models.js';
import { simulatedSeals, SimulatedSealTable } from '../../simulator/simulated-seals.js';
import {
  simulatedAnnouncementsStore,
  SimulatedWebhookTable,
} from '../../simulator/simulated-webhooks.js';
import { Owner } from '../../simulator/virtual-world.js';
import { sealsIn, type SealStore } from '../../src/chain/chain-seals.js';
import { ChainSigner } from '../../src/chain/chain-signer.js';
import { sealLog } from '../../src/chain/log-seal.js';
import { PostgresAnswerRows, type AnswerRows } from '../../src/idempotency/answer-rows.js';
import {
  ALL_POLICIES,
  type ParkedAt,
  type ParkedReaction,
  WEBHOOKS_HANDLER,
} from '../../src/reacting/parked-reactions.js';
import {
  POLICIES_HANDLER,
  postgresPolicyCheckpoints,
  type PolicyCheckpoints,
} from '../../src/reacting/policy-checkpoint.js';
import {
  PostgresParkedReactions,
  type ParkedReactions,
} from '../../src/reacting/postgres-parked-reactions.js';
import {
  postgresProjectionStores,
  type ProjectionStores,
} from '../../src/projecting/following/projection-stores.js';
import type { BatchToWrite } from '../../src/projecting/generations/generation-store.js';
import type { Projector, ReadModelTable, Row } from '../../src/projecting/projector.js';
import { ProcessPresence } from '../../src/postgres/process-presence.js';
import { inTransaction } from '../../src/postgres/transaction.js';
import {
  forgetEndpointsBehind,
  type EndpointChange,
  type FollowedPage,
  type NewDelivery,
} from '../../src/webhooks/deliveries/delivery-rows.js';
import {
  postgresAnnouncementsStore,
  type AnnouncementsStore,
} from '../../src/webhooks/deliveries/announcements-store.js';
import { useDatabase } from '../support/database.js';
import { newSeed } from '../support/new-seed.js';
import { alike, inOrder, line } from './support/alike.js';

const DAY_MS = 86_400_000;

let random: SeededRandom;
const { pool } = useDatabase(6);
beforeEach(() => {
  random = new SeededRandom(newSeed('simulated stores'));
});

/** What a call ended with, so that refusals are compared too. */
const ended = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    (value) => ({ value: value ?? null }),
    (error: unknown) => ({ error: (error as Error).name }),
  );

it('claims and kept answers, of two processes', async () => {
  const presences = [new ProcessPresence(pool), new ProcessPresence(pool)];
  await Promise.all(presences.map((presence) => presence.start()));
  let clock = Date.now();
  const table = new SimulatedAnswerTable(() => clock);
  const processes = presences.map((presence, index) => {
    table.present.add(index);
    return {
      real: new PostgresAnswerRows(pool, presence),
      simulated: new SimulatedAnswerRows(table, line, index),
    };
  });
  const scope = { tenant: 'acme', mode: 'live' } as const;
  const commandIds = new Map<string, string>();
  /** Command ids are drawn: the same one must come back where the other side's does. */
  const named = (taken: Awaited<ReturnType<AnswerRows['take']>>, as: string) => {
    if (taken === undefined) return null;
    if (!commandIds.has(taken.commandId)) commandIds.set(taken.commandId, as);
    return commandIds.get(taken.commandId);
  };
  const calls: Readonly<Record<string, (rows: AnswerRows, request: Request) => Promise<unknown>>> =
    {
      find: (rows, request) => rows.find(request),
      keep: (rows, request) => rows.keep(request, Buffer.from(request.fingerprint)),
      forgetAnswer: (rows, request) => rows.forgetAnswer(request),
      drop: (rows, request) => rows.drop(request),
      release: (rows, request) => rows.release(request),
    };
  type Request = Parameters<AnswerRows['find']>[0];
  let steps = 0;
  await alike(random, async () => {
    steps += 1;
    const { real, simulated } = random.oneOf(processes);
    const key = random.oneOf(['a', 'b', 'c']);
    const request = { scope, key, fingerprint: random.oneOf(['1', '1', '2']) };
    if (random.onceIn(15)) {
      clock += 8 * DAY_MS;
      await pool.query(
        `update ledger.idempotency_keys set created_at = created_at - interval '8 days'`,
      );
    }
    if (random.onceIn(2))
      return [
        `take ${key}`,
        named(await real.take(request), `of step ${steps}`),
        named(await simulated.take(request), `of step ${steps}`),
      ];
    const name = random.oneOf(Object.keys(calls));
    const call = calls[name];
    return [name, await ended(call!(real, request)), await ended(call!(simulated, request))];
  });
  await Promise.all(presences.map((presence) => presence.stop()));
});

it('the checkpoint of the policies', async () => {
  const table = new SimulatedPolicyTable(() => Date.now());
  const real = postgresPolicyCheckpoints(pool);
  const simulated = simulatedPolicyStores(table, line).checkpoints;
  const point = () => {
    const position = `m-${random.below(99)}`;
    return { reached: position, witness: { position, eventId: random.uuid() } };
  };
  // The time is that of the database.
  const loaded = async (checkpoints: PolicyCheckpoints) => {
    const checkpoint = await checkpoints.load();
    return checkpoint && { ...checkpoint, movedAt: undefined };
  };
  await alike(random, async () => {
    const { reached, witness } = point();
    if (random.onceIn(6)) {
      const trail = random.onceIn(2) ? [] : [point()];
      const position = trail.at(-1)?.reached ?? null;
      await inTransaction(pool, (client) =>
        placeCheckpoint(client, POLICIES_HANDLER, { position, trail }),
      );
      table.moveBack(trail);
    } else if (random.onceIn(6)) await Promise.all([real.begin(), simulated.begin()]);
    else {
      const version = (table.checkpoint?.version ?? 0n) - (random.onceIn(4) ? 1n : 0n);
      const to = {
        reached,
        witness: random.onceIn(2) ? witness : undefined,
        trail: random.onceIn(2) ? [point()] : undefined,
      };
      const [one, other] = await Promise.all([
        ended(real.write(version, to)),
        ended(simulated.write(version, to)),
      ]);
      expect(other).toEqual(one);
    }
    return ['load', await loaded(real), await loaded(simulated)];
  });
  await expect(
    simulated.write(-1n, { reached: 'm-1', witness: undefined, trail: undefined }),
  ).rejects.toThrow(CheckpointMoved);
});

it('parked reactions', async () => {
  let clock = Date.now();
  const table = new SimulatedPolicyTable(() => clock);
  const real: ParkedReactions = new PostgresParkedReactions(pool);
  const simulated = simulatedPolicyStores(table, line).parked;
  const both = [real, simulated] as const;
  const streams = ['s-1', 's-2', 's-3'];
  const eventIds = new Map<string, string>();
  const event = (stream: string) => {
    const revision = BigInt(random.below(4));
    const name = `${stream} ${revision}`;
    eventIds.set(name, eventIds.get(name) ?? random.uuid());
    return { id: eventIds.get(name)!, stream, revision, position: `m-${revision}` };
  };
  const parkedAt = (stream: string): ParkedAt => {
    const policy = random.oneOf(['one', 'other', ALL_POLICIES]);
    const unknown = { type: random.oneOf(['New', 'Newer']), version: random.oneOf([1, null]) };
    const reason = random.oneOf(['broken', 'away']);
    return { policy, event: event(stream), reason, ...(policy === ALL_POLICIES && { unknown }) };
  };
  /** What both can say of a row: ids and times are their own. */
  const shown = ({ id: _, since: __, ...row }: ParkedReaction) => row;
  const answers = (ask: (rows: ParkedReactions) => Promise<unknown>) => Promise.all(both.map(ask));
  const name = (row: ParkedReaction): string => `${row.policy} ${row.eventId}`;
  await alike(random, async () => {
    const stream = random.oneOf(streams);
    const which = random.below(5);
    const to = parkedAt(stream);
    if (which === 0) await answers((rows) => rows.park(to));
    if (which === 1) {
      const [one, other] = await answers((rows) => rows.keepParked([stream]));
      expect(other).toEqual(one);
    }
    if (which === 2) {
      clock += 60_000;
      await pool.query(
        `update ledger.parked_reactions set next_try_at = next_try_at - interval '60 seconds'`,
      );
    }
    if (which === 3) {
      const read = await Promise.all(both.map((rows) => rows.ofStream(stream)));
      const chosen = new Set(read[0]!.filter(() => random.onceIn(2)).map(name));
      if (random.onceIn(2)) await answers((rows) => rows.keepParked([random.oneOf([stream])]));
      const isStopped = random.onceIn(2);
      const settled = await Promise.all(
        both.map((rows, index) => {
          const own = read[index]!.filter((row) => chosen.has(name(row)));
          const stopped = isStopped && own.length > 0 ? [{ rows: own, to }] : [];
          return rows.settle(stream, { stopped, added: [], done: isStopped ? [] : own });
        }),
      );
      expect(settled[1]).toEqual(settled[0]);
    }
    if (which === 4) await answers((rows) => rows.tryAllSoon());
    const [one, other] = await answers(async (rows) => ({
      rows: (await Promise.all(streams.map((of) => rows.ofStream(of)))).flat().map(shown),
      streams: await rows.streams(),
      isEmpty: await rows.isEmpty(),
      unknown: new Set((await rows.unknownEvents()).map((known) => JSON.stringify(known))),
      heldBack: new Set(await rows.heldBackBy([{ type: 'New', version: null }], 10)),
      // The ages of rows differ.
      counts: { ...(await rows.counts()), oldestSeconds: 0, parkedBecause: null },
    }));
    return ['all rows', one, other];
  });
});

const things: ReadModelTable = {
  name: 'things',
  columns: {
    tenant: 'text not null',
    id: 'text not null',
    owner: 'text',
    at: 'bigint not null',
    note: 'jsonb',
  },
  primaryKey: ['tenant', 'id'],
  indexes: { by_owner: { definition: '(owner, at desc, id)' } },
};
const thingsProjector: Projector = {
  name: 'things',
  tables: [things],
  handles: new Set(),
  keys: () => [],
  furtherKeys: () => [],
  forgetting: { lookups: () => [], clean: () => undefined },
  apply: () => undefined,
};
const ALONG = [{ column: 'at', descending: true }, { column: 'id' }];

/** A batch of any kind, of the rows of `things`. */
function someBatch(version: string): BatchToWrite {
  const key = () => ['acme', random.oneOf(['a', 'b', 'c', 'd', 'e'])];
  const row = (): Row => {
    const [tenant, id] = key();
    const owner = random.oneOf(['ann', 'bob', null]);
    // Now and then one that the table refuses.
    const at = random.onceIn(12) ? null : random.below(4);
    return { tenant, id, owner, at, note: random.oneOf([null, { deep: [id, 1] }]) };
  };
  const upserts = [row(), row()].slice(random.below(3));
  // A batch names each row once.
  const named = new Map(upserts.map((each) => [each['id'], each]));
  const deletes = [key()].filter(([, id]) => random.onceIn(3) && !named.has(id));
  const position = `m-${random.below(99)}`;
  const erasureId = random.oneOf(['e-1', 'e-2']);
  const persons = new Set(['ann']);
  const forgotten = {
    erasureId,
    tenant: 'acme',
    mode: 'live',
    accountRef: 'ref',
    persons,
  } as const;
  const next = random.onceIn(2) ? undefined : { lookup: 1, after: [random.below(9), 'a'] };
  const stream = random.oneOf(['s-1', 's-2']);
  const isParked = random.onceIn(5);
  const isChanged = named.size + deletes.length > 0;
  return {
    changes: isChanged ? [{ table: things, upserts: [...named.values()], deletes }] : [],
    parked: isParked
      ? [{ stream, revision: BigInt(random.below(5)), position, reason: 'why' }]
      : [],
    position,
    eventId: random.onceIn(5) ? undefined : random.uuid(),
    expectedVersion: random.onceIn(5) ? '0' : version,
    erasure: random.onceIn(3) ? { forgotten, next } : undefined,
  };
}

it('rows of read models, with their checkpoint', async () => {
  const table = new SimulatedPolicyTable(() => Date.now());
  const locks = new SimulatedLocks(table, line, new Owner('process'));
  const models = new SimulatedReadModels([thingsProjector]);
  const real = postgresProjectionStores(pool, [thingsProjector]);
  const both: readonly ProjectionStores[] = [real, simulatedProjectionStores(models, line, locks)];
  for (const stores of both) await stores.ensureGenerations();
  const of = (stores: ProjectionStores) => stores.rowsOf(thingsProjector, 1);
  const keys = ['a', 'b', 'c', 'd', 'e'].map((id) => ['acme', id]);
  const looked = async (stores: ProjectionStores, after: readonly unknown[] | null) => ({
    checkpoint: (await stores.checkpoints([thingsProjector])).map(
      ({ updatedAt: _, ...rest }) => rest,
    ),
    rows: inOrder(await of(stores).load(new Map([['things', keys]]))),
    one: await of(stores).load(new Map([['things', keys.slice(0, 1)]])),
    of: await of(stores).find(
      { table: 'things', where: { owner: ['ann'], tenant: ['acme'] }, orderedBy: ALONG },
      2,
      after,
    ),
    all: inOrder(
      await of(stores).find({ table: 'things', where: { owner: ['ann', 'bob'] } }, 99, null),
    ),
    parked: [...(await of(stores).parkedStreams())].sort(),
    erasure: await of(stores).unfinishedErasure(),
  });
  await alike(random, async () => {
    const [checkpoint] = await both[1]!.checkpoints([thingsProjector]);
    const { version } = checkpoint!;
    const batch = someBatch(version);
    if (random.onceIn(8))
      for (const stores of both) await stores.recordLastError('things', 1, 'away');
    else {
      const written = [];
      for (const stores of both) written.push(await ended(of(stores).write(batch)));
      expect(written[1]).toEqual(written[0]);
    }
    const after = random.onceIn(2) ? null : [random.below(4), random.oneOf(['a', 'c'])];
    const [one, other] = [await looked(both[0]!, after), await looked(both[1]!, after)];
    return ['all rows', one, other];
  });
  real.locks.release();
});

const position = (n: number) => `m-${n}`;
const ordinal = (token: string) => Number(token.slice(2));

/** A page of any kind, for a few endpoints and rows that come again. */
function somePage(ids: readonly string[]) {
  const endpoint = () =>
    ({ tenant: 'acme', mode: 'live', endpointId: random.oneOf(['1', '2']) }) as const;
  const at = position(random.below(30));
  const change = (): EndpointChange => ({
    ...endpoint(),
    state: random.oneOf(['ACTIVE', 'DISABLED', 'UNSUBSCRIBED']),
    position: random.onceIn(4) ? null : at,
  });
  const delivery = (): NewDelivery => ({
    ...endpoint(),
    id: random.oneOf(ids),
    webhookId: random.uuid(),
    type: random.oneOf(['reward.created', 'user.created']),
    subject: { rewardId: random.oneOf(['a', 'b']) },
    event: { stream: 's-1', revision: BigInt(random.below(5)), eventId: random.uuid() },
    created: random.below(1_000),
  });
  const unread = { stream: 's-1', revision: 1n, position: at, reason: 'new' };
  const some = <T>(make: () => T): T[] => [make(), make()].slice(random.below(3));
  const page = {
    point: { reached: at, witness: { position: at, eventId: random.uuid() } },
    trail: random.onceIn(2)
      ? [{ reached: at, witness: { position: at, eventId: random.uuid() } }]
      : undefined,
    endpoints: some(change),
    // A page names each row once.
    deliveries: [...new Map(some(delivery).map((row) => [row.id, row])).values()],
    unread: random.onceIn(6) ? [{ ...unread, eventId: random.oneOf(ids) }] : [],
  };
  return page satisfies FollowedPage;
}

it('rows of webhooks, with the checkpoint of their follower', async () => {
  const table = new SimulatedWebhookTable(() => Date.now());
  const both: readonly AnnouncementsStore[] = [
    postgresAnnouncementsStore(pool),
    simulatedAnnouncementsStore(table, line),
  ];
  const ids = Array.from({ length: 12 }, () => random.uuid());
  const byText = (one: unknown, other: unknown) =>
    JSON.stringify(one, plainly) < JSON.stringify(other, plainly) ? -1 : 1;
  const plainly = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}` : value);
  const looked = async (store: AnnouncementsStore) => {
    const checkpoint = await store.checkpoint();
    const states = await store.endpointsInState(['ACTIVE', 'DISABLED', 'UNSUBSCRIBED', 'UNKNOWN']);
    return {
      checkpoint: checkpoint && { ...checkpoint, movedAt: undefined },
      endpoints: states.map(({ endpointId, state }) => `${endpointId} ${state}`).sort(),
      active: (await store.endpointsInState(['ACTIVE'])).length,
      unread: (await store.unreadEvents(99))
        .map(({ eventId, stream, revision, position: at }) => ({ eventId, stream, revision, at }))
        .sort(byText),
    };
  };
  const storedRows = async () => {
    const { rows } = await pool.query<object>(
      `select id, endpoint_id as "endpointId", webhook_id as "webhookId", type, subject, event_id as "eventId",
              extract(epoch from created)::float8 * 1000 as created, state
       from ledger.webhook_deliveries order by id`,
    );
    return rows;
  };
  const simulatedRows = () =>
    [...table.deliveries.values()]
      .map(({ id, endpointId, webhookId, type, subject, event, created, state }) => ({
        id,
        endpointId,
        webhookId,
        type,
        subject,
        eventId: event?.eventId,
        created,
        state,
      }))
      .sort((one, other) => (one.id < other.id ? -1 : 1));
  await alike(random, async () => {
    const which = random.below(10);
    const page = somePage(ids);
    const version = random.onceIn(6) ? 99n : (table.checkpoint?.version ?? 0n);
    const calls: Readonly<Record<number, (store: AnnouncementsStore) => Promise<unknown>>> = {
      0: (store) => store.begin(page.point.reached, page.endpoints),
      1: (store) => store.storePage(version, { read: ids[0] ?? '', deliveries: page.deliveries }),
      2: (store) => store.storePage(version, { endpoints: page.endpoints }),
    };
    const call = calls[which] ?? ((store: AnnouncementsStore) => store.storePage(version, page));
    if (which === 3) {
      const trail = random.onceIn(2) ? [] : [page.point];
      const to = { position: page.point.reached, trail };
      const isBehind = (changed: string) => ordinal(changed) > ordinal(page.point.reached);
      await inTransaction(pool, async (client) => {
        if (await placeCheckpoint(client, WEBHOOKS_HANDLER, to))
          await forgetEndpointsBehind(client, isBehind);
      });
      table.moveTo(to, isBehind);
    } else if (which === 4) {
      await pool.query(
        `update ledger.webhook_deliveries set state = 'DELIVERED', ended_at = now()`,
      );
      for (const row of table.deliveries.values()) row.state = 'DELIVERED';
    } else {
      const answers = [];
      for (const store of both) answers.push(await ended(call(store)));
      expect(answers[1]).toEqual(answers[0]);
    }
    const [one, other] = [await looked(both[0]!), await looked(both[1]!)];
    return ['all rows', { ...one, rows: await storedRows() }, { ...other, rows: simulatedRows() }];
  });
});

it('seals of the log, with the checkpoint of the sealer', async () => {
  const table = new SimulatedSealTable();
  const [logId, signer] = [random.uuid(), new ChainSigner(Buffer.alloc(32, 6))];
  const both: readonly SealStore[] = [sealsIn(pool)(logId), simulatedSeals(table, line, logId)];
  const chains = ['live.a', 'live.b', 'test.a'];
  const hex = (bytes: number) => random.bytes(bytes).toString('hex');
  let moment = 0;
  const someSeal = (chain: string) => {
    const before = table.chains.get(chain)?.at(-1)?.events ?? 0;
    const ids = Array.from({ length: 1 + random.below(3) }, () => random.uuid());
    const positions = ids.map(() => `${(moment += 1)}`);
    return {
      chain,
      events: before + ids.length,
      position: positions.at(-1) ?? '',
      digest: hex(32),
      places: hex(32),
      signature: random.bytes(64).toString('base64'),
      ids,
      positions,
      marks: ids.map(() => hex(8)),
    };
  };
  const read = async <T>(found: AsyncIterable<T>): Promise<T[]> => {
    const all: T[] = [];
    for await (const one of found) all.push(one);
    return all;
  };
  const looked = async (store: SealStore) => {
    const { movedAt: _, ...checkpoint } = await store.checkpoint();
    const newest = await store.newest(chains);
    const [last] = newest;
    return {
      checkpoint,
      newest: [...newest].sort((a, b) => (a.chain < b.chain ? -1 : 1)),
      all: await Promise.all(chains.map((chain) => read(store.all(chain)))),
      under: last && (await store.eventsUnder({ ...last, chain: 'live.a' })),
      backwards: (await read(store.eventsBackwards())).map((batch) =>
        [...batch].sort((a, b) => (a.eventId < b.eventId ? -1 : 1)),
      ),
      logSeal: await store.logSeal(),
      isLossOpen: await store.isLossOpen(),
      isSealed: await store.isSealed('live.a', table.chains.get('live.a')?.[0]?.ids[0] ?? logId),
    };
  };
  await alike(
    random,
    async () => {
      if (random.onceIn(5)) for (const store of both) await store.begin(signer);
      else {
        const seals = chains.filter(() => random.onceIn(2)).map(someSeal);
        const stale = random.onceIn(5) ? 1n : 0n;
        const { version, ...rest } = table.checkpoint;
        const position = seals.at(-1)?.position ?? null;
        const link = {
          events: rest.events + seals.length,
          position,
          eventId: null,
          digest: hex(32),
        };
        const after = sealLog(signer, logId, link);
        const answers = [];
        for (const store of both)
          answers.push(await store.add({ ...rest, version: version + stale }, after, seals));
        expect(answers).toEqual([stale === 0n, stale === 0n]);
      }
      return ['all seals', await looked(both[0]!), await looked(both[1]!)];
    },
    25,
  );
});
