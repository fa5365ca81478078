import { deterministicId } from '../../command-handling/deterministic-id.js';
import type { DomainEvent } from '../../domain/events.js';
import { accountRefOf } from '../../privacy/keyed-names.js';
import type { LedgerEvent, UndecodableEvent } from '../../projecting/projector.js';
import { announcedBy, announcedByEach, type Announced } from '../payloads/announced.js';

/** Only events of accounts announce something. */
export const isAccount = (stream: string): boolean => accountRefOf(stream) !== undefined;

const isOfAccount = (decoded: LedgerEvent<DomainEvent>): decoded is LedgerEvent =>
  decoded.accountRef !== '';

/** What the events of accounts announce, by event. */
export function announcements(
  all: readonly (LedgerEvent<DomainEvent> | UndecodableEvent)[],
): ReadonlyMap<LedgerEvent<DomainEvent>, readonly Announced[]> {
  const ofAccounts = all.filter(
    (decoded): decoded is LedgerEvent => !('undecodable' in decoded) && isOfAccount(decoded),
  );
  const each = announcedByEach(ofAccounts);
  return new Map(ofAccounts.map((decoded, index) => [decoded, each[index] ?? []]));
}

/**
 * The `id` of a webhook. The first thing that an event announces has the event's id; the others
 * have ids made from it.
 */
export function webhookIdOf(decoded: LedgerEvent<DomainEvent>, announced: Announced): string {
  const [first] = isOfAccount(decoded) ? announcedBy(decoded.event) : [];
  const name = JSON.stringify(announced);
  return JSON.stringify(first) === name
    ? decoded.eventId
    : deterministicId(decoded.eventId, `webhook ${name}`);
}
