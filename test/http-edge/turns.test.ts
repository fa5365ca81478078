import type { IncomingMessage } from 'node:http';
import { FairSlots } from '../../src/foundation/fair-slots.js';
import { hasTurn, waitAside } from '../../src/http/edge/turns.js';

const ONE_SLOT = { slots: 1, perGroupMax: 1, aloneMax: 1, pastMs: 0, waitingMax: 10 };

test('a request that waits for long leaves its slot to another one, and goes on behind it', async () => {
  const slots = new FairSlots(ONE_SLOT);
  const request = {} as IncomingMessage;
  const first = slots.enter({ group: 'shop', member: '' });
  hasTurn(request, first);
  const second = slots.enter({ group: 'shop', member: '' });
  let reach = (): void => undefined;
  const position = new Promise<string>((resolve) => (reach = () => resolve('reached')));
  let isOver = false;
  const waited = waitAside(request, () => position).finally(() => (isOver = true));
  // The second one can begin only in the place of the first.
  expect(await second.begun).toBe(true);
  reach();
  await position;
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  second.end();
  expect(await waited).toBe('reached');
});

test('a request without a turn, and one whose turn is over, wait all the same', async () => {
  const slots = new FairSlots(ONE_SLOT);
  const request = {} as IncomingMessage;
  expect(await waitAside(request, () => Promise.resolve('none'))).toBe('none');
  const turn = slots.enter({ group: 'shop', member: '' });
  hasTurn(request, turn);
  turn.end();
  expect(await waitAside(request, () => Promise.resolve('over'))).toBe('over');
});
