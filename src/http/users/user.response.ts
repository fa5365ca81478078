import { ApiExtraModels, ApiProperty, getSchemaPath, OmitType, PartialType, PickType } from '@nestjs/swagger';
import { Integer, Text, TextOrNull, TextUntilForgotten, Time } from '../shapes/shape.js';
import { ProgramShareLinksResponse, ShareLinksResponse } from '../share-links/share-links.response.js';

class ReferredByResponse {
  @TextOrNull({ description: 'Null once its owner is forgotten' })
  code: string | null;

  @ApiProperty({ type: Boolean })
  isConverted: boolean;

  @ApiProperty({ type: Boolean, description: 'This very call started the referral' })
  newlyReferred: boolean;
}

@ApiExtraModels(ProgramShareLinksResponse)
export class UserResponse {
  @Text()
  id: string;

  @Text()
  accountId: string;

  @TextOrNull({ description: 'Of the default program' })
  referralCode: string | null;

  @TextOrNull()
  email: string | null;

  @Text({ description: '"" when there is none' })
  imageUrl: string;

  @TextOrNull()
  firstName: string | null;

  @TextOrNull()
  lastName: string | null;

  @TextOrNull()
  locale: string | null;

  @TextOrNull({ description: 'ISO 3166-1 alpha-2' })
  countryCode: string | null;

  @TextOrNull()
  firstSeenIP: string | null;

  @TextOrNull()
  lastSeenIP: string | null;

  @Time()
  dateCreated: number;

  @TextOrNull({ description: 'MD5 in hex of the trimmed address in lower case' })
  emailHash: string | null;

  @TextOrNull()
  referralSource: string | null;

  @ApiProperty({ type: ShareLinksResponse, nullable: true })
  shareLinks: ShareLinksResponse | null;

  @ApiProperty({ type: 'object', additionalProperties: { $ref: getSchemaPath(ProgramShareLinksResponse) }, description: 'By program' })
  programShareLinks: Readonly<Record<string, ProgramShareLinksResponse>>;

  @TextOrNull()
  cookieId: string | null;

  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, description: 'By program' })
  referralCodes: Readonly<Record<string, string>>;

  @ApiProperty({ type: ReferredByResponse, nullable: true })
  referredBy: ReferredByResponse | null;

  @ApiProperty({ type: [String] })
  referredByCodes: string[];

  @ApiProperty({ type: Boolean })
  referable: boolean;

  @ApiProperty({ type: 'object', additionalProperties: { oneOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] } })
  customFields: Readonly<Record<string, string | number | boolean>>;

  @ApiProperty({ type: [String] })
  segments: string[];

  @TextOrNull()
  paymentProviderId: string | null;
}

/** With `fields`, those alone; with `extraFields`, more. */
export class SelectedUserResponse extends PartialType(UserResponse) {
  @ApiProperty({ type: 'integer', nullable: true, required: false, description: 'Epoch milliseconds; only when asked for' })
  dateBlocked?: number | null;
}

export class WrittenUserResponse extends OmitType(UserResponse, ['id', 'accountId']) {
  @TextUntilForgotten()
  id: string | null;

  @TextUntilForgotten()
  accountId: string | null;
}

export class WrittenSelectedUserResponse extends PartialType(WrittenUserResponse) {
  @ApiProperty({ type: 'integer', nullable: true, required: false, description: 'Epoch milliseconds; only when asked for' })
  dateBlocked?: number | null;
}

const LISTED = ['id', 'accountId', 'email', 'firstName', 'lastName', 'referralCode', 'imageUrl', 'dateCreated', 'emailHash'] as const;

export class UserListItemResponse extends PickType(UserResponse, LISTED) {}

const PUBLIC = ['id', 'accountId', 'email', 'firstName', 'lastName', 'referralCode', 'imageUrl'] as const;

export class PublicUserResponse extends PickType(UserResponse, PUBLIC) {}

export class UserListResponse {
  @Integer({ description: 'Of this page' })
  count: number;

  @Integer()
  totalCount: number;

  @ApiProperty({ type: [UserListItemResponse] })
  users: UserListItemResponse[];
}
