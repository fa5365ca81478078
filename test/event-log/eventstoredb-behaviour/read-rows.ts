import {
  ANY,
  BACKWARDS,
  END,
  FORWARDS,
  NO_STREAM,
  START,
  STREAM_EXISTS,
  type Position,
} from '@eventstore/db-client';
import {
  all,
  appendEvents,
  event,
  events,
  outcomeOf,
  refusalOf,
  type BehaviourSection,
  type Meeting,
} from './behaviour-row.js';
import { readAllFiltered } from './filtered-read.js';

/** Writes to a stream on the path that has no side effects on others. */
const write = (
  meeting: Meeting,
  to: string,
  types: readonly string[],
  expected?: bigint | typeof NO_STREAM | typeof STREAM_EXISTS,
) =>
  appendEvents(meeting.client, {
    to,
    events: types.map((type) => event(type)),
    ...(expected === undefined ? {} : { expected }),
  });

const typesOf = async (
  meeting: Meeting,
  stream: string,
  options: Parameters<Meeting['client']['readStream']>[1] = {},
): Promise<string[]> =>
  (await all(meeting.client.readStream(stream, options))).map(({ event: found }) => found!.type);

const revisionsOf = async (meeting: Meeting, stream: string): Promise<bigint[]> =>
  (await all(meeting.client.readStream(stream))).map(({ event: found }) => found!.revision);

const refusedAs = async (promise: Promise<unknown>): Promise<unknown> => {
  const outcome = await outcomeOf(promise);
  return typeof outcome === 'object' && outcome !== null && 'refused' in outcome
    ? outcome.refused
    : 'taken';
};

