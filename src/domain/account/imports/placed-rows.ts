import type { Accepted } from '../../decision.js';
import type { InNeed, Need } from '../../need.js';
import { ownMember } from '../../own-member.js';
import { refused, type Refused } from '../../refusal.js';
import type { AccountEvent } from '../account.events.js';
import type { AccountState } from '../account.state.js';
import type { Circumstances } from '../requests/circumstances.js';
import { answerToRepeated, type ImportedRow } from './imported-rows.js';

/** What a row needs, unless something lapsed in its account: fetched before the first decision. */
export const needsOfRow = (command: object): readonly Need[] =>
  'hasId' in command && command.hasId === true && 'ref' in command
    ? [{ kind: 'imported-row', ref: String(command.ref), lapses: 0 }]
    : [];

/**
 * A row with an id belongs to one account of the tenant and mode: it is placed there before it is
 * imported. Undefined: it is placed in this account.
 */
export function refusalOfPlace(
  { remains: { lapses } }: AccountState,
  command: ImportedRow,
  { provided, account }: Circumstances,
): Accepted<AccountEvent> | Refused | InNeed | undefined {
  const place = ownMember(provided.importedRows, command.ref);
  // Placed before the newest lapse, the row may be that of another account by now.
  if (place?.lapses !== lapses)
    return { needs: [{ kind: 'imported-row', ref: command.ref, lapses }] };
  if (place.account === account) return undefined;
  return (
    answerToRepeated(place.entry ?? undefined, command) ??
    refused('ROW_INVALID', 'Another import is importing a row with this id: import it again')
  );
}
