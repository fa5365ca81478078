import type { DomainEvent } from '../../domain/events.js';
import { actorShown, decodedIn, type LogReads } from '../ledger/ledger-entries.js';
import { NotDone } from '../outcome.js';

/** The changes of a stream that a form rests on. */
interface Changes {
  readonly stream: string;
  readonly types: ReadonlySet<string>;
  readonly isOne: (event: DomainEvent) => boolean;
}

/**
 * The refusal of a form that shows what is no longer so: it names who changed that last, and when.
 * @param what was changed, for the line: `this user`.
 */
export async function changedMeanwhile(
  core: LogReads,
  { stream, types, isOne }: Changes,
  what: string,
): Promise<NotDone> {
  let last = `${what} was changed`;
  for await (const decoded of decodedIn(core, stream, types))
    if (isOne(decoded.event)) {
      const at = new Date(decoded.recorded.recordedAt).toISOString();
      last = `${actorShown(decoded)} changed ${what} at ${at}`;
    }
  return new NotDone('CHANGED_MEANWHILE', [
    `${last}, after this form was opened: compare both versions and send it again`,
  ]);
}
