import type { AccountEvent } from '../../domain/account/account.events.js';
import {
  answerOf,
  answers,
  mapOf,
  orNull,
  text,
  textUntilForgotten,
  time,
} from '../../presenting/answer-members.js';

export class UserEventResponse extends answerOf({
  id: text,
  key: text,
  fields: mapOf<unknown>(true),
  dateTriggered: time,
  dateReceived: time,
  dateProcessed: time,
}) {}

export class UserEventsResponse extends answerOf({
  userId: textUntilForgotten,
  accountId: textUntilForgotten,
  events: orNull(answers(UserEventResponse)),
}) {}

export function userEventsJson(
  { accountId, userId }: { readonly accountId: string; readonly userId: string },
  events: readonly AccountEvent[],
): UserEventsResponse {
  return { userId, accountId, events: events.flatMap(receivedEventJson) };
}

/** An event is processed when it is received. */
function receivedEventJson(fact: AccountEvent): readonly UserEventResponse[] {
  if (fact.type !== 'UserEventReceived' || !fact.content.value) return [];
  const { id, key, fields, dateTriggered } = fact.content.value;
  return [{ id, key, fields, dateTriggered, dateReceived: fact.at, dateProcessed: fact.at }];
}
