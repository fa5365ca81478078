import type { Streams } from './streams.js';

/** Loads a stream of one kind, or evicts it from the cache. */
type Readable<K extends keyof Streams> = Pick<Streams[K], 'load' | 'forget'>;

/** The streams outside of command handling: readable, changed by commands alone. */
export type ReadableStreams = { readonly [K in keyof Streams]: Readable<K> };
