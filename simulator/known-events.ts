import { EventCodec, type Decoded, type Parsed, type Unreadable } from '../src/event-log/codec.js';
import type { RecordedEvent } from '../src/event-log/event-log.js';
import { frozen } from './frozen.js';

type Keys = ReadonlyMap<string, Buffer | null>;

/** What is known of an event as the store holds it. */
interface Known {
  readonly parsed: Parsed | Unreadable;
  /** By the keys that it was opened with. */
  readonly opened: Map<string, Decoded | Unreadable>;
}

/** The same stored event, with the same keys, reads the same, whichever process reads it. */
const KNOWN = new WeakMap<RecordedEvent, Known>();

/**
 * Reads as `EventCodec` does, and each event once for all processes of the world. Keys are asked
 * for as often as without it. What is shared is frozen: no process changes what another one reads.
 * The promises are checked on events that are read anew.
 */
export class KnownEventsCodec extends EventCodec {
  protected override parse(recorded: RecordedEvent): Parsed | Unreadable {
    return this.known(recorded).parsed;
  }

  protected override open(parsed: Parsed, keys: Keys): Decoded | Unreadable {
    const { recorded, places } = parsed;
    const { opened } = this.known(recorded);
    const name = keysOf(parsed, keys);
    let result = opened.get(name);
    if (result === undefined) {
      const own = places.length === 0 ? parsed : super.parse(recorded);
      result = 'unreadable' in own ? own : frozen(super.open(own, keys));
      opened.set(name, result);
    }
    return result;
  }

  private known(recorded: RecordedEvent): Known {
    let known = KNOWN.get(recorded);
    if (known === undefined) {
      known = { parsed: super.parse(recorded), opened: new Map() };
      KNOWN.set(recorded, known);
    }
    return known;
  }
}

const keysOf = ({ places }: Parsed, keys: Keys): string =>
  places.map(({ stored }) => keys.get(stored.subject)?.toString('latin1') ?? 'none').join(' ');
