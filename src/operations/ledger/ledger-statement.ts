import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { entriesWithin } from '../../bookkeeping/period-postings.js';
import type { Entry } from '../../bookkeeping/postings.js';
import { statementOf, type ProviderPayment } from '../../bookkeeping/statement.js';
import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import { effectiveTimeOf } from '../../event-log/envelope.js';
import type { RecordedEvent } from '../../event-log/event-log.js';
import { pages } from '../../event-log/event-pages.js';
import { firstPosition } from '../../event-log/first-recorded.js';
import {
  clockOf,
  decodeTypes,
  entryOf,
  findAccount,
  POSTED,
  selectedEvents,
  type LogReads,
} from './ledger-entries.js';
import { LaterEntries } from './later-entries.js';
import { select, type Selection, type SelectionOptions } from './ledger-selection.js';

/** `ledger statement` of an account, with what its audit event contains. */
export async function statementOfAccount(
  core: LogReads & Pick<Core, 'names'> & { readonly tenants: Pick<Core['tenants'], 'now'> },
  scope: Scope,
  request: SelectionOptions & { readonly account: string; readonly unit?: string },
) {
  const now = await core.tenants.now(scope);
  const { account, unit, ...options } = request;
  const selection = await select(core.log, options, now);
  const found = await findAccount(core, scope, account);
  const { newest, later, ...read } = await readAccount(core, found.stream, selection, now);
  const position = selection.asked ?? (newest && firstPosition(newest)) ?? null;
  const clock = clockOf(selection, newest, now);
  const { from, until } = selection;
  const asked = { account, position, ...read, from, until, clock, unit };
  const result = await statementOf(asked, () => turnOfOthers());
  const parameters = { account: found.ref, unit, ...options };
  return { result, parameters, digest: result.digest, later };
}

/**
 * The events of an account's stream that a selection includes.
 * @throws {UnreadableEvent} for an event that cannot be read: figures of an incomplete stream would
 * be wrong.
 */
async function readAccount(
  { log, codec }: LogReads,
  stream: string,
  { upTo, until = Infinity }: Selection,
  now: number,
) {
  const entries: Entry[] = [];
  const paid: ProviderPayment[] = [];
  const later = new LaterEntries(until, now);
  let newest: RecordedEvent | undefined;
  for await (const page of pages(selectedEvents(log, stream, { upTo, until: undefined }))) {
    newest = page.findLast((event) => effectiveTimeOf(event) <= until) ?? newest;
    for (const event of page) later.add(event, POSTED.has(event.type));
    for (const decoded of await decodeTypes(codec, page, POSTED)) {
      const { event, recorded } = decoded;
      entries.push(entryOf(decoded));
      if (event.type === 'RewardPushed' && effectiveTimeOf(recorded) <= until)
        paid.push({
          rewardId: event.rewardId,
          paidAt: new Date(event.at).toISOString(),
          externalReference: event.reference.value,
        });
    }
  }
  return {
    /**
     * The events that postings are made of, in the order of the log, up to the last selected one.
     * Those that count after the end are among them: others may rest on them.
     */
    entries: entriesWithin(entries, until),
    /** Number of the events that one expects among them and that count after the end. */
    later: later.count,
    /** Rewards that the payment provider has paid. */
    paid,
    /** The newest selected event of any type; undefined: none is selected. */
    newest,
  };
}
