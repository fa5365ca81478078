import type { SubjectId } from '../domain/personal.js';
import type { Refusal } from '../domain/refusal.js';
import type { Scope } from '../domain/scope.js';

/** A request with an idempotency key; both parts as keyed hashes. */
export interface KeyedRequest {
  readonly scope: Scope;
  readonly key: string;
  readonly fingerprint: string;
}

/** A stored answer, to be repeated. */
export interface StoredAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly position: string | null;
}

/** Members encrypted with the subject's key, and null once it is destroyed. */
export interface PersonalMembers {
  readonly subject: SubjectId;
  readonly members: readonly string[];
  /** Replacements for members that are never null. */
  readonly empty?: Readonly<Record<string, unknown>>;
}

/** The key is used for another request, or its first request is running. */
export type KeyRefusal = Extract<Refusal, 'IDEMPOTENCY_KEY_REUSED'> | 'REQUEST_IN_PROGRESS';

/** The command id for running the request, or the stored answer, or a refusal. */
export type ClaimedKey =
  ClaimedCommand | { readonly answer: StoredAnswer } | { readonly refused: KeyRefusal };

export interface ClaimedCommand {
  readonly commandId: string;
  /** By the database's clock, in epoch milliseconds. */
  readonly askedAt: number;
}

/** 1 to 255 printable characters. */
export const isIdempotencyKey = (text: string): boolean => /^[\x20-\x7e]{1,255}$/.test(text);

/** Unique over tenants and modes. */
export const requestName = ({ scope, key }: KeyedRequest): string =>
  `${scope.tenant}/${scope.mode}/${key}`;
