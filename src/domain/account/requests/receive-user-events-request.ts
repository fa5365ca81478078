import type { Decision } from '../../decision.js';
import { programsOf } from '../../tenant/program-document.js';
import type { AccountEvent, EventField } from '../account.events.js';
import type { AccountState } from '../account.state.js';
import type { CallOrigin } from '../users/call-origin.js';
import { receiveUserEvents, type ReceivedEvent } from '../users/user-events.js';
import type { Circumstances } from './circumstances.js';
import { contextOfReferral } from './referral-context.js';

export interface ReceiveUserEventsRequest {
  readonly type: 'ReceiveUserEvents';
  readonly userId: string;
  readonly seen?: CallOrigin | undefined;
  /** Undefined `id` and `dateTriggered` are assigned here. */
  readonly events: readonly {
    readonly id: string | undefined;
    readonly key: string;
    readonly fields: Readonly<Record<string, EventField>>;
    readonly dateTriggered: number | undefined;
  }[];
  readonly idempotencyKey: string | undefined;
}

/** Fetches the referrer only when a program depends on one. */
export function requestReceiveUserEvents(
  state: AccountState,
  request: ReceiveUserEventsRequest,
  given: Circumstances,
): Decision<AccountEvent> {
  const { type, userId, seen, idempotencyKey } = request;
  const { ids, tenant } = given;
  const programs = programsOf(tenant);
  const needsReferrer = programs.some(
    ({ conversion, eventRewards }) => conversion.on === 'EVENT' || eventRewards.length > 0,
  );
  const context = contextOfReferral(
    state.status === 'open' ? state.referral : null,
    needsReferrer,
    given,
  );
  if ('needs' in context) return context;
  return receiveUserEvents(state, {
    type,
    userId,
    seen,
    events: receivedEvents(request, given),
    context,
    programs,
    // Only a keyed hash of the client's text is kept.
    batch: idempotencyKey === undefined ? null : ids.batchRef(userId, idempotencyKey),
    aheadMs: given.aheadMs,
    rewardIdOf: ids.rewardOfEvent,
    valueRef: ids.valueRef,
  });
}

function receivedEvents(
  { userId, events }: ReceiveUserEventsRequest,
  { commandId, ids, now }: Circumstances,
): ReceivedEvent[] {
  return events.map(({ id, key, fields, dateTriggered }, index) => {
    const userEventId = ids.uuid(commandId, `event ${index}`);
    return {
      userEventId,
      idRef: id === undefined ? null : ids.eventRef(userId, id),
      content: { id: id ?? userEventId, key, fields, dateTriggered: dateTriggered ?? now },
    };
  });
}
