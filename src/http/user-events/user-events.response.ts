import { ApiProperty } from '@nestjs/swagger';
import type { AccountEvent } from '../../domain/account/account.events.js';
import { Text, TextUntilForgotten, Time } from '../../presenting/answer-members.js';

export class UserEventResponse {
  @Text()
  id: string;

  @Text()
  key: string;

  @ApiProperty({ type: 'object', additionalProperties: true })
  fields: Readonly<Record<string, unknown>>;

  @Time()
  dateTriggered: number;

  @Time()
  dateReceived: number;

  @Time()
  dateProcessed: number;
}

export class UserEventsResponse {
  @TextUntilForgotten()
  userId: string | null;

  @TextUntilForgotten()
  accountId: string | null;

  @ApiProperty({ type: [UserEventResponse], nullable: true })
  events: readonly UserEventResponse[] | null;
}

export function userEventsJson(
  { accountId, userId }: { readonly accountId: string; readonly userId: string },
  events: readonly AccountEvent[],
): UserEventsResponse {
  return { userId, accountId, events: events.flatMap(receivedEventJson) };
}

/** A program decides on an event when it is received: that is its processing time. */
function receivedEventJson(fact: AccountEvent): readonly UserEventResponse[] {
  if (fact.type !== 'UserEventReceived' || !fact.content.value) return [];
  const { id, key, fields, dateTriggered } = fact.content.value;
  return [{ id, key, fields, dateTriggered, dateReceived: fact.at, dateProcessed: fact.at }];
}
