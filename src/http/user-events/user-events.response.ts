import { ApiProperty } from '@nestjs/swagger';
import type { AccountEvent } from '../../domain/account/account.events.js';
import { Text, TextUntilForgotten, Time } from '../shapes/shape.js';

export class UserEventResponse {
  @Text({ description: 'As it was sent, or made' })
  id: string;

  @Text()
  key: string;

  @ApiProperty({ type: 'object', additionalProperties: true })
  fields: Readonly<Record<string, unknown>>;

  @Time('As it was sent, or when it was received')
  dateTriggered: number;

  @Time()
  dateReceived: number;

  @Time('When the programs had processed it')
  dateProcessed: number;
}

export class UserEventsResponse {
  @TextUntilForgotten()
  userId: string | null;

  @TextUntilForgotten()
  accountId: string | null;

  @ApiProperty({
    type: [UserEventResponse],
    nullable: true,
    description:
      'In the order in which they were sent; null in a kept answer that is given again after the user was forgotten',
  })
  events: readonly UserEventResponse[] | null;
}

export function userEventsJson(
  { accountId, userId }: { readonly accountId: string; readonly userId: string },
  events: readonly AccountEvent[],
): UserEventsResponse {
  return { userId, accountId, events: events.flatMap(receivedEventJson) };
}

/** A program decides on an event when it is received: that is when it is processed. */
function receivedEventJson(fact: AccountEvent): readonly UserEventResponse[] {
  if (fact.type !== 'UserEventReceived' || !fact.content.value) return [];
  const { id, key, fields, dateTriggered } = fact.content.value;
  return [{ id, key, fields, dateTriggered, dateReceived: fact.at, dateProcessed: fact.at }];
}
