import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { EventField } from '../../domain/account/account.events.js';
import { Id, Must, NestedList, Optional } from '../shapes/request-members.js';
import { isPlainObject, Member } from '../shapes/request-shape.js';

const EVENTS_MAX = 100;
const TEXT_BYTES_MAX = 1500;
const FIELDS_MAX = 500;
const EVENT_BYTES_MAX = 64 * 1024;
/** The largest valid date. */
const TIME_MAX = 8.64e15;

const LIST = { type: 'array', items: {} };
const LIST_OF_LISTS = { ...LIST, contains: LIST };

const isShort = (text: string): boolean => Buffer.byteLength(text) <= TEXT_BYTES_MAX;
const isTime = (value: unknown): boolean =>
  Number.isSafeInteger(value) && Math.abs(Number(value)) <= TIME_MAX;

/** Limits texts and names, and refuses arrays of arrays; the body's depth is already limited. */
function isField(value: unknown, isInArray = false): boolean {
  if (typeof value === 'string') return isShort(value);
  // 1e400 would be stored as null.
  if (typeof value === 'number') return Number.isFinite(value);
  if (Array.isArray(value)) return !isInArray && value.every((item) => isField(item, true));
  return isPlainObject(value) ? isFields(value) : value === null || typeof value === 'boolean';
}

const isFields = (value: unknown): boolean =>
  isPlainObject(value) &&
  Object.entries(value).every(([name, field]) => isShort(name) && isField(field));

const isFew = (fields: unknown): boolean =>
  !isPlainObject(fields) || Object.keys(fields).length <= FIELDS_MAX;

/** Limits the stored members as JSON. */
const isSmall = (event: object): boolean =>
  Buffer.byteLength(JSON.stringify(event)) <= EVENT_BYTES_MAX;

export class UserEventRequest {
  @Member()
  @Must(
    `be a text of 1 to ${TEXT_BYTES_MAX} bytes`,
    (value) => typeof value === 'string' && value !== '' && isShort(value),
  )
  @ApiProperty({ type: String, minLength: 1, maxLength: TEXT_BYTES_MAX })
  key: string;

  @Member((value) => value ?? {})
  @Must(
    `be an object whose texts have at most ${TEXT_BYTES_MAX} bytes, without arrays of arrays`,
    isFields,
  )
  @Must(`have at most ${FIELDS_MAX} members`, isFew)
  @Must(`leave its event within ${EVENT_BYTES_MAX / 1024} KiB of JSON`, (_fields, event) =>
    isSmall(event),
  )
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { not: LIST_OF_LISTS },
    maxProperties: FIELDS_MAX,
    nullable: true,
  })
  fields: Readonly<Record<string, EventField>>;

  @Id()
  id?: string;

  @Optional('be epoch milliseconds', isTime, {
    type: 'integer',
    minimum: -TIME_MAX,
    maximum: TIME_MAX,
  })
  dateTriggered?: number;
}

/** POST events of a user. */
export class UserEventsRequest {
  @Id({ required: true })
  userId: string;

  @Id({ required: true })
  accountId: string;

  @NestedList(UserEventRequest, 'events', EVENTS_MAX)
  events: UserEventRequest[];

  @Optional(
    'be 8 to 64 of letters, digits, ., _ and -',
    (value) => typeof value === 'string' && /^[A-Za-z0-9._-]{8,64}$/.test(value),
    { type: String, pattern: '^(?:[A-Za-z0-9._-]{8,64})?$' },
  )
  idempotencyKey?: string;
}
