import { ApiProperty } from '@nestjs/swagger';

export class ReceivedResponse {
  @ApiProperty({ type: Boolean })
  readonly received!: true;
}

/** The provider reads the status alone. */
export const receivedJson = (): ReceivedResponse => ({ received: true });
