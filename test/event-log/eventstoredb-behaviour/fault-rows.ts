import { END, NO_STREAM, START, streamNameFilter } from '@eventstore/db-client';
import { eventually } from '../../support/embedded.js';
import {
  all,
  appendEvents,
  event,
  events,
  outcomeOf,
  refusalOf,
  wordsOf,
  type BehaviourSection,
} from './behaviour-row.js';

/** Ends what hangs sooner than the client does by itself. */
const BRISK = '&keepAliveInterval=1000&keepAliveTimeout=1000';
const becauseKilled = 'a server must be killed for it';
const becauseFault = 'a server must go wrong on command for it';

export const faultSections: readonly BehaviourSection[] = [
  {
    title: 'faults',
    rows: [
      {
        needs: 'faults',
        because: becauseFault,
        name: 'an answer that is lost: the identical append again succeeds with what was stored, another one is refused',
        expected: {
          lost: expect.objectContaining({ refused: 'unavailable', code: 14 }),
          identical: { success: true, revision: 1n, position: true },
          other: expect.objectContaining({ refused: 'wrong-expected-version', actualVersion: 1n }),
          stored: 2,
        },
        run: async (meeting, double) => {
          const to = meeting.stream('lost');
          const batch = events(2);
          const append = (what: typeof batch) =>
            appendEvents(meeting.client, { to, events: what, expected: NO_STREAM });
          double.faults.next('answer-lost');
          const lost = await outcomeOf(append(batch));
          const again = await append(batch);
          const stored = double.store.eventsOf(to);
          return {
            lost,
            identical: {
              success: again.success,
              revision: again.nextExpectedRevision,
              position: again.position?.commit === BigInt(stored.at(-1)!.position),
            },
            other: await outcomeOf(append(events(2))),
            stored: stored.length,
          };
        },
      },
      {
        needs: 'faults',
        because: becauseFault,
        name: 'a connection that breaks, or silence, after the write: unavailable, or the deadline; stored both times',
        expected: {
          cut: expect.objectContaining({ refused: 'unavailable' }),
          silence: expect.objectContaining({ refused: 'deadline-exceeded', code: 4 }),
          stored: ['Cut', 'Silence'],
        },
        run: async (meeting, double) => {
          const to = meeting.stream('cut');
          double.faults.next('answer-lost', 1, { how: 'cut' });
          const cut = await outcomeOf(appendEvents(meeting.client, { to, events: [event('Cut')] }));
          double.faults.next('answer-lost', 1, { how: 'silence' });
          const silence = await outcomeOf(
            appendEvents(meeting.client, { to, events: [event('Silence')], deadline: 200 }),
          );
          return { cut, silence, stored: double.store.eventsOf(to).map(({ type }) => type) };
        },
      },
      {
        needs: 'faults',
        because: becauseFault,
        name: 'not ready: unavailable for every call',
        expected: {
          append: 'unavailable',
          read: 'unavailable',
          log: 'unavailable',
          after: true,
        },
        run: async (meeting, double) => {
          const to = meeting.stream('not-ready');
          const refused = async (promise: Promise<unknown>): Promise<unknown> =>
            ((await outcomeOf(promise)) as { refused?: string }).refused;
          const during = await double.faults.during('not-ready', async () => ({
            append: await refused(appendEvents(meeting.client, { to, events: [event()] })),
            read: await refused(all(meeting.client.readStream(to))),
            log: await refused(all(meeting.client.readAll())),
          }));
          const after = await appendEvents(meeting.client, {
            to,
            events: [event()],
            expected: NO_STREAM,
          });
          return { ...during, after: after.success };
        },
      },
      {
        needs: 'faults',
        because: becauseKilled,
        name: 'killed: what is pending is unavailable, the subscription fails and does not come back; the same client works after a restart',
        expected: {
          pending: expect.objectContaining({ refused: 'unavailable', code: 14 }),
          down: expect.objectContaining({ code: 14 }),
          words: ['confirmation', 'A', 'caughtUp', 'error unavailable'],
          after: ['A', 'B'],
        },
        run: async (meeting, double) => {
          const to = meeting.stream('killed');
          await appendEvents(meeting.client, { to, events: [event('A')] });
          const words = wordsOf(meeting.client.subscribeToStream(to, { fromRevision: START }));
          await eventually(async () => words.includes('caughtUp'));
          double.faults.next('hung');
          const pending = outcomeOf(appendEvents(meeting.client, { to, events: [event('Never')] }));
          await eventually(async () => double.faults.count('hung') === 1);
          await double.kill();
          const seen = {
            pending: await pending,
            down: await outcomeOf(appendEvents(meeting.client, { to, events: [event('Down')] })),
          };
          await double.restart();
          // The client waits a while before it tries a port again that had refused it.
          await eventually(
            async () =>
              (await appendEvents(meeting.client, { to, events: [event('B')], expected: 0n }))
                .success,
          );
          return {
            ...seen,
            words,
            after: (await all(meeting.client.readStream(to))).map(
              ({ event: found }) => found!.type,
            ),
          };
        },
      },
      {
        needs: 'faults',
        because: becauseFault,
        name: 'hung, on a known connection: deadlines end unary calls, keep-alive ends a read; afterwards everything goes on',
        expected: {
          append: expect.objectContaining({ refused: 'deadline-exceeded' }),
          read: 'unavailable',
          after: true,
        },
        run: async (meeting, double) => {
          const to = meeting.stream('hung');
          const client = meeting.newClient(BRISK);
          await appendEvents(client, { to, events: [event('A')] });
          const during = await double.faults.during('hung', async () => {
            const append = await outcomeOf(
              appendEvents(client, { to, events: [event('B')], deadline: 300 }),
            );
            const read = (await outcomeOf(all(client.readStream(to, { deadline: 300 })))) as {
              refused?: string;
            };
            return { append, read: read.refused };
          });
          return {
            ...during,
            after: (await appendEvents(meeting.newClient(), { to, events: [event('C')] })).success,
          };
        },
      },
      {
        needs: 'faults',
        because: becauseFault,
        name: 'hung, on a new connection: a read hangs for longer than any keep-alive, and ends well when the server goes on',
        expected: { during: 'nothing', after: ['A'] },
        run: async (meeting, double) => {
          const to = meeting.stream('hung-new');
          await appendEvents(meeting.client, { to, events: [event('A')] });
          double.faults.set('hung');
          const fresh = meeting.newClient(BRISK);
          let settled = 'nothing';
          const read = all(fresh.readStream(to)).finally(() => (settled = 'an answer'));
          // A deadline of three seconds on another client is the clock: by then, keep-alive would
          // have struck.
          await outcomeOf(
            appendEvents(meeting.client, { to, events: [event('Late')], deadline: 3_000 }),
          );
          const during = settled;
          double.faults.clear('hung');
          const types = (await read).map(({ event: found }) => found!.type);
          return { during, after: types.slice(0, 1) };
        },
      },
      {
        needs: 'faults',
        because: becauseFault,
        name: 'a polite end: a subscription and a read end without an error',
        expected: {
          subscription: ['confirmation', 'A', 'caughtUp', 'end', 'close'],
          read: ['A'],
          open: 0,
        },
        run: async (meeting, double) => {
          const to = meeting.stream('polite');
          await appendEvents(meeting.client, { to, events: [event('A')] });
          const words = wordsOf(meeting.client.subscribeToStream(to, { fromRevision: START }));
          await eventually(async () => words.includes('caughtUp'));
          double.faults.next('stream-ended', 1, { methods: ['subscribe'] });
          await appendEvents(meeting.client, { to, events: [event('B')] });
          await eventually(async () => words.includes('close'));
          double.faults.next('stream-ended', 1, {
            when: ({ stream }) => stream === to,
            methods: ['read'],
          });
          const none = await all(meeting.client.readStream(to));
          const one = await all(meeting.client.readStream(to, { maxCount: 1 }));
          return {
            subscription: words,
            read: [...none, ...one].map(({ event: found }) => found!.type),
            open: double.subscriptions,
          };
        },
      },
      {
        needs: 'faults',
        because: 'whether a burst is too much for a consumer is a matter of chance',
        name: 'a slow consumer: dropped at a burst with a time-out, no end and no close; events that were sent still arrive',
        expected: {
          error: expect.objectContaining({ refused: 'timeout', code: 10 }),
          end: false,
          eventsAfterTheError: true,
        },
        run: async (meeting, double) => {
          const to = meeting.stream('slow');
          const subscription = meeting.client.subscribeToAll({
            fromPosition: END,
            filter: streamNameFilter({ prefixes: [to] }),
          });
          const words = wordsOf(subscription);
          const errors: unknown[] = [];
          subscription.on('error', (error) => errors.push(error));
          await eventually(async () => words.includes('caughtUp'));
          double.faults.next('slow-consumer', 1, { burst: 100 });
          subscription.pause();
          double.storedBehindTheBack(
            to,
            Array.from({ length: 200 }, () => ({ type: 'Burst' })),
          );
          await eventually(async () => errors.length > 0);
          subscription.resume();
          await eventually(async () => words.lastIndexOf('Burst') > words.indexOf('error timeout'));
          return {
            error: refusalOf(errors[0]),
            end: words.includes('end') || words.includes('close'),
            eventsAfterTheError: true,
          };
        },
      },
      {
        needs: 'faults',
        because: becauseFault,
        name: 'a scan that finds nothing for long is silent until it does; so is an answer that is late',
        expected: { duringScan: 'nothing', duringAppend: 'nothing', scan: ['A'], append: true },
        run: async (meeting, double) => {
          const to = meeting.stream('scan');
          await appendEvents(meeting.client, { to, events: [event('A')] });
          let release: () => void = () => undefined;
          const until = new Promise<void>((resolve) => (release = resolve));
          double.faults.next('too-slow-scan', 1, { until });
          double.faults.next('answer-late', 1, { until, methods: ['append'] });
          const words = wordsOf(
            meeting.client.subscribeToAll({
              fromPosition: START,
              filter: streamNameFilter({ prefixes: [to] }),
            }),
          );
          let appended = 'nothing';
          const append = appendEvents(meeting.client, {
            to: meeting.stream('late'),
            events: [event('B')],
          }).finally(() => (appended = 'an answer'));
          await eventually(
            async () =>
              double.faults.count('answer-late') === 1 &&
              double.faults.count('too-slow-scan') === 1,
          );
          const during = {
            duringScan: words.length === 0 ? 'nothing' : 'something',
            duringAppend: appended,
          };
          release();
          await eventually(async () => words.includes('caughtUp'));
          return {
            ...during,
            scan: words.filter((word) => word === 'A'),
            append: (await append).success,
          };
        },
      },
      {
        needs: 'faults',
        because: 'a server has one version',
        name: 'an append with credentials asks first for nothing, and says whether it requires the leader',
        expected: { supportedMethods: 0, requiresLeader: 'true' },
        run: async (meeting, double) => {
          const to = meeting.stream('headers');
          await appendEvents(meeting.client, { to, events: [event()], requiresLeader: true });
          const { supportedMethods } = double.calls;
          const requiresLeader = double.requests.find(({ method }) => method === 'append')?.headers[
            'requires-leader'
          ];
          return { supportedMethods, requiresLeader };
        },
      },
    ],
  },
];
