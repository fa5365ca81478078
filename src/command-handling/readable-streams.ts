import type { Streams } from './streams.js';

type Readable<K extends keyof Streams> = Pick<Streams[K], 'load' | 'forget'>;

/** The streams outside of command handling: commands alone change them. */
export type ReadableStreams = { readonly [K in keyof Streams]: Readable<K> };
