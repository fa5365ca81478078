import { randomUUID } from 'node:crypto';
import { ChainSigner } from '../../src/chain/chain-signer.js';
import { ChainSealing } from '../../src/chain/chain-sealing.js';
import { sealsIn } from '../../src/chain/chain-seals.js';
import { beginLogSeal } from '../../src/chain/log-seal.js';
import { acknowledgementText } from '../../src/operations/ledger/loss-acknowledgement.js';
import { loseTail } from '../support/lost-tail.js';
import { ACME, ChainedLedger } from '../support/chained-ledger.js';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { openOnce } from '../support/opened.js';

/** The chain shows the first event that an attacker with the database changed, and how. */

const OTHER = { tenant: 'other', mode: 'live' } as const;
const SCOPES = [ACME, { tenant: 'acme', mode: 'test' } as const, OTHER];
const TABLES = ['events', 'streams', 'log_head', 'chain_seals', 'chain_checkpoints', 'log_seals'];

const ledger = openOnce(async () => (await ChainedLedger.open()).filled(), 'close');
let own: readonly RecordedEvent[];
beforeAll(async () => {
  own = await ledger.eventsOf(ACME);
  await sql('create schema untouched');
  for (const table of TABLES) await sql(`create table untouched.${table} as table ledger.${table}`);
});
async function restore(): Promise<void> {
  await sql(`truncate ledger.log_losses, ${TABLES.map((table) => `ledger.${table}`).join(', ')}`);
  for (const table of TABLES) await sql(`insert into ledger.${table} table untouched.${table}`);
}
afterEach(restore);

const numberOf = ({ position }: RecordedEvent): string => position.slice(9);
const sql = (text: string, ...values: readonly unknown[]) => ledger.pool.query(text, [...values]);

function at(index: number): RecordedEvent {
  const event = own.at(index);
  if (event === undefined) throw new Error(`there is no event ${index}`);
  return event;
}

const broken = (firstBroken: object) => ({ ok: false, firstBroken });
const brokenAt = ({ id, position }: RecordedEvent, reason: string) =>
  broken({ position, eventId: id, reason });

test('an untouched log is intact for every tenant and mode', async () => {
  for (const scope of SCOPES) {
    const events = await ledger.eventsOf(scope);
    const { digest } = await ledger.digest(scope);
    expect(await ledger.verify(scope)).toMatchObject({
      ...scope,
      ok: true,
      events: events.length,
      position: events.at(-1)?.position,
      digest,
      firstBroken: null,
    });
  }
  expect(own.length).toBe(21);
  expect(await ledger.verify()).toMatchObject({ seals: 4 });
});

test.each([
  ['data', `data = overlay(data placing 'X' from 12 for 1)`],
  ['metadata', `metadata = replace(metadata, '"v":1', '"v":2')`],
  ['type', `type = 'Other'`],
  ['revision', 'revision = revision + 100'],
  ['recorded_at', 'recorded_at = recorded_at - 1'],
])('a changed byte in %s of an event is found', async (column, change) => {
  for (const event of [at(-1), at(9), at(0)]) {
    await sql(`update ledger.events set ${change} where position = $1`, numberOf(event));
    expect(await ledger.verify()).toMatchObject(brokenAt(event, 'changed'));
  }
  // Another tenant's chain has nothing to do with it; which events stand where in the whole log
  // has.
  expect(await ledger.verify(OTHER)).toMatchObject({
    ok: column !== 'revision',
  });
});

test.each([
  ['in the middle', 7],
  ['under the newest seal', 18],
  ['the very first', 0],
  ['the last', -1],
])('a removed event is found: %s', async (_, index) => {
  await sql('delete from ledger.events where position = $1', numberOf(at(index)));
  expect(await ledger.verify()).toMatchObject(brokenAt(at(index), 'removed'));
});

test('an inserted event is found when all later ones moved up', async () => {
  await sql(
    'update ledger.events set position = -position - 1 where position >= $1',
    numberOf(at(6)),
  );
  await sql('update ledger.events set position = -position where position < 0');
  const id = randomUUID();
  await sql(
    `insert into ledger.events select $1, stream, 77, $2, type, data, metadata, recorded_at, 0 from ledger.events where position = $1::bigint + 1`,
    numberOf(at(6)),
    id,
  );
  expect(await ledger.verify()).toMatchObject(brokenAt({ ...at(6), id }, 'inserted'));
});

test('two swapped events are found', async () => {
  const [one, other] = [at(6), at(7)];
  await sql('update ledger.events set position = -1 where position = $1', numberOf(one));
  await sql(
    'update ledger.events set position = $1 where position = $2',
    numberOf(one),
    numberOf(other),
  );
  await sql('update ledger.events set position = $1 where position = -1', numberOf(other));
  expect(await ledger.verify()).toMatchObject(brokenAt(one, 'reordered'));
});

test('removed seals are covered by the later ones; without any seal the events are unsealed', async () => {
  await sql(
    `delete from ledger.chain_seals where chain = $1 and events <= 11`,
    ledger.chains.of(ACME),
  );
  expect(await ledger.verify()).toMatchObject({ ok: true });
  await sql('delete from ledger.chain_seals where chain = $1', ledger.chains.of(ACME));
  expect(await ledger.verify()).toMatchObject(brokenAt(at(0), 'inserted'));
});

