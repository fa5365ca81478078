import { isKeyUsedTwice, unexplained } from '../../simulator/explained.js';
import { accountRefIn, type Ending } from '../../simulator/clients.js';
import type { Sent } from '../../simulator/requests.js';
import type { SimulatedService } from '../../simulator/service.js';
import type { Decoded } from '../../src/event-log/codec.js';
import type { Actor } from '../../src/event-log/envelope.js';
import { KeyedNames } from '../../src/privacy/keyed-names.js';

const scope = { tenant: 'acme', mode: 'live' } as const;
const names = new KeyedNames(Buffer.alloc(32, 1));
const stream = names.accountStream(scope, accountRefIn('one', scope, names));
const told = { scope, names, areAnswersLost: false, lost: [] };

const answered = (ending: Ending): Sent => ({
  wish: {
    kind: 'account',
    accountId: 'one',
    request: { type: 'ForgetAccount', doNotTrack: false },
  },
  key: undefined,
  body: 'the request',
  sentAt: 0,
  tries: [{ callId: 'the call', service: {} as SimulatedService, ending }],
});
const recordedBy = (kind: Actor['kind']) =>
  ({
    event: { type: 'RewardGranted' },
    envelope: {
      actor: { kind, id: 'actor' },
      correlationId: 'the call',
      commandId: 'the command',
      idempotency: null,
    },
    recorded: { stream, recordedAt: 0 },
  }) as unknown as Decoded;

it('a refused request has recorded nothing, whatever policies did because of it', () => {
  const refused = answered({ kind: 'refused', code: 'NOT_POSSIBLE' });
  expect(unexplained([refused], [recordedBy('policy')], told)).toEqual([]);
  expect(unexplained([refused], [recordedBy('api-key')], told)).toEqual([
    'refused with NOT_POSSIBLE, and there is RewardGranted: the request',
  ]);
});

it('what a policy did is not what an accepted request promises', () => {
  const accepted = answered({ kind: 'accepted', isReplayed: false, events: 1, of: 'the request' });
  expect(unexplained([accepted], [recordedBy('api-key')], told)).toEqual([]);
  expect(unexplained([accepted], [recordedBy('policy')], told)).toEqual([
    'accepted with 1 events, and there is nothing: the request',
  ]);
});

it('a key has one effect while it lives, and another one in its next life', () => {
  const day = 86_400_000;
  expect(isKeyUsedTwice([0])).toBe(false);
  expect(isKeyUsedTwice([0, day])).toBe(true);
  expect(isKeyUsedTwice([9 * day, 0])).toBe(false);
  expect(isKeyUsedTwice([9 * day, 0, 3 * day])).toBe(true);
});
