import type { Streams } from './streams.js';

/** Streams of one kind: folded as of now, and what is remembered of one dropped. */
type Readable<K extends keyof Streams> = Pick<Streams[K], 'load' | 'forget'>;

/** The streams as everybody outside of command handling knows them: changed by a command alone. */
export type ReadableStreams = { readonly [K in keyof Streams]: Readable<K> };
