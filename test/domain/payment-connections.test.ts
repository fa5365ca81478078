import { personal } from '../../src/domain/personal.js';
import {
  connectionOf,
  decideOnConnection,
  evolveConnections,
  type PaymentConnection,
  type PaymentConnectionCommand,
  type PaymentConnectionEvent,
} from '../../src/domain/tenant/payment-connections.js';

/** A tenant's connections to its payment provider: given events, when a command, then events. */

const HOUR_MS = 3_600_000;

const connect = (id: string, now: number, mode: 'live' | 'test' = 'live') =>
  ({
    type: 'ConnectPaymentProvider',
    mode,
    provider: 'stripe',
    secrets: personal(id, `secrets of ${id}`),
    graceMs: HOUR_MS,
    now,
  }) as const;
const disconnect = (now: number) =>
  ({ type: 'DisconnectPaymentProvider', mode: 'live', now }) as const;

function after(...commands: readonly PaymentConnectionCommand[]): readonly PaymentConnection[] {
  return commands.reduce<readonly PaymentConnection[]>((connections, command) => {
    const decision = decideOnConnection(connections, command);
    const events: readonly PaymentConnectionEvent[] = 'events' in decision ? decision.events : [];
    return events.reduce(evolveConnections, connections);
  }, []);
}

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
