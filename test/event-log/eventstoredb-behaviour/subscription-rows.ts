import { END, START, streamNameFilter, type Position } from '@eventstore/db-client';
import { eventually } from '../../support/embedded.js';
import {
  all,
  appendEvents,
  event,
  events,
  wordsOf,
  type BehaviourSection,
} from './behaviour-row.js';

export const subscriptionSections: readonly BehaviourSection[] = [
  {
    title: 'subscriptions',
    rows: [
      {
        needs: 'server',
        name: 'to a stream: confirmed, then what is stored, then caught up, then what comes',
        expected: ['confirmation', 'A', 'B', 'caughtUp', 'C'],
        run: async (meeting) => {
          const name = meeting.stream('subscribed');
          await appendEvents(meeting.client, { to: name, events: [event('A'), event('B')] });
          const words = wordsOf(meeting.client.subscribeToStream(name, { fromRevision: START }));
          await eventually(async () => words.includes('caughtUp'));
          await appendEvents(meeting.client, { to: name, events: [event('C')] });
          await eventually(async () => words.includes('C'));
          return [...words];
        },
      },
      {
        needs: 'server',
        name: 'to a stream, from a revision: what comes after it; from the end: only what comes',
        expected: {
          after: ['confirmation', 'B', 'caughtUp', 'C'],
          end: ['confirmation', 'caughtUp', 'C'],
        },
        run: async (meeting) => {
          const name = meeting.stream('subscribed-later');
          await appendEvents(meeting.client, { to: name, events: [event('A'), event('B')] });
          const after = wordsOf(meeting.client.subscribeToStream(name, { fromRevision: 0n }));
          const end = wordsOf(meeting.client.subscribeToStream(name, { fromRevision: END }));
          await eventually(async () => after.includes('caughtUp') && end.includes('caughtUp'));
          await appendEvents(meeting.client, { to: name, events: [event('C')] });
          await eventually(async () => after.includes('C') && end.includes('C'));
          return { after: [...after], end: [...end] };
        },
      },
      {
        needs: 'server',
        name: 'to a stream that is not there: caught up after its first event only',
        expected: ['confirmation', 'A', 'caughtUp'],
        expectedIn24: ['confirmation', 'caughtUp'],
        run: async (meeting) => {
          const name = meeting.stream('subscribed-missing');
          const words = wordsOf(meeting.client.subscribeToStream(name, { fromRevision: START }));
          await eventually(async () => words.includes('confirmation'));
          await appendEvents(meeting.client, { to: name, events: [event('A')] });
          await eventually(async () => words.includes('caughtUp'));
          return [...words];
        },
      },
      {
        needs: 'server',
        name: 'to the log, with a filter, after a position: the event at the position is not among them',
        expected: ['confirmation', 'B', 'C', 'caughtUp', 'D'],
        run: async (meeting) => {
          const name = meeting.stream('log-after');
          await appendEvents(meeting.client, {
            to: name,
            events: [event('A'), event('B'), event('C')],
          });
          const stored = await all(meeting.client.readStream(name));
          const words = wordsOf(
            meeting.client.subscribeToAll({
              fromPosition: stored[0]!.event!.position as Position,
              filter: streamNameFilter({ prefixes: [name] }),
            }),
          );
          await eventually(async () => words.includes('caughtUp'));
          await appendEvents(meeting.client, {
            to: meeting.stream('others'),
            events: [event('Other')],
          });
          await appendEvents(meeting.client, { to: name, events: [event('D')] });
          await eventually(async () => words.includes('D'));
          return [...words];
        },
      },
      {
        needs: 'server',
        name: 'to the log, with a filter, from the end: caught up at once, then only what comes',
        expected: ['confirmation', 'caughtUp', 'B'],
        run: async (meeting) => {
          const name = meeting.stream('log-end');
          await appendEvents(meeting.client, { to: name, events: [event('A')] });
          const words = wordsOf(
            meeting.client.subscribeToAll({
              fromPosition: END,
              filter: streamNameFilter({ prefixes: [name] }),
            }),
          );
          await eventually(async () => words.includes('caughtUp'));
          await appendEvents(meeting.client, { to: name, events: [event('B')] });
          await eventually(async () => words.includes('B'));
          return [...words];
        },
      },
      {
        needs: 'server',
        name: 'to what is no longer there: tombstoned, the error alone; soft-deleted, confirmed and silent',
        expected: {
          tombstoned: ['error stream-deleted'],
          softDeleted: ['confirmation', 'B', 'caughtUp'],
        },
        expectedIn24: {
          tombstoned: ['error stream-deleted'],
          softDeleted: ['confirmation', 'caughtUp'],
        },
        run: async (meeting) => {
          const tombstoned = meeting.stream('subscribed-tombstone');
          const softDeleted = meeting.stream('subscribed-soft');
          for (const to of [tombstoned, softDeleted])
            await appendEvents(meeting.client, { to, events: [event('A')] });
          await meeting.client.tombstoneStream(tombstoned);
          await meeting.client.deleteStream(softDeleted);
          const words = wordsOf(
            meeting.client.subscribeToStream(tombstoned, { fromRevision: START }),
          );
          const soft = wordsOf(
            meeting.client.subscribeToStream(softDeleted, { fromRevision: START }),
          );
          await eventually(async () => words.length > 0 && soft.includes('confirmation'));
          await appendEvents(meeting.client, { to: softDeleted, events: [event('B')] });
          await eventually(async () => soft.includes('caughtUp'));
          return {
            tombstoned: words.filter((word) => word.startsWith('error')),
            softDeleted: [...soft],
          };
        },
      },
      {
        needs: 'server',
        name: 'to the log from where no record starts: unknown error; from behind the end: caught up at once',
        expected: { between: ['error unknown'], behind: ['confirmation', 'caughtUp'] },
        run: async (meeting) => {
          const { position } = await appendEvents(meeting.client, {
            to: meeting.stream('position'),
            events: [event('A')],
          });
          const at = (commit: bigint): string[] =>
            wordsOf(meeting.client.subscribeToAll({ fromPosition: { commit, prepare: commit } }));
          const between = at(position!.commit - 1n);
          const behind = at(2n ** 40n);
          const errors = (): string[] => between.filter((word) => word.startsWith('error'));
          await eventually(async () => errors().length > 0 && behind.includes('caughtUp'));
          return {
            between: errors(),
            behind: [...behind],
          };
        },
      },
      {
        needs: 'server',
        name: 'checkpoints come while catching up, every interval × 32 events that were looked at, ours or not',
        expected: { several: true, grow: true },
        run: async (meeting) => {
          await appendEvents(meeting.client, {
            to: meeting.stream('checkpoint-noise'),
            events: events(200, 'Noise'),
          });
          const positions: bigint[] = [];
          const filter = streamNameFilter({
            prefixes: [meeting.stream('nobody')],
            checkpointInterval: 1,
            checkpointReached: async (_subscription, position) =>
              void positions.push(position.commit),
          });
          const words = wordsOf(meeting.client.subscribeToAll({ fromPosition: START, filter }));
          await eventually(async () => words.includes('caughtUp'));
          return {
            several: positions.length >= 3,
            grow: positions.every((one, place) => place === 0 || one >= positions[place - 1]!),
          };
        },
      },
      {
        needs: 'server',
        name: 'a checkpoint while catching up is where a page without events of ours began; later it is an event that was looked at',
        expected: { catchingUp: [1, 33, 65], live: [28, 60] },
        expectedIn24: { catchingUp: [0, 32, 64, 96], live: [31, 63] },
        run: async (meeting) => {
          const before = meeting.stream('pages-before');
          const after = meeting.stream('pages-after');
          const positionsOf = async (name: string): Promise<bigint[]> =>
            (await all(meeting.client.readStream(name))).map(
              ({ event: found }) => found!.position!.commit,
            );
          await appendEvents(meeting.client, { to: before, events: events(100, 'Noise') });
          const [first, ...others] = await positionsOf(before);
          const reached: bigint[] = [];
          const filter = streamNameFilter({
            prefixes: [meeting.stream('nobody')],
            checkpointInterval: 1,
            checkpointReached: async (_subscription, { commit }) => void reached.push(commit),
          });
          const words = wordsOf(
            meeting.client.subscribeToAll({
              fromPosition: { commit: first!, prepare: first! },
              filter,
            }),
          );
          await eventually(async () => words.includes('caughtUp'));
          const catchingUp = reached.map((position) => others.indexOf(position) + 1);
          await appendEvents(meeting.client, { to: after, events: events(70, 'Noise') });
          const later = await positionsOf(after);
          await eventually(async () => reached.length >= 5);
          return {
            catchingUp,
            live: reached.slice(catchingUp.length).map((position) => later.indexOf(position)),
          };
        },
      },
      {
        needs: 'server',
        name: 'checkpoints come live, too, and stand before an event that the consumer has not been given',
        expected: { checkpoint: true, events: 0 },
        run: async (meeting) => {
          const positions: bigint[] = [];
          const filter = streamNameFilter({
            prefixes: [meeting.stream('nobody')],
            checkpointInterval: 1,
            checkpointReached: async (_subscription, position) =>
              void positions.push(position.commit),
          });
          const words = wordsOf(meeting.client.subscribeToAll({ fromPosition: END, filter }));
          await eventually(async () => words.includes('caughtUp'));
          const { position } = await appendEvents(meeting.client, {
            to: meeting.stream('live-noise'),
            events: events(31, 'Noise'),
          });
          await appendEvents(meeting.client, {
            to: meeting.stream('live-noise'),
            events: [event('Noise')],
          });
          await eventually(async () => positions.some((one) => one >= position!.commit));
          return { checkpoint: true, events: words.filter((word) => word === 'Noise').length };
        },
      },
    ],
  },
];
