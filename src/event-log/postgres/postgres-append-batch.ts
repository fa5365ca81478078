import type { CustomTypesConfig, QueryArrayConfig } from 'pg';
import type { NewEvent } from '../event-log.js';
import { int4Array, int8Array, textArray, uuidArray } from './postgres-binary-array.js';

export interface BatchedAppend {
  readonly stream: string;
  /** -1 for a stream that must not exist. */
  readonly expected: bigint;
  readonly events: readonly NewEvent[];
  /** Id of the event required at the expected revision; undefined: any. */
  readonly end?: string | undefined;
}

export type BatchedResult =
  | {
      readonly kind: 'stored';
      readonly position: bigint;
      readonly revision: bigint;
      /** It was already stored there. */
      readonly isRepeated: boolean;
    }
  /** -1 for a stream that does not exist. */
  | { readonly kind: 'conflict'; readonly actual: bigint }
  /** The newest event is ahead of the clock: nothing was stored. */
  | { readonly kind: 'ahead' };

export type BatchRow = readonly [
  positionBefore: string | null,
  recorded: string | null,
  refused: string | null,
];

/** `{position,recorded}`. */
export type SingleRow = readonly [answer: string | null];

// The name lets a connection plan it once. All three columns are text, which pg need not parse.
const ARGUMENTS = '($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)';
const APPEND_BATCH = {
  name: 'ledger-append-batch',
  text: `select * from ledger.append_batch${ARGUMENTS}`,
};
const APPEND_DISTINCT = {
  name: 'ledger-append-distinct',
  text: `select * from ledger.append_distinct${ARGUMENTS}`,
};
/** Replaces an end that was not passed. */
const NO_END = '00000000-0000-0000-0000-000000000000';
/** SQLSTATE: a stream's last event is not the expected one, and nothing of the call was stored. */
export const END_MISMATCH = 'LB001';
/** SQLSTATE: the newest event is ahead of the clock, and nothing of the call was stored. */
export const AHEAD_OF_CLOCK = 'LB002';

/** The recording time of a call's events, in epoch milliseconds. */
export interface RecordingTime {
  readonly clock: number;
  /** The latest time of the newest event; null: any, and the entries carry `clock`. */
  readonly newestMax: number | null;
}

const AS_TEXT: CustomTypesConfig = { getTypeParser: () => (text: string) => text };

const APPEND_ONE = 'select ledger.append_one($1, $2, $3, $4, $5, $6, $7, $8, $9)';

/** The usual batch at low load: without arrays it takes half the time. */
export function singleQuery(
  { stream, expected, end }: BatchedAppend,
  event: NewEvent,
  { clock, newestMax }: RecordingTime,
): QueryArrayConfig<(string | bigint | number | null)[]> {
  const { id, type, data, metadata } = event;
  return {
    name: 'ledger-append-one',
    text: APPEND_ONE,
    rowMode: 'array',
    types: AS_TEXT,
    values: [end ?? null, stream, expected, id, type, data, metadata, clock, newestMax],
  };
}

/** Undefined when it was not stored: a batch of one shows why. */
export function singleResult(expected: bigint, [answer]: SingleRow): BatchedResult | undefined {
  if (answer === null) return undefined;
  const [position = ''] = answer.slice(1, -1).split(',');
  return { kind: 'stored', position: BigInt(position), revision: expected + 1n, isRepeated: false };
}

export interface BatchCall {
  readonly query: QueryArrayConfig<(Buffer | number | null)[]>;
  /** One result per append, in their order. */
  results(row: BatchRow): BatchedResult[];
}

