import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';

/** What the members of answers are made of. All are always there unless they say otherwise. */

export const Text = (options: ApiPropertyOptions = {}): PropertyDecorator =>
  ApiProperty(Object.assign({ type: 'string' as const }, options));
export const TextOrNull = (options: ApiPropertyOptions = {}): PropertyDecorator =>
  ApiProperty(Object.assign({ type: 'string' as const, nullable: true }, options));
export const Integer = (options: ApiPropertyOptions = {}): PropertyDecorator =>
  ApiProperty(Object.assign({ type: 'integer' as const }, options));
export const IntegerOrNull = (options: ApiPropertyOptions = {}): PropertyDecorator =>
  ApiProperty(Object.assign({ type: 'integer' as const, nullable: true }, options));
/**
 * In the answer to a write: kept with its idempotency key, and given again when the person may be
 * gone.
 */
export const TextUntilForgotten = (): PropertyDecorator =>
  TextOrNull({
    description: 'Null in a kept answer that is given again after whoever it names was forgotten',
  });
/** Epoch milliseconds. */
export const Time = (description?: string): PropertyDecorator =>
  Integer({ description: description ?? 'Epoch milliseconds' });
export const TimeOrNull = (description?: string): PropertyDecorator =>
  IntegerOrNull({ description: description ?? 'Epoch milliseconds' });
