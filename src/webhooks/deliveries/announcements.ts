import { deterministicId } from '../../command-handling/deterministic-id.js';
import type { AccountEvent } from '../../domain/account/account.events.js';
import type { DomainEvent } from '../../domain/events.js';
import type { ExportEvent } from '../../domain/export/export.decider.js';
import { accountRefOf, isExportStream } from '../../privacy/keyed-names.js';
import type { LedgerEvent, UndecodableEvent } from '../../projecting/projector.js';
import {
  announcedBy,
  announcedByEach,
  announcedByExport,
  type Announced,
} from '../payloads/announced.js';

/** Only events of accounts and exports announce something. */
export const isAnnouncing = (stream: string): boolean =>
  accountRefOf(stream) !== undefined || isExportStream(stream);

const isOfAccount = (decoded: LedgerEvent<DomainEvent>): decoded is LedgerEvent<AccountEvent> =>
  decoded.accountRef !== '';

const isOfExport = (decoded: LedgerEvent<DomainEvent>): decoded is LedgerEvent<ExportEvent> =>
  isExportStream(decoded.stream);

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
    if (!('undecodable' in decoded) && isOfExport(decoded))
      told.set(decoded, announcedByExport(decoded.event));
  return told;
}

/**
 * The `id` of a webhook. The first thing that an event announces has the event's id; the others
 * have ids made from it.
 */
export function webhookIdOf(decoded: LedgerEvent<DomainEvent>, announced: Announced): string {
  const [first] = isOfAccount(decoded)
    ? announcedBy(decoded.event)
    : isOfExport(decoded)
      ? announcedByExport(decoded.event)
      : [];
  const name = JSON.stringify(announced);
  return JSON.stringify(first) === name
    ? decoded.eventId
    : deterministicId(decoded.eventId, `webhook ${name}`);
}
