import {
  ANY,
  binaryEvent,
  jsonEvent,
  NO_STREAM,
  STREAM_EXISTS,
  type AppendResult,
} from '@eventstore/db-client';
import { randomUUID } from 'node:crypto';
import {
  all,
  appendEvents,
  bytesOf,
  event,
  events,
  outcomeOf,
  type BehaviourRow,
  type BehaviourSection,
  type Meeting,
} from './behaviour-row.js';

const MIB = 1024 * 1024;

/** What an append answers, without the position, which no test can know beforehand. */
const revisionOf = (result: AppendResult | object): unknown =>
  'nextExpectedRevision' in result
    ? { success: result.success, nextExpectedRevision: result.nextExpectedRevision }
    : result;

/** Whether two answers are one: revision and position. */
const sameAnswer = (one: AppendResult, other: AppendResult): boolean =>
  one.success &&
  other.success &&
  one.nextExpectedRevision === other.nextExpectedRevision &&
  one.position?.commit === other.position?.commit &&
  one.position?.prepare === other.position?.prepare;

const revisions = async ({ client }: Meeting, stream: string): Promise<bigint[]> =>
  (await all(client.readStream(stream))).map(({ event: found }) => found!.revision);

const appendRows: readonly BehaviourRow[] = [
  {
    needs: 'server',
    name: 'what is expected of the stream holds: the revision and the position of the last event come back',
    expected: {
      answers: [0n, 2n, 3n, 4n].map((nextExpectedRevision) => ({
        success: true,
        nextExpectedRevision,
      })),
      positionIsThatOfTheLast: true,
    },
    run: async (meeting) => {
      const to = meeting.stream('held');
      const answers: AppendResult[] = [];
      for (const [count, expected] of [
        [1, NO_STREAM],
        [2, ANY],
        [1, STREAM_EXISTS],
        [1, 3n],
      ] as const) {
        answers.push(await appendEvents(meeting.client, { to, events: events(count), expected }));
      }
      const stored = await all(meeting.client.readStream(to));
      return {
        answers: answers.map(revisionOf),
        positionIsThatOfTheLast: [0, 2, 3, 4].every(
          (revision, place) =>
            stored[revision]!.event!.position?.commit === answers[place]!.position?.commit,
        ),
      };
    },
  },
  {
    needs: 'server',
    name: 'another revision than expected: refused, with what was expected and what is there',
    expected: [
      { expectedVersion: 5n, actualVersion: 1n },
      { expectedVersion: 0n, actualVersion: 1n },
      { expectedVersion: 'no_stream', actualVersion: 1n },
      { expectedVersion: 'stream_exists', actualVersion: 'no_stream' },
      { expectedVersion: 0n, actualVersion: 'no_stream' },
    ].map((versions): unknown =>
      expect.objectContaining({ refused: 'wrong-expected-version', ...versions }),
    ),
    run: async (meeting) => {
      const to = meeting.stream('refused');
      const missing = meeting.stream('refused-missing');
      await appendEvents(meeting.client, { to, events: events(2), expected: NO_STREAM });
      const refused = [];
      for (const [name, expected] of [
        [to, 5n],
        [to, 0n],
        [to, NO_STREAM],
        [missing, STREAM_EXISTS],
        [missing, 0n],
      ] as const) {
        refused.push(
          await outcomeOf(appendEvents(meeting.client, { to: name, events: [event()], expected })),
        );
      }
      return refused;
    },
  },
  {
    needs: 'server',
    name: 'the same ids and expectation again: the first answer again, also when others wrote meanwhile',
    expected: { repeats: [true, true, true, true], stored: [0n, 1n, 2n, 3n, 4n] },
    run: async (meeting) => {
      const to = meeting.stream('again');
      const first = events(2);
      const second = events(2);
      const append = (
        batch: typeof first,
        expected: Parameters<typeof appendEvents>[1]['expected'],
      ): Promise<AppendResult> => appendEvents(meeting.client, { to, events: batch, expected });
      const answers = [await append(first, NO_STREAM), await append(second, 1n)] as const;
      await append([event('Later')], 3n);
      return {
        repeats: [
          sameAnswer(await append(first, NO_STREAM), answers[0]),
          sameAnswer(await append(second, 1n), answers[1]),
          sameAnswer(await append(second, ANY), answers[1]),
          sameAnswer(await append(first, STREAM_EXISTS), answers[0]),
        ],
        stored: await revisions(meeting, to),
      };
    },
  },
  {
    needs: 'server',
    name: 'ids behind the head: a part of what stands there is a repeat, a first match that goes on differently is refused',
    expected: {
      part: { success: true, nextExpectedRevision: 1n },
      inner: { success: true, nextExpectedRevision: 2n },
      differs: expect.objectContaining({ refused: 'wrong-expected-version', actualVersion: 3n }),
    },
    run: async (meeting) => {
      const to = meeting.stream('part');
      const stored = events(4);
      const append = (
        batch: typeof stored,
        expected: bigint | typeof NO_STREAM,
      ): Promise<unknown> =>
        outcomeOf(appendEvents(meeting.client, { to, events: batch, expected }).then(revisionOf));
      await append(stored, NO_STREAM);
      return {
        part: await append(stored.slice(0, 2), NO_STREAM),
        inner: await append(stored.slice(1, 3), 0n),
        differs: await append([stored[1]!, event()], 0n),
      };
    },
  },
  {
    needs: 'server',
    name: 'the same id with other data, ANY: a repeat, and the new data is dropped',
    expected: { repeat: true, data: [{ amount: 1 }] },
    run: async (meeting) => {
      const to = meeting.stream('other-data');
      const id = randomUUID();
      const first = await appendEvents(meeting.client, {
        to,
        events: [event('Happened', id, { amount: 1 })],
        expected: ANY,
      });
      const again = await appendEvents(meeting.client, {
        to,
        events: [event('Happened', id, { amount: 2 })],
        expected: ANY,
      });
      const stored = await all(meeting.client.readStream(to));
      return {
        repeat: sameAnswer(first, again),
        data: stored.map(({ event: found }): unknown => found!.data),
      };
    },
  },
  {
    needs: 'server',
    name: 'the same id where the expectation holds: written again',
    expected: [0n, 1n],
    run: async (meeting) => {
      const to = meeting.stream('written-again');
      const once = event();
      await appendEvents(meeting.client, { to, events: [once], expected: NO_STREAM });
      await appendEvents(meeting.client, { to, events: [once], expected: 0n });
      return revisions(meeting, to);
    },
  },
  {
    needs: 'server',
    name: 'old and new ids in one call, ANY: old first is refused; new first, or one id twice, is written',
    expected: {
      oldFirst: expect.objectContaining({
        refused: 'wrong-expected-version',
        expectedVersion: 'any',
        actualVersion: 0n,
      }),
      newFirst: { success: true, nextExpectedRevision: 2n },
      twice: { success: true, nextExpectedRevision: 4n },
    },
    run: async (meeting) => {
      const to = meeting.stream('mixed');
      const old = event();
      const twice = event();
      const append = (batch: (typeof old)[]): Promise<unknown> =>
        outcomeOf(
          appendEvents(meeting.client, { to, events: batch, expected: ANY }).then(revisionOf),
        );
      await append([old]);
      return {
        oldFirst: await append([old, event()]),
        newFirst: await append([event(), old]),
        twice: await append([twice, twice]),
      };
    },
  },
  {
    needs: 'server',
    name: 'no events on a new stream: a success that says 0, and nothing is there',
    expected: {
      answer: { success: true, nextExpectedRevision: 0n },
      read: { refused: 'stream-not-found' },
    },
    run: async (meeting) => {
      const to = meeting.stream('empty');
      const answer = revisionOf(
        await appendEvents(meeting.client, { to, events: [], expected: NO_STREAM }),
      );
      return {
        answer,
        read: {
          refused: ((await outcomeOf(all(meeting.client.readStream(to)))) as { refused?: string })
            .refused,
        },
      };
    },
  },
  {
    needs: 'server',
    name: '1 MiB of data in one call, summed, passes; one byte more does not',
    expected: {
      justFits: { success: true, nextExpectedRevision: 1n },
      tooLarge: expect.objectContaining({
        refused: 'maximum-append-size-exceeded',
        maxAppendSize: MIB,
      }),
    },
    // It counts the types and the metadata, too.
    expectedIn24: {
      justFits: expect.objectContaining({ refused: 'maximum-append-size-exceeded' }),
      tooLarge: expect.objectContaining({ refused: 'maximum-append-size-exceeded' }),
    },
    run: async (meeting) => {
      const to = meeting.stream('size');
      const append = (second: number): Promise<unknown> =>
        outcomeOf(
          appendEvents(meeting.client, {
            to,
            events: [bytesOf(MIB / 2), bytesOf(second)],
            expected: ANY,
          }).then(revisionOf),
        );
      return { justFits: await append(MIB / 2), tooLarge: await append(MIB / 2 + 1) };
    },
  },
  {
    needs: 'server',
    name: 'an empty name of a stream, an empty type, an id that is no UUID: unknown error',
    expected: ['unknown', 'unknown', 'unknown'],
    run: async (meeting) => {
      const to = meeting.stream('bad');
      const refused = [];
      for (const append of [
        { to: '', events: [event()] },
        { to, events: [event('')] },
        { to, events: [event('Happened', 'no-uuid')] },
      ]) {
        const outcome = await outcomeOf(appendEvents(meeting.client, append));
        refused.push('refused' in outcome ? outcome.refused : 'taken');
      }
      return refused;
    },
  },
  {
    needs: 'server',
    name: 'what was sent comes back byte for byte, JSON and bytes alike; the types and ids as they were',
    expected: [
      {
        type: 'Json',
        isJson: true,
        data: { text: 'für 5 €', nested: [1, null] },
        metadata: { cause: 'x' },
      },
      {
        type: 'Bytes',
        isJson: false,
        data: Buffer.from([0, 255, 1]).toString('hex'),
        metadata: Buffer.from([9, 0]).toString('hex'),
      },
    ],
    run: async (meeting) => {
      const to = meeting.stream('bytes');
      await appendEvents(meeting.client, {
        to,
        events: [
          jsonEvent({
            type: 'Json',
            data: { text: 'für 5 €', nested: [1, null] },
            metadata: { cause: 'x' },
          }),
          binaryEvent({
            type: 'Bytes',
            data: new Uint8Array([0, 255, 1]),
            metadata: new Uint8Array([9, 0]),
          }),
        ],
      });
      const shown = (value: unknown): unknown =>
        value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
      return (await all(meeting.client.readStream(to))).map(({ event: found }) => ({
        type: found!.type,
        isJson: found!.isJson,
        data: shown(found!.data),
        metadata: shown(found!.metadata),
      }));
    },
  },
  {
    needs: 'server',
    name: '16 MiB in one event: code 8, and the next append works',
    expected: {
      tooLarge: expect.objectContaining({ code: 8 }),
      next: { success: true, nextExpectedRevision: 0n },
    },
    run: async (meeting) => {
      const to = meeting.stream('huge');
      const tooLarge = await outcomeOf(
        appendEvents(meeting.client, { to, events: [bytesOf(16 * MIB)] }),
      );
      return {
        tooLarge,
        next: revisionOf(
          await appendEvents(meeting.client, { to, events: [event()], expected: NO_STREAM }),
        ),
      };
    },
  },
  {
    needs: 'server',
    name: 'the metadata stream of a stream takes appends as any other, with their expectations',
    expected: {
      first: { success: true, nextExpectedRevision: 0n },
      second: expect.objectContaining({ refused: 'wrong-expected-version' }),
    },
    run: async (meeting) => {
      const to = `$$${meeting.stream('described')}`;
      const append = (): Promise<unknown> =>
        outcomeOf(
          appendEvents(meeting.client, {
            to,
            events: [event('Described')],
            expected: NO_STREAM,
          }).then(revisionOf),
        );
      return { first: await append(), second: await append() };
    },
  },
];

export const appendSections: readonly BehaviourSection[] = [{ title: 'appends', rows: appendRows }];