class Forger extends ChainSigner {
  override isSigned(): boolean {
    return true;
  }
}

/** Reseals like an attacker with the database and this code, but without the key. */
async function sealWithAnotherKey(): Promise<void> {
  const { pool, log, chains } = ledger;
  const signer = new Forger(Buffer.alloc(32, 66));
  await sql('truncate ledger.log_seals');
  await beginLogSeal(pool, await log.id(), signer);
  await new ChainSealing({ seals: sealsIn(pool), log, chains, signer }).sealToHead();
}

test('a chain that was made again without the key has foreign seals, and is not continued', async () => {
  await sql(`update ledger.events set data = '{}' where position = $1`, numberOf(at(9)));
  await sql('truncate ledger.chain_seals, ledger.chain_checkpoints');
  await sealWithAnotherKey();
  expect(await ledger.verify()).toMatchObject(brokenAt(at(0), 'seal-signature'));
  await expect(ledger.digest()).rejects.toMatchObject({ code: 'SEAL_NOT_SIGNED_HERE' });
  // Our signature would make theirs good.
  await ledger.happened('a');
  expect(await ledger.sealing.sealToHead()).toMatchObject({ events: 0, stopped: 'seal-signature' });
  expect(await ledger.verify()).toMatchObject(brokenAt(at(0), 'seal-signature'));
  await expect(ledger.digest()).rejects.toMatchObject({ code: 'SEAL_NOT_SIGNED_HERE' });
});

test('a chain whose newest seal was not signed here is not sealed on, and the other chains are', async () => {
  const chain = ledger.chains.of(ACME);
  const other = ledger.chains.of(OTHER);
  const sealsOf = async (one: string) =>
    (await sql('select from ledger.chain_seals where chain = $1', one)).rowCount ?? 0;
  await sql(
    `update ledger.chain_seals set signature = $2 where chain = $1
       and events = (select max(events) from ledger.chain_seals where chain = $1)`,
    chain,
    new ChainSigner(Buffer.alloc(32, 66)).sign('another text'),
  );
  const before = [await sealsOf(chain), await sealsOf(other)] as const;
  await ledger.happened('a');
  await ledger.happened('a', OTHER);
  expect(await ledger.sealing.sealToHead()).toMatchObject({
    events: 2,
    broken: [chain],
    stopped: null,
  });
  expect([await sealsOf(chain), await sealsOf(other)]).toEqual([before[0], before[1] + 1]);
});

test('a seal that was rewritten to fit a changed event is found', async () => {
  await sql(`update ledger.events set data = '{}' where position = $1`, numberOf(at(-1)));
  await sql(
    'delete from ledger.chain_seals where events = 21 and chain = $1',
    ledger.chains.of(ACME),
  );
  await sql('update ledger.chain_checkpoints set position = $1', at(15).position);
  await sealWithAnotherKey();
  expect(await ledger.verify()).toMatchObject(
    broken({ position: at(16).position, reason: 'seal-signature' }),
  );
});

test('seals that were made again with the key for a changed log are found by a digest from outside only', async () => {
  const early = await ledger.digest();
  await ledger.happened('a');
  await sql(`update ledger.events set data = '{}' where position = $1`, numberOf(at(9)));
  await sql('truncate ledger.chain_seals, ledger.chain_checkpoints');
  expect(await ledger.verify()).toMatchObject(broken({ reason: 'seal-signature' }));
  await ledger.acknowledge();
  expect(await ledger.verify()).toMatchObject({ ok: true, firstBroken: null });
  expect(await ledger.verify(ACME, early)).toMatchObject(
    broken({ position: early.position, eventId: null, reason: 'outside-digest' }),
  );
});

/** Cuts the log off like an attacker who knows the tables: only signed contents reveal it. */
async function cutOff(from: number): Promise<RecordedEvent> {
  const first = (await ledger.events()).at(from);
  if (first === undefined) throw new Error('there is nothing to cut off');
  const before = BigInt(numberOf(first)) - 1n;
  await sql('delete from ledger.events where position > $1', before);
  await sql(
    'delete from ledger.streams s where not exists (select from ledger.events e where e.stream = s.stream)',
  );
  await sql(
    `update ledger.streams s set revision = e.revision
       from (select stream, max(revision) as revision from ledger.events group by stream) e where e.stream = s.stream`,
  );
  await sql('update ledger.log_head set position = $1', before);
  await sql(
    'delete from ledger.chain_seals where not (positions[cardinality(positions)] = any ($1))',
    (await ledger.events()).map(({ position }) => position),
  );
  const newest = (await ledger.events()).at(-1);
  await sql(
    'update ledger.chain_checkpoints set position = $1, events = $2',
    newest?.position ?? null,
    before,
  );
  return first;
}

