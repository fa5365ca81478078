import { ApiProperty } from '@nestjs/swagger';
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

  @Time('The programs had made of it what they make of it')
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
    description: 'In the order in which they were sent; null in a kept answer that is given again after the user was forgotten',
  })
  events: UserEventResponse[] | null;
}
