import { deterministicId } from '../../command-handling/deterministic-id.js';
import type { AccountEvent } from '../../domain/account/account.events.js';
import type { DomainEvent } from '../../domain/events.js';
import type { ExportEvent } from '../../domain/export/export.decider.js';
import { accountRefOf, isExportStream, isThemeStream } from '../../privacy/keyed-names.js';
import type { LedgerEvent, UndecodableEvent } from '../../projecting/projector.js';
import {
  announcedBy,
  announcedByEach,
  announcedByExport,
  ANNOUNCED_BY_THEME,
  type Announced,
} from '../payloads/announced.js';

/** Only events of accounts, exports and themes announce something. */
export const isAnnouncing = (stream: string): boolean =>
  accountRefOf(stream) !== undefined || isExportStream(stream) || isThemeStream(stream);

const isOfAccount = (decoded: LedgerEvent<DomainEvent>): decoded is LedgerEvent<AccountEvent> =>
  decoded.accountRef !== '';

const isOfExport = (decoded: LedgerEvent<DomainEvent>): decoded is LedgerEvent<ExportEvent> =>
  isExportStream(decoded.stream);

/** Of an event that is not an account's. */
function announcedBeside(decoded: LedgerEvent<DomainEvent>): readonly Announced[] {
  if (isOfExport(decoded)) return announcedByExport(decoded.event);
  return isThemeStream(decoded.stream) ? ANNOUNCED_BY_THEME : [];
}

/** What the events announce, by event. */
export function announcements(
  all: readonly (LedgerEvent<DomainEvent> | UndecodableEvent)[],
): ReadonlyMap<LedgerEvent<DomainEvent>, readonly Announced[]> {
  const ofAccounts = all.filter(
    (decoded): decoded is LedgerEvent<AccountEvent> =>
      !('undecodable' in decoded) && isOfAccount(decoded),
  );
  const each = announcedByEach(ofAccounts);
  const told = new Map<LedgerEvent<DomainEvent>, readonly Announced[]>(
    ofAccounts.map((decoded, index) => [decoded, each[index] ?? []]),
  );
  for (const decoded of all)
    if (!('undecodable' in decoded) && !isOfAccount(decoded))
      told.set(decoded, announcedBeside(decoded));
  return told;
}

/**
 * The `id` of a webhook. The first thing that an event announces has the event's id; the others
 * have ids made from it.
 */
export function webhookIdOf(decoded: LedgerEvent<DomainEvent>, announced: Announced): string {
  const [first] = isOfAccount(decoded) ? announcedBy(decoded.event) : announcedBeside(decoded);
  const name = JSON.stringify(announced);
  return JSON.stringify(first) === name
    ? decoded.eventId
    : deterministicId(decoded.eventId, `webhook ${name}`);
}