export const readSections: readonly BehaviourSection[] = [
  {
    title: 'reads of a stream',
    rows: [
      {
        needs: 'server',
        name: 'a stream that is missing: stream-not-found, while iterating',
        expected: { refused: 'stream-not-found', streamName: expect.stringContaining('missing') },
        run: (meeting) => outcomeOf(all(meeting.client.readStream(meeting.stream('missing')))),
      },
      {
        needs: 'server',
        name: 'from a revision, either way, with a count; past the end nothing, and no error',
        expected: {
          all: ['A', 'B', 'C', 'D'],
          fromTwo: ['C', 'D'],
          two: ['A', 'B'],
          backwards: ['D', 'C', 'B', 'A'],
          backwardsFromOne: ['B', 'A'],
          lastOne: ['D'],
          pastTheEnd: [],
        },
        run: async (meeting) => {
          const name = meeting.stream('read');
          await write(meeting, name, ['A', 'B', 'C', 'D']);
          return {
            all: await typesOf(meeting, name),
            fromTwo: await typesOf(meeting, name, { fromRevision: 2n }),
            two: await typesOf(meeting, name, { maxCount: 2 }),
            backwards: await typesOf(meeting, name, { direction: BACKWARDS, fromRevision: END }),
            backwardsFromOne: await typesOf(meeting, name, {
              direction: BACKWARDS,
              fromRevision: 1n,
            }),
            lastOne: await typesOf(meeting, name, {
              direction: BACKWARDS,
              fromRevision: END,
              maxCount: 1,
            }),
            pastTheEnd: await typesOf(meeting, name, { fromRevision: 9n }),
          };
        },
      },
      {
        needs: 'server',
        name: 'a count of 0, or forwards from the end: unknown error, code 2; so is a stream without a name',
        expected: [0, 1, 2].map((): unknown =>
          expect.objectContaining({ refused: 'unknown', code: 2 }),
        ),
        run: async (meeting) => {
          const name = meeting.stream('count-0');
          await write(meeting, name, ['A']);
          return [
            await outcomeOf(all(meeting.client.readStream(name, { maxCount: 0 }))),
            await outcomeOf(all(meeting.client.readStream(name, { fromRevision: END }))),
            await outcomeOf(all(meeting.client.readStream(''))),
          ];
        },
      },
      {
        needs: 'server',
        name: 'events carry their stream, id, revision, time and one position, commit as prepare',
        expected: { stream: true, id: true, revision: 0n, recent: true, samePosition: true },
        run: async (meeting) => {
          const name = meeting.stream('members');
          const written = event();
          const before = Date.now();
          await appendEvents(meeting.client, { to: name, events: [written] });
          const [read] = await all(meeting.client.readStream(name));
          const found = read!.event!;
          return {
            stream: found.streamId === name,
            id: found.id === written.id,
            revision: found.revision,
            recent: Math.abs(found.created.getTime() - before) < 60_000,
            samePosition: found.position?.commit === found.position?.prepare,
          };
        },
      },
      {
        needs: 'server',
        name: 'metadata that cuts off or counts: only what is left is read, and what is left stays where it was',
        expected: { truncated: [2n, 3n], counted: [3n] },
        run: async (meeting) => {
          const truncated = meeting.stream('truncated');
          const counted = meeting.stream('counted');
          for (const name of [truncated, counted]) await write(meeting, name, ['A', 'B', 'C', 'D']);
          const credentials = { username: 'admin', password: 'changeit' };
          await meeting.client.setStreamMetadata(truncated, { truncateBefore: 2 }, { credentials });
          await meeting.client.setStreamMetadata(counted, { maxCount: 1 }, { credentials });
          return {
            truncated: await revisionsOf(meeting, truncated),
            counted: await revisionsOf(meeting, counted),
          };
        },
      },
      {
        needs: 'server',
        name: 'setting metadata is an append to the metadata stream, of which only the newest event is shown',
        expected: { revisions: [0n, 1n], shown: [{ owner: 'second' }], byRevision: [] },
        run: async (meeting) => {
          const name = meeting.stream('metadata');
          const credentials = { username: 'admin', password: 'changeit' };
          const first = await meeting.client.setStreamMetadata(
            name,
            { owner: 'first' },
            { credentials },
          );
          const second = await meeting.client.setStreamMetadata(
            name,
            { owner: 'second' },
            { credentials },
          );
          const shown = await all(meeting.client.readStream(`$$${name}`));
          return {
            revisions: [first.nextExpectedRevision, second.nextExpectedRevision],
            shown: shown.map(({ event: found }): unknown => found!.data),
            byRevision: await all(
              meeting.client.readStream(`$$${name}`, { fromRevision: 0n, direction: BACKWARDS }),
            ),
          };
        },
      },
    ],
  },
  {
    title: 'reads of the whole log',
    rows: [
      {
        needs: 'server',
        name: 'from a position: forwards it is included, backwards it is not',
        expected: { forwards: ['B', 'C'], backwards: ['A'] },
        run: async (meeting) => {
          const name = meeting.stream('log');
          await write(meeting, name, ['A', 'B', 'C']);
          const stored = await all(meeting.client.readStream(name));
          const from = stored[1]!.event!.position as Position;
          const ours = async (
            direction: typeof FORWARDS | typeof BACKWARDS,
            maxCount: number,
          ): Promise<string[]> =>
            (await all(meeting.client.readAll({ fromPosition: from, direction, maxCount })))
              .filter(({ event: found }) => found?.streamId === name)
              .map(({ event: found }) => found!.type);
          return { forwards: await ours(FORWARDS, 2), backwards: await ours(BACKWARDS, 1) };
        },
      },
      {
        needs: 'server',
        name: 'from the start there are events of the server; positions grow; backwards from the end is the same, turned round',
        expected: { system: true, grow: true, turned: true },
        run: async (meeting) => {
          await write(meeting, meeting.stream('order'), ['A', 'B', 'C']);
          const forwards = await all(meeting.client.readAll());
          const backwards = await all(
            meeting.client.readAll({ direction: BACKWARDS, fromPosition: END }),
          );
          const positions = forwards.map(({ event: found }) => found!.position.commit);
          return {
            system: forwards.some(({ event: found }) => found!.streamId.startsWith('$')),
            grow: positions.every(
              (position, place) => place === 0 || position > positions[place - 1]!,
            ),
            turned:
              positions.join() ===
              backwards
                .map(({ event: found }) => found!.position.commit)
                .reverse()
                .join(),
          };
        },
      },
      {
        needs: 'server',
        name: 'from a position where no record starts: unknown error, code 2',
        expected: expect.objectContaining({ refused: 'unknown', code: 2 }),
        run: async (meeting) => {
          const { position } = await write(meeting, meeting.stream('no-position'), ['A', 'B']);
          const between = { commit: position!.commit - 1n, prepare: position!.prepare - 1n };
          return outcomeOf(all(meeting.client.readAll({ fromPosition: between, maxCount: 1 })));
        },
      },
      {
        needs: 'server',
        name: 'from a position behind the end: forwards nothing, backwards unknown error, code 2',
        expected: {
          forwards: [],
          backwards: expect.objectContaining({ refused: 'unknown', code: 2 }),
        },
        run: async ({ client }) => {
          const fromPosition = { commit: 2n ** 40n, prepare: 2n ** 40n };
          return {
            forwards: await all(client.readAll({ fromPosition })),
            backwards: await outcomeOf(
              all(client.readAll({ fromPosition, direction: BACKWARDS, maxCount: 1 })),
            ),
          };
        },
      },
      {
        needs: 'server',
        name: 'a count of 0 of the log: no answer at all, whatever the deadline',
        expected: 'nothing',
        run: async (meeting) => {
          let settled = 'nothing';
          const other = meeting.newClient();
          const done = () => (settled = 'an answer');
          all(other.readAll({ maxCount: 0, deadline: 100 })).then(done, done);
          // Other calls are the clock: each takes about as long as this one should.
          for (let call = 0; call < 100; call += 1)
            await write(meeting, meeting.stream('clock'), ['Tick']);
          return settled;
        },
      },
      {
        needs: 'server',
        name: 'with a filter: by prefix or regular expression, of stream or type, either way, from a position, with a count',
        expected: {
          prefix: ['A', 'B', 'C'],
          otherPrefix: ['Z'],
          regex: ['A', 'B', 'C'],
          type: ['Z'],
          backwards: ['C', 'B', 'A'],
          lastOne: ['C'],
          fromSecond: ['B', 'C'],
          beforeThird: ['B', 'A'],
          smallWindow: ['A', 'B', 'C'],
          nothing: [],
        },
        run: async (meeting) => {
          const ours = meeting.stream('filter-ours');
          const theirs = meeting.stream('theirs');
          await write(meeting, ours, ['A', 'B']);
          await write(meeting, theirs, ['Z']);
          await appendEvents(meeting.client, { to: theirs, events: events(50, 'Noise') });
          await write(meeting, ours, ['C']);
          const stored = await all(meeting.client.readStream(ours));
          const positionOf = (place: number): bigint => stored[place]!.event!.position!.commit;
          const read = (
            options: Omit<Parameters<typeof readAllFiltered>[1], 'on'>,
          ): Promise<string[]> =>
            readAllFiltered(meeting.url, { on: 'stream', prefixes: [ours], ...options });
          const noise = (types: string[]): string[] => types.filter((type) => type !== 'Noise');
          return {
            prefix: await read({}),
            otherPrefix: noise(await read({ prefixes: ['no-such-', theirs] })),
            regex: await read({ prefixes: [], regex: `^${ours}$` }),
            type: await readAllFiltered(meeting.url, {
              on: 'type',
              prefixes: ['Z'],
              from: positionOf(0),
            }),
            backwards: await read({ direction: 'backwards' }),
            lastOne: await read({ direction: 'backwards', count: 1 }),
            fromSecond: await read({ from: positionOf(1) }),
            beforeThird: await read({ direction: 'backwards', from: positionOf(2) }),
            smallWindow: await read({ maxSearchWindow: 1 }),
            nothing: await read({ prefixes: [meeting.stream('nobody')] }),
          };
        },
      },
    ],
  },
  {
    title: 'deleted streams',
    rows: [
      {
        needs: 'server',
        name: 'soft-deleted: not found, and refused where it must exist; written to again, the numbers go on',
        expected: {
          read: 'stream-not-found',
          mustExist: 'stream-deleted',
          noStream: { refused: false, revisions: [2n] },
          lastRevision: { refused: false, revisions: [2n] },
          any: { refused: false, revisions: [2n] },
        },
        run: async (meeting) => {
          const deleted = async (label: string): Promise<string> => {
            const name = meeting.stream(`soft-${label}`);
            await write(meeting, name, ['A', 'B']);
            await meeting.client.deleteStream(name);
            return name;
          };
          const name = await deleted('read');
          const again = async (
            label: string,
            expected: bigint | typeof NO_STREAM | typeof ANY,
          ): Promise<unknown> => {
            const to = await deleted(label);
            const outcome = await outcomeOf(
              appendEvents(meeting.client, { to, events: [event()], expected }),
            );
            return { refused: 'refused' in outcome, revisions: await revisionsOf(meeting, to) };
          };
          return {
            read: await refusedAs(all(meeting.client.readStream(name))),
            mustExist: await refusedAs(write(meeting, name, ['C'], STREAM_EXISTS)),
            noStream: await again('no-stream', NO_STREAM),
            lastRevision: await again('revision', 1n),
            any: await again('any', ANY),
          };
        },
      },
      {
        needs: 'server',
        name: 'soft-deleted, then described: there again, without what was deleted; the metadata says from where on',
        expected: { shown: [], metadata: [{ owner: 'me', $tb: 1 }] },
        run: async (meeting) => {
          const name = meeting.stream('soft-described');
          const credentials = { username: 'admin', password: 'changeit' };
          await write(meeting, name, ['A']);
          await meeting.client.deleteStream(name);
          await meeting.client.setStreamMetadata(name, { owner: 'me' }, { credentials });
          const metadata = await all(meeting.client.readStream(`$$${name}`));
          return {
            shown: await typesOf(meeting, name),
            metadata: metadata.map(({ event: found }): unknown => found!.data),
          };
        },
      },
      {
        needs: 'server',
        name: 'deleting states what it expects, too: another revision, or a stream that is not there, is refused',
        expected: {
          wrong: expect.objectContaining({
            refused: 'wrong-expected-version',
            expectedVersion: 5n,
            actualVersion: 0n,
          }),
          missing: 'wrong-expected-version',
          events: ['A'],
        },
        run: async (meeting) => {
          const name = meeting.stream('delete-expects');
          await write(meeting, name, ['A']);
          return {
            wrong: await outcomeOf(meeting.client.deleteStream(name, { expectedRevision: 5n })),
            missing: await refusedAs(meeting.client.deleteStream(meeting.stream('delete-missing'))),
            events: await typesOf(meeting, name),
          };
        },
      },
      {
        needs: 'server',
        name: 'tombstoned: whatever is asked of it, it is deleted; its events stay in the log',
        expected: {
          read: 'stream-deleted',
          backwards: 'stream-deleted',
          append: ['stream-deleted', 'stream-deleted', 'stream-deleted', 'stream-deleted'],
          softDelete: 'stream-deleted',
          tombstone: 'stream-deleted',
          log: ['A', '$streamDeleted'],
        },
        run: async (meeting) => {
          const name = meeting.stream('tombstone');
          await write(meeting, name, ['A']);
          await meeting.client.tombstoneStream(name);
          const append = [];
          for (const expected of [NO_STREAM, ANY, STREAM_EXISTS, 0n] as const) {
            append.push(
              await refusedAs(
                appendEvents(meeting.client, { to: name, events: [event()], expected }),
              ),
            );
          }
          return {
            read: await refusedAs(all(meeting.client.readStream(name))),
            backwards: await refusedAs(
              all(meeting.client.readStream(name, { direction: BACKWARDS, fromRevision: END })),
            ),
            append,
            softDelete: await refusedAs(meeting.client.deleteStream(name)),
            tombstone: await refusedAs(meeting.client.tombstoneStream(name)),
            log: await readAllFiltered(meeting.url, { on: 'stream', prefixes: [name] }),
          };
        },
      },
      {
        needs: 'server',
        name: 'a live subscription to it gets $streamDeleted at revision 2^63 - 1, then the error',
        expected: {
          types: ['A', '$streamDeleted'],
          revision: 2n ** 63n - 1n,
          error: 'stream-deleted',
        },
        run: async (meeting) => {
          const name = meeting.stream('tombstone-live');
          await write(meeting, name, ['A']);
          const subscription = meeting.client.subscribeToStream(name, { fromRevision: START });
          const found: { type: string; revision: bigint }[] = [];
          subscription.on('data', ({ event: one }) =>
            found.push({ type: one!.type, revision: one!.revision }),
          );
          const failed = new Promise<unknown>((resolve) => subscription.on('error', resolve));
          await new Promise((resolve) => subscription.on('caughtUp', () => resolve(undefined)));
          await meeting.client.tombstoneStream(name);
          const error = refusalOf(await failed).refused;
          return { types: found.map(({ type }) => type), revision: found.at(-1)?.revision, error };
        },
      },
    ],
  },
];
