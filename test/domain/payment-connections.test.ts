import { personal } from '../../src/domain/personal.js';
import {
  connectionOf,
  decideOnConnection,
  evolveConnections,
  keysAfter,
  type PaymentConnection,
  type PaymentConnectionCommand,
  type PaymentConnectionEvent,
  type ProviderKeys,
} from '../../src/domain/tenant/payment-connections.js';

const HOUR_MS = 3_600_000;

const connect = (id: string, now: number, mode: 'live' | 'test' = 'live', keyRef = `key ${id}`) =>
  ({
    type: 'ConnectPaymentProvider',
    mode,
    provider: 'stripe',
    secrets: personal(id, `secrets of ${id}`),
    keyRef,
    graceMs: HOUR_MS,
    now,
  }) as const;
const disconnect = (now: number) =>
  ({ type: 'DisconnectPaymentProvider', mode: 'live', now }) as const;

function after(...commands: readonly PaymentConnectionCommand[]): readonly PaymentConnection[] {
  let keys: ProviderKeys = {};
  return commands.reduce<readonly PaymentConnection[]>((connections, command) => {
    const decision = decideOnConnection(connections, command);
    const events: readonly PaymentConnectionEvent[] = 'events' in decision ? decision.events : [];
    return events.reduce((all, event) => {
      keys = keysAfter(keys, event);
      return evolveConnections(all, event, keys);
    }, connections);
  }, []);
}

const keySince = (...commands: readonly PaymentConnectionCommand[]): number | undefined =>
  connectionOf(after(...commands), 'live')?.keySince;

const ids = (connections: readonly PaymentConnection[]) =>
  connections.map(({ connectionId, validUntil }) => [connectionId, validUntil]);

it('a new connection leaves the webhook secret of the one before its grace', () => {
  expect(ids(after(connect('a', 1), connect('b', 2)))).toEqual([
    ['a', 2 + HOUR_MS],
    ['b', null],
  ]);
});

it('a tenant that rotates again and again keeps two connections, and ends the others', () => {
  expect(ids(after(connect('a', 1), connect('b', 2), connect('c', 3)))).toEqual([
    ['b', 3 + HOUR_MS],
    ['c', null],
  ]);
  const third = decideOnConnection(after(connect('a', 1), connect('b', 2)), connect('c', 3));
  expect(third).toMatchObject({ events: [{ ended: ['a'] }] });
});

it('the end of a connection ends all of its mode, those of their grace included, once', () => {
  const before = after(connect('a', 1), connect('b', 2), connect('t', 3, 'test'));
  expect(decideOnConnection(before, disconnect(4))).toEqual({
    events: [{ type: 'PaymentProviderDisconnected', at: 4, mode: 'live', ended: ['a', 'b'] }],
  });
  const left = after(connect('a', 1), connect('t', 3, 'test'), disconnect(4));
  expect([connectionOf(left, 'live'), connectionOf(left, 'test')?.connectionId]).toEqual([
    undefined,
    't',
  ]);
  expect(decideOnConnection(left, disconnect(5))).toEqual({ events: [] });
});

it('before the first key of a mode no other one has called', () => {
  expect(keySince(connect('a', 1))).toBe(0);
  expect(keySince(connect('t', 1, 'test'), connect('a', 2))).toBe(0);
});

it('a key stays the same after a rotation of its webhook secret and after a disconnection', () => {
  const a = [connect('a', 1), connect('b', 2, 'live', 'key a'), disconnect(3)] as const;
  expect(keySince(...a, connect('c', 4, 'live', 'key a'))).toBe(0);
});

it('another key is one from its connection on, also where the one before was destroyed', () => {
  expect(keySince(connect('a', 1), connect('b', 2))).toBe(2);
  expect(keySince(connect('a', 1), disconnect(2), connect('b', 3))).toBe(3);
  expect(keySince(connect('a', 1), connect('b', 2), connect('c', 3, 'live', 'key a'))).toBe(3);
});

it('a key that an earlier release recorded may be any other one', () => {
  const event = {
    type: 'PaymentProviderConnected',
    at: 5,
    mode: 'live',
    provider: 'stripe',
    secrets: personal('a', 'secrets of a'),
    replacedValidUntil: 5,
    ended: [],
  } as const;
  const first = keysAfter({}, event);
  expect(first).toEqual({ live: { ref: null, since: 0 } });
  expect(keysAfter(first, { ...event, at: 6 })).toEqual({ live: { ref: null, since: 6 } });
  expect(keysAfter(first, { ...event, at: 6, keyRef: 'a' }).live?.since).toBe(6);
});
