import { ApiProperty } from '@nestjs/swagger';
import { Text } from '../shapes/shape.js';

class MediumLinksResponse {
  @Text()
  shareLink: string;
  @Text()
  facebookShareLink: string;
  @Text()
  twitterShareLink: string;
  @Text()
  emailShareLink: string;
  @Text()
  linkedinShareLink: string;
}

export class ShareLinksResponse extends MediumLinksResponse {
  @Text()
  mobileShareLink: string;
  @Text()
  mobileFacebookShareLink: string;
  @Text()
  mobileTwitterShareLink: string;
  @Text()
  mobileEmailShareLink: string;
  @ApiProperty({ type: MediumLinksResponse })
  EMBED: MediumLinksResponse;
  @ApiProperty({ type: MediumLinksResponse })
  POPUP: MediumLinksResponse;
  @ApiProperty({ type: MediumLinksResponse })
  HOSTED: MediumLinksResponse;
  @ApiProperty({ type: MediumLinksResponse })
  MOBILE: MediumLinksResponse;
  @ApiProperty({ type: MediumLinksResponse })
  EMAIL: MediumLinksResponse;
}

class DirectLinkResponse {
  @Text()
  DIRECT: string;
}

export class ProgramShareLinksResponse {
  @Text({ description: 'Says nothing of where it was shared' })
  cleanShareLink: string;
  @ApiProperty({ type: DirectLinkResponse })
  MOBILE: DirectLinkResponse;
  @ApiProperty({ type: DirectLinkResponse })
  EMAIL: DirectLinkResponse;
  @ApiProperty({ type: DirectLinkResponse })
  UNKNOWN: DirectLinkResponse;
}

export class ShareUrlsResponse {
  @ApiProperty({
    type: 'object',
    properties: { cleanShareLink: { type: 'string', description: 'Says nothing of where it was shared' } },
    required: ['cleanShareLink'],
    additionalProperties: { type: 'object', additionalProperties: { type: 'string' } },
    description: 'By engagement medium, then by share medium',
  })
  shareLinks: Readonly<Record<string, unknown>>;
}
