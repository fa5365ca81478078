import type { Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';

declare const TYPE: unique symbol;

/** A member of an answer: its description in /openapi.json and its type. */
export interface Member<T> {
  readonly described: object;
  readonly [TYPE]?: T;
}

export interface OptionalMember<T> extends Member<T> {
  readonly isOptional: true;
}

type Members = Readonly<Record<string, Member<unknown>>>;
type TypeOf<M> = M extends Member<infer T> ? T : never;
type NamesOfOptional<M> = {
  [K in keyof M]: M[K] extends OptionalMember<unknown> ? K : never;
}[keyof M];
type AnswerOf<M> = {
  [K in Exclude<keyof M, NamesOfOptional<M>>]: TypeOf<M[K]>;
} & { [K in NamesOfOptional<M>]?: TypeOf<M[K]> };

/** Base class of an answer; the class's name is its name in /openapi.json. */
export function answerOf<M extends Members>(members: M): Type<AnswerOf<M>> {
  class Answer {
    declare protected readonly members?: M;
  }
  for (const [name, { described: options }] of Object.entries(members))
    ApiProperty(options)(Answer.prototype, name);
  return Answer as unknown as Type<AnswerOf<M>>;
}

export const described = <T>(options: object): Member<T> => ({ described: options });

export const text = described<string>({ type: 'string' });
export const integer = described<number>({ type: 'integer' });
/** Epoch milliseconds. */
export const time = described<number>({ type: 'integer' });
export const flag = described<boolean>({ type: Boolean });
export const texts = described<readonly string[]>({ type: [String] });

export const oneOf = <const T extends string>(values: readonly T[]): Member<T> =>
  described({ enum: values });
export const answer = <T>(shape: Type<T>): Member<T> => described({ type: shape });
export const answers = <T>(shape: Type<T>): Member<readonly T[]> => described({ type: [shape] });
/** @param values schema of the values; true: any JSON. */
export const mapOf = <T>(values: object | true): Member<Readonly<Record<string, T>>> =>
  described({ type: 'object', additionalProperties: values });

export const orNull = <T>(member: Member<T>): Member<T | null> =>
  described({ ...member.described, nullable: true });
export const optional = <T>(member: Member<T>): OptionalMember<T> => ({
  described: { ...member.described, required: false },
  isOptional: true,
});

/** A text that is stored with an idempotency key and null once its person is forgotten. */
export const textUntilForgotten = orNull(text);
/** The name of a person who shares a code. */
export const shortName = described<string | null>({
  type: 'string',
  nullable: true,
  example: 'Ann L',
});
