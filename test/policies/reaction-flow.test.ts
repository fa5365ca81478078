import type { PageEvent } from '../../src/projecting/page.js';
import { ReactionFlow, type FlowLimits } from '../../src/reacting/reaction-flow.js';
import type { PolicyEvent } from '../../src/reacting/reading-events.js';

/** A flow whose reactions are done when the test says so. */
class Flow {
  /** The events whose reactions have begun, and those that are done, by position. */
  readonly begun: string[] = [];
  readonly done: string[] = [];
  readonly failures: unknown[] = [];
  readonly reached: string[] = [];
  readonly flow: ReactionFlow;
  readonly ending = new AbortController();
  private readonly ends = new Map<string, (error?: Error) => void>();
  private head = 0;

  constructor(limits?: FlowLimits) {
    this.flow = new ReactionFlow(undefined, {
      // Any event is of interest.
      reading: {
        policies: [],
        unreadableReason: () => 'for this test',
      },
      reactions: {
        keepParked: () => Promise.resolve(),
        reactTo: (met) => this.reactTo(met),
      },
      onDone: (position) => this.reached.push(position),
      onMovedIn: () => undefined,
      onFailed: (error) => this.failures.push(error),
      isBehind: (one, other) => other === undefined || Number(one) > Number(other),
      signal: this.ending.signal,
      ...(limits && { limits }),
    });
  }

  /** One page, an event for each stream that is named, as `tenant/account`. */
  take(...streams: readonly string[]): Promise<void> {
    const events = streams.map((stream) => this.event(stream));
    const last = String(this.head);
    return this.flow.take({ events, last, lastEventId: last });
  }

  async end(position: number, error?: Error): Promise<void> {
    this.ends.get(String(position))?.(error);
    await settled();
  }

  private event(stream: string): PageEvent {
    const position = String(++this.head);
    const [tenant = '', name = ''] = stream.split('/');
    const recorded = {
      id: position,
      stream: `referral-account-live.${tenant}.${name}`,
      revision: BigInt(position),
      position,
      type: 'Happened',
      data: 'x'.repeat(100),
      metadata: '',
      recordedAt: 0,
    };
    const undecodable = { ...recorded, undecodable: 'for this test' };
    return { recorded, decoded: undefined, undecodable };
  }

  private async reactTo({ recorded: { position } }: PolicyEvent): Promise<void> {
    this.begun.push(position);
    await new Promise<void>((resolve, reject) =>
      this.ends.set(position, (error) => (error ? reject(error) : resolve())),
    );
    this.done.push(position);
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a stream whose reactions take long delays itself, over the ends of pages, and not the others', async () => {
  const flow = new Flow();
  await flow.take('shop/hot', 'shop/a');
  await flow.take('shop/hot', 'shop/b', 'shop/a');
  expect(flow.begun).toEqual(['1', '2', '4']);
  await flow.end(2);
  await flow.end(4);
  await flow.end(5);
  expect(flow.done).toEqual(['2', '4', '5']);
  expect(flow.begun).not.toContain('3');
  await flow.end(1);
  expect(flow.begun.at(-1)).toBe('3');
});

test('each ledger is as far as its own reactions', async () => {
  const flow = new Flow();
  await flow.take('shop/a', 'other/a', 'other/b');
  await flow.take('shop/b');
  await flow.end(1);
  await flow.end(4);
  await flow.end(3);
  expect(flow.flow.reachedIn('live/shop')).toBe('4');
  expect(flow.flow.reachedIn('live/third')).toBe('4');
  expect(flow.flow.reachedIn('live/other')).toBe('1');
  await flow.end(2);
  expect(flow.flow.reachedIn('live/other')).toBe('4');
  expect(flow.flow.reachedIn('test/other')).toBe('4');
});

test.each([
  ['events', { eventsMax: 3, bytesMax: Infinity }],
  ['bytes', { eventsMax: Infinity, bytesMax: 300 }],
])('no page is taken up while as many %s as may wait for their reactions', async (_, limits) => {
  const flow = new Flow(limits);
  await flow.take('shop/hot', 'shop/a');
  let hasRoom = false;
  const taking = flow.take('shop/hot').then(() => (hasRoom = true));
  await settled();
  expect(hasRoom).toBe(false);
  await flow.end(2);
  await taking;
  expect(hasRoom).toBe(true);
});

test('however many streams of a ledger take long, another ledger has its turn', async () => {
  const flow = new Flow();
  await flow.take(...Array.from({ length: 100 }, (_, n) => `hot/${n}`));
  const ofHot = flow.begun.length;
  await flow.take('quiet/a');
  expect(ofHot).toBeLessThan(100);
  expect(flow.begun.slice(ofHot)).toEqual(['101']);
});

test('after an error nothing more begins, what runs ends first, and the flow ends with the error', async () => {
  const flow = new Flow();
  await flow.take('shop/a', 'shop/b');
  await flow.take('shop/a', 'shop/b');
  await flow.end(1, new Error('not parked'));
  expect(flow.flow.signal.aborted).toBe(true);
  expect(flow.failures).toEqual([new Error('not parked')]);
  let isClosed = false;
  const closed = flow.flow.close().then(() => (isClosed = true));
  await settled();
  expect(isClosed).toBe(false);
  await flow.end(2);
  await closed;
  expect(flow.begun).toEqual(['1', '2']);
  expect(flow.reached).toEqual([]);
});
