import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { CHAIN_START, nextLink } from '../../src/chain/chain-link.js';
import { ChainNames } from '../../src/chain/chain-names.js';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';

const recorded = fc.record<RecordedEvent>({
  id: fc.uuid(),
  type: fc.string(),
  data: fc.string(),
  metadata: fc.string(),
  stream: fc.string(),
  revision: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
  position: fc.string(),
  recordedAt: fc.nat(),
});

const linked = (events: readonly RecordedEvent[]) => events.reduce(nextLink, CHAIN_START);

test('the digests are those that the page describes', () => {
  const event = {
    id: 'id',
    type: 'T',
    data: '{"ä":1}',
    metadata: '{}',
    stream: 'str',
    revision: 12n,
    position: 'p-1',
    recordedAt: 5,
  };
  const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');
  const first = sha256('3 2 1 7 12\nstridT{"ä":1}{}');
  const second = sha256(`${first}3 2 1 7 12\nstridT{"ä":1}{}`);
  const place = sha256(`${first} 5 p-1`);
  expect(linked([event])).toEqual({ events: 1, position: 'p-1', digest: first, places: place });
  expect(linked([event, event])).toEqual({
    events: 2,
    position: 'p-1',
    digest: second,
    places: sha256(`${place}${second} 5 p-1`),
  });
});

test('other events, or the same in another order, have other digests', () => {
  const others = fc.tuple(
    fc.array(recorded, { maxLength: 5 }),
    fc.array(recorded, { maxLength: 5 }),
  );
  const content = ({ position: _, recordedAt: __, ...rest }: RecordedEvent) =>
    JSON.stringify(rest, (key, value: unknown) => (key === 'revision' ? String(value) : value));
  fc.assert(
    fc.property(others, ([some, more]) => {
      const isEqual =
        some.length === more.length &&
        some.every((event, index) => content(event) === content(more[index] ?? event));
      expect(linked(some).digest === linked(more).digest).toBe(isEqual);
    }),
  );
  // Bytes that move from one member to its neighbour are another event.
  fc.assert(
    fc.property(recorded, fc.string({ minLength: 1 }), (event, text) => {
      const { data, metadata } = event;
      expect(linked([{ ...event, data: data + text }]).digest).not.toBe(
        linked([{ ...event, metadata: text + metadata }]).digest,
      );
    }),
  );
});

test('the position and time of an event are part of the digest of places only', () => {
  fc.assert(
    fc.property(recorded, fc.nat(), fc.string(), (event, recordedAt, position) => {
      const [one, other] = [linked([event]), linked([{ ...event, recordedAt, position }])];
      expect(one.digest).toBe(other.digest);
      expect(one.places === other.places).toBe(
        event.recordedAt === recordedAt && event.position === position,
      );
    }),
  );
});

test('every stream of a tenant and mode is in its chain, and in no other one', () => {
  const names = new KeyedNames(Buffer.alloc(32, 1));
  const chains = new ChainNames(names);
  const alias = fc.stringMatching(/^[a-z0-9_-]{1,12}$/);
  const scope = fc.record({
    tenant: alias,
    mode: fc.constantFrom('live' as const, 'test' as const),
  });
  const streams = fc
    .tuple(scope, fc.string())
    .map(([of, id]) => [
      names.accountStream(of, names.accountRef(of, id)),
      names.auditStream(of, names.accountRef(of, id)),
      names.codeStream(of, id),

      names.paymentProviderIdStream(of, id),
      names.moderationStream(of, 'f00'),
      names.tankCodesStream(of),
      names.shareLinkStream(of, id, '2026-01-01'),
    ]);
  fc.assert(
    fc.property(scope, scope, streams, (one, other, some) => {
      for (const stream of [
        ...some,
        names.tenantStream(one.tenant),
        names.tenantStream(other.tenant),
        names.tenantRegisterStream(),
      ]) {
        expect(chains.membership(one)(stream)).toBe(
          chains.ofStream(stream).includes(chains.of(one)),
        );
      }
      expect(chains.ofStream(names.tankCodesStream(one))).toEqual([chains.of(one)]);
      expect(chains.of(one) === chains.of(other)).toBe(
        one.tenant === other.tenant && one.mode === other.mode,
      );
    }),
  );
  expect(chains.ofStream(names.tenantStream('a'))).toEqual([
    chains.of({ tenant: 'a', mode: 'live' }),
    chains.of({ tenant: 'a', mode: 'test' }),
  ]);
  expect(chains.ofStream(names.tenantRegisterStream())).toEqual([]);
});
