import { type StoredEvent } from './stored-event.js';

/**
 * Which events of the log a reader wants: by the name of the stream or the type of the event, by
 * prefixes or by a regular expression.
 */
export interface AllFilter {
  readonly on: 'stream' | 'type';
  readonly regex: string;
  readonly prefixes: readonly string[];
  /** How many events one step of a scan looks at. */
  readonly window: number;
  /** A subscription reports where it is after this many windows. */
  readonly checkpointInterval: number;
}

export function matcherOf(filter: AllFilter | undefined): (event: StoredEvent) => boolean {
  if (!filter) return () => true;
  const { on, prefixes, regex } = filter;
  if (regex === '') return (event) => prefixes.some((prefix) => event[on].startsWith(prefix));
  const pattern = new RegExp(regex);
  return (event) => pattern.test(event[on]);
}
