import type { Accepted } from '../../decision.js';
import type { InNeed, Need } from '../../need.js';
import { ownMember } from '../../own-member.js';
import { refused, type Refused } from '../../refusal.js';
import type { AccountEvent } from '../account.events.js';
import type { AccountState } from '../account.state.js';
import type { Circumstances } from '../requests/circumstances.js';
import { answerToRepeated, type ImportedRow } from './imported-rows.js';

/** Needs of a row without lapses in its account, fetched before the first decision. */
export const needsOfRow = (command: object): readonly Need[] =>
  'hasId' in command && command.hasId === true && 'ref' in command
    ? [{ kind: 'imported-row', ref: String(command.ref), lapses: 0 }]
    : [];

/** Undefined: the row has no id, or this account has it. */
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
