import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';

/** Decorators of the members of answers. Members are always there unless described otherwise. */

export const Text = (options: ApiPropertyOptions = {}): PropertyDecorator =>
  ApiProperty(Object.assign({ type: 'string' as const }, options));
export const TextOrNull = (options: ApiPropertyOptions = {}): PropertyDecorator =>
  ApiProperty(Object.assign({ type: 'string' as const, nullable: true }, options));
export const Integer = (options: ApiPropertyOptions = {}): PropertyDecorator =>
  ApiProperty(Object.assign({ type: 'integer' as const }, options));
export const IntegerOrNull = (options: ApiPropertyOptions = {}): PropertyDecorator =>
  ApiProperty(Object.assign({ type: 'integer' as const, nullable: true }, options));
/**
 * A member of an answer to a write, which is kept with the idempotency key and repeated, possibly
 * after the person was forgotten.
 */
export const TextUntilForgotten = (): PropertyDecorator => TextOrNull();
/** Epoch milliseconds. */
export const Time = (): PropertyDecorator => Integer();
export const TimeOrNull = (): PropertyDecorator => IntegerOrNull();