/** The one call that stores a batch: migrations/0001_baseline.ts documents its arguments. */
export function batchCall(appends: readonly BatchedAppend[], time: RecordingTime): BatchCall {
  const places = lockOrder(appends);
  if (new Set(appends.map(({ stream }) => stream)).size === appends.length) {
    return {
      query: { ...APPEND_DISTINCT, ...callWith(appends, places, time) },
      results: (row) => batchResults(appends, row),
    };
  }
  // Positions follow the order of the arguments, which must keep the order of revisions for a
  // stream that occurs twice.
  const ordered = places
    .map((place) => appends[place - 1])
    .filter((append) => append !== undefined);
  return {
    query: { ...APPEND_BATCH, ...callWith(ordered, lockOrder(ordered), time) },
    results: (row) => {
      const results = new Map(
        batchResults(ordered, row).map((result, index) => [ordered[index], result]),
      );
      return appends.flatMap((append) => results.get(append) ?? []);
    },
  };
}

const namesEnds = (appends: readonly BatchedAppend[]): boolean =>
  appends.some(({ end }) => end !== undefined);

function callWith(
  appends: readonly BatchedAppend[],
  places: readonly number[],
  { clock, newestMax }: RecordingTime,
) {
  const streams: string[] = [];
  const expected: bigint[] = [];
  const counts: number[] = [];
  const appendPlaces: number[] = [];
  const offsets: number[] = [];
  const ids: string[] = [];
  const types: string[] = [];
  const datas: string[] = [];
  const metadatas: string[] = [];
  for (const append of appends) {
    streams.push(append.stream);
    expected.push(append.expected);
    counts.push(append.events.length);
    let offset = 0;
    for (const event of append.events) {
      appendPlaces.push(streams.length);
      offsets.push(offset++);
      ids.push(event.id);
      types.push(event.type);
      datas.push(event.data);
      metadatas.push(event.metadata);
    }
  }
  return {
    rowMode: 'array' as const,
    types: AS_TEXT,
    values: [
      textArray(streams),
      int8Array(expected),
      int4Array(counts),
      int4Array(places),
      int4Array(appendPlaces),
      int4Array(offsets),
      uuidArray(ids),
      textArray(types),
      textArray(datas),
      textArray(metadatas),
      clock,
      newestMax,
      namesEnds(appends) ? uuidArray(appends.map(({ end }) => end ?? NO_END)) : null,
    ],
  };
}

/**
 * Places from 1: new streams first, then the others, each by name; the sort is stable, so appends
 * to one stream keep their order. Every process locks in this order, so none deadlock: a process
 * that waits for another's new stream holds new streams only, and an update neither sees nor waits
 * for a stream whose insert is not committed.
 */
function lockOrder(appends: readonly BatchedAppend[]): number[] {
  const sorted = appends.map(({ stream, expected }, index) => ({
    stream,
    isNew: expected < 0n,
    place: index + 1,
  }));
  sorted.sort(
    (a, b) =>
      Number(b.isNew) - Number(a.isNew) || (a.stream < b.stream ? -1 : a.stream > b.stream ? 1 : 0),
  );
  return sorted.map(({ place }) => place);
}

/** One result per append, in their order. */
function batchResults(appends: readonly BatchedAppend[], row: BatchRow): BatchedResult[] {
  const refused = refusals(row[2]);
  let position = BigInt(row[0] ?? 0);
  return appends.map(({ expected, events }, index) => {
    const refusal = refused.get(index + 1);
    if (refusal !== undefined) return refusal;
    position += BigInt(events.length);
    return {
      kind: 'stored',
      position,
      revision: expected + BigInt(events.length),
      isRepeated: false,
    };
  });
}

/** From six numbers each, in the text form of an array: `{1,0,7,0,0,0}`. */
function refusals(text: string | null): ReadonlyMap<number, BatchedResult> {
  const refused = new Map<number, BatchedResult>();
  if (text === null) return refused;
  const numbers = text.slice(1, -1).split(',').map(BigInt);
  for (let i = 0; i < numbers.length; i += 6) {
    const [place = 0n, repeated = 0n, actual = 0n, revision = 0n, position = 0n] = numbers.slice(
      i,
      i + 6,
    );
    refused.set(
      Number(place),
      repeated === 1n
        ? { kind: 'stored', position, revision, isRepeated: true }
        : { kind: 'conflict', actual },
    );
  }
  return refused;
}
