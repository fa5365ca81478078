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

function announcedOutsideAccounts(decoded: LedgerEvent<DomainEvent>): readonly Announced[] {
  if (isOfExport(decoded)) return announcedByExport(decoded.event);
  return isThemeStream(decoded.stream) ? ANNOUNCED_BY_THEME : [];
}

export function announcements(
  all: readonly (LedgerEvent<DomainEvent> | UndecodableEvent)[],
): ReadonlyMap<LedgerEvent<DomainEvent>, readonly Announced[]> {
  const ofAccounts = all.filter(
    (decoded): decoded is LedgerEvent<AccountEvent> =>
      !('undecodable' in decoded) && isOfAccount(decoded),
  );
  const each = announcedByEach(ofAccounts);
  const byEvent = new Map<LedgerEvent<DomainEvent>, readonly Announced[]>(
    ofAccounts.map((decoded, index) => [decoded, each[index] ?? []]),
  );
  for (const decoded of all)
    if (!('undecodable' in decoded) && !isOfAccount(decoded))
      byEvent.set(decoded, announcedOutsideAccounts(decoded));
  return byEvent;
}

/** The webhook id: the event's id for its first announcement, else an id derived from it. */
export function webhookIdOf(decoded: LedgerEvent<DomainEvent>, announced: Announced): string {
  const [first] = isOfAccount(decoded)
    ? announcedBy(decoded.event)
    : announcedOutsideAccounts(decoded);
  const name = JSON.stringify(announced);
  return JSON.stringify(first) === name
    ? decoded.eventId
    : deterministicId(decoded.eventId, `webhook ${name}`);
}