test.each([-1, -3, -7, -9, 0])(
  'newest events that were removed with their seals (%s) are found',
  async (from) => {
    const first = await cutOff(from);
    const verified = await ledger.verify();
    expect(verified).toMatchObject(broken({ reason: expect.stringMatching(/removed|lost/) }));
    expect(
      verified.firstBroken?.position &&
        ledger.log.compare(verified.firstBroken.position, first.position),
    ).toBeGreaterThanOrEqual(0);
    // Every tenant's verification says so: the log is one.
    expect(await ledger.verify(OTHER)).toMatchObject({ ok: false });
    // Filled again, it is found all the same, and nothing is sealed over it.
    for (let n = 0; n < 12; n++) await ledger.happened('z');
    expect(await ledger.verify()).toMatchObject({ ok: false });
    expect(await ledger.sealing.sealToHead()).toMatchObject({ events: 0 });
  },
);

test('a seal of the log that was removed, or made again without the key, is found', async () => {
  await cutOff(-3);
  await sql('truncate ledger.log_seals');
  expect(await ledger.verify()).toMatchObject(broken({ reason: 'seal-removed' }));
  await beginLogSeal(ledger.pool, await ledger.log.id(), new ChainSigner(Buffer.alloc(32, 66)));
  expect(await ledger.verify()).toMatchObject(broken({ reason: 'seal-signature' }));
});

test('a newest event that was replaced by a foreign one is found, although the count is right', async () => {
  const last = at(-1);
  await sql(
    'delete from ledger.chain_seals where chain = $1 and $2::uuid = any (event_ids)',
    ledger.chains.of(ACME),
    last.id,
  );
  await sql(
    `update ledger.events set stream = 'referral-tenants', revision = 1, event_id = $2 where position = $1`,
    numberOf(last),
    randomUUID(),
  );
  expect(await ledger.verify(OTHER)).toMatchObject({ ok: false });
});

test('a restored older database with its seals is found by a digest from outside only', async () => {
  await ledger.happened('a');
  const newer = await ledger.digest();
  await restore();
  expect(await ledger.verify()).toMatchObject({ ok: true });
  expect(await ledger.verify(ACME, newer)).toMatchObject(
    broken({ position: newer.position, reason: 'removed' }),
  );
});

test.each([
  [
    'a stream that seems longer',
    `update ledger.streams set revision = revision + 1 where stream = (select max(stream) from ledger.streams)`,
  ],
  [
    'a stream that the table lacks',
    `delete from ledger.streams where stream = (select max(stream) from ledger.streams)`,
  ],
  ['a head beyond the events', 'update ledger.log_head set position = position + 1'],
])('tables that contradict the events are found: %s', async (_, change) => {
  await sql(change);
  expect(await ledger.verify()).toMatchObject(broken({ reason: 'changed' }));
});

test('an acknowledged loss is signed, the log is intact from then on, and a later loss is found', async () => {
  await expect(ledger.acknowledge()).rejects.toThrow('nothing was lost');
  const tail = (await ledger.events()).at(-4);
  await loseTail(ledger.pool, BigInt(numberOf(at(-3))) - 1n);
  expect(await ledger.verify()).toMatchObject({ ok: false });
  const acknowledged = await ledger.acknowledge();
  expect(acknowledged).toMatchObject({ reason: 'a fail-over', to: tail && expect.any(String) });
  expect(
    ledger.chainSigner.isSigned(acknowledgementText(acknowledged), acknowledged.signature),
  ).toBe(true);
  expect(
    ledger.chainSigner.isSigned(
      acknowledgementText({ ...acknowledged, reason: 'nothing of note' }),
      acknowledged.signature,
    ),
  ).toBe(false);
  for (const scope of SCOPES)
    expect(await ledger.verify(scope)).toMatchObject({ ok: true, firstBroken: null });
  for (let n = 0; n < 5; n++) await ledger.happened('y');
  expect(await ledger.verify()).toMatchObject({ ok: true });
  await cutOff(-2);
  expect(await ledger.verify()).toMatchObject({ ok: false });
  await ledger.acknowledge();
  expect(await ledger.verify()).toMatchObject({ ok: true });
});

test('a changed digest from outside is detected, whichever member was changed', async () => {
  const signed = await ledger.digest();
  expect(await ledger.verify(ACME, signed)).toMatchObject({ ok: true });
  for (const change of [
    { digest: '0'.repeat(64) },
    { events: 3 },
    { position: at(2).position },
    { publicKey: 'AAAA' },
    { signature: undefined },
  ]) {
    expect((await ledger.verify(ACME, { ...signed, ...change })).firstBroken).toMatchObject({
      reason: 'digest-signature',
    });
  }
  const plain = await ledger.digest(ACME, false);
  expect(await ledger.verify(ACME, plain)).toMatchObject({ ok: true });
  expect(
    (await ledger.verify(ACME, { ...plain, digest: '0'.repeat(64) })).firstBroken,
  ).toMatchObject({ reason: 'outside-digest' });
  // A change in the log is reported all the same, and first.
  await sql(`update ledger.events set data = '{}' where position = $1`, numberOf(at(9)));
  expect(await ledger.verify(ACME, { ...signed, events: 3 })).toMatchObject(
    brokenAt(at(9), 'changed'),
  );
});
