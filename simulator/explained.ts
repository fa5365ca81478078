import type { AccountEvent } from '../src/domain/account/account.events.js';
import type { Decoded } from '../src/event-log/codec.js';
import { accountRefOf, type KeyedNames } from '../src/privacy/keyed-names.js';
import { accountRefIn } from './clients.js';
import type { Sent } from './requests.js';
import type { Scope } from '../src/domain/scope.js';

/** Steps of a moderation: a command that meets one finishes it, under its own correlation. */
const MODERATION_STEPS: ReadonlySet<string> = new Set(['PrepareModeration', 'ApplyModeration']);

/** After that a key is free; less what the clocks may have been set back. */
const KEY_LIVES_MS = 7 * 86_400_000 - 600_000;

/** Not the request's effect: what it had to clear away or to finish before. */
const isBeside = ({ event, envelope }: Decoded): boolean =>
  event.type === 'ReservationLapsed' ||
  event.type === 'ModerationReleased' ||
  MODERATION_STEPS.has(envelope.idempotency?.fingerprint ?? '');

interface LogFacts {
  readonly scope: Scope;
  readonly names: KeyedNames;
  readonly areAnswersLost: boolean;
  /** Events that the log has lost. */
  readonly lost: readonly Decoded[];
}

/** What the log has of requests. */
interface Recorded {
  /** Without what policies did because of it: they pass the call's id on. */
  readonly byCall: ReadonlyMap<string, readonly Decoded[]>;
  /** When each command of a key took effect, by key and command. */
  readonly byKey: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/**
 * Whether every answer is explained by the log: what was accepted is there, what was refused is
 * not, and a key took effect once at most.
 */
export function unexplained(
  requests: readonly Sent[],
  log: readonly Decoded[],
  facts: LogFacts,
): string[] {
  const own = log.filter(
    (decoded) => accountRefOf(decoded.recorded.stream) !== undefined && !isBeside(decoded),
  );
  const recorded = recordedOf(own, facts);
  const keyed = new Map<string, Sent>();
  const lostCalls = new Set(facts.lost.map(({ envelope }) => envelope.correlationId));
  return [
    ...twice(own),
    ...requests.flatMap((sent) => {
      if (sent.wish.kind === 'moderation') return [];
      // What was answered before the loss is in no log.
      if (sent.tries.some(({ callId }) => lostCalls.has(callId))) return [];
      const stream = streamOf(sent.wish.accountId, facts);
      const broken = unexplainedTries(sent, stream, recorded);
      if (sent.key === undefined) return broken;
      const name = keyName(facts.names.digest(...keyParts(sent.key, facts)), stream, facts);
      const other = keyed.get(name);
      if (hasEffect(sent)) keyed.set(name, sent);
      return [...broken, ...unexplainedKey(sent, other, [...(recorded.byKey.get(name) ?? [])])];
    }),
  ];
}

function recordedOf(own: readonly Decoded[], facts: LogFacts): Recorded {
  const byCall = new Map<string, Decoded[]>();
  const byKey = new Map<string, Map<string, number>>();
  for (const decoded of own) {
    const { actor, correlationId, commandId, idempotency } = decoded.envelope;
    const { stream, recordedAt } = decoded.recorded;
    if (actor.kind !== 'policy') {
      const ofCall = byCall.get(correlationId) ?? [];
      byCall.set(correlationId, ofCall);
      ofCall.push(decoded);
    }
    if (idempotency === null) continue;
    const name = keyName(idempotency.key, stream, facts);
    byKey.set(name, (byKey.get(name) ?? new Map<string, number>()).set(commandId, recordedAt));
  }
  return { byCall, byKey };
}

/** A command appends once: its events are of one moment. */
function twice(own: readonly Decoded[]): string[] {
  const first = new Map<string, Decoded>();
  return own.flatMap((decoded) => {
    const { stream, recordedAt } = decoded.recorded;
    const name = `${stream} ${decoded.envelope.commandId}`;
    const before = first.get(name);
    if (before === undefined) first.set(name, decoded);
    return before === undefined || before.recorded.recordedAt === recordedAt
      ? []
      : [`a command took effect twice: ${before.event.type}, ${decoded.event.type}`];
  });
}

/** How much a request redeemed; what its settling redeems automatically is not part of it. */
function redeemedBy(own: readonly Decoded[]): number {
  return own
    .map(({ event }) => event as AccountEvent)
    .reduce(
      (sum, event) =>
        (event.type === 'CreditRedeemed' && !event.redemptionId.endsWith('-automatic')) ||
        event.type === 'AccountCreditRedeemed'
          ? sum + event.amount
          : sum,
      0,
    );
}

function unexplainedTries(
  { wish, body, key, tries }: Sent,
  stream: string,
  { byCall }: Recorded,
): string[] {
  return tries.flatMap(({ callId, ending }) => {
    const own = (byCall.get(callId) ?? []).filter(({ recorded }) => recorded.stream === stream);
    const there = own.map(({ event }) => event.type).join(', ') || 'nothing';
    if (ending?.kind === 'refused' && own.length > 0)
      return [`refused with ${ending.code}, and there is ${there}: ${body}`];
    if (ending?.kind !== 'accepted') return [];
    if (ending.of !== undefined && ending.of !== body)
      return [`answered as if it were ${ending.of}: ${body}`];
    const asked = wish.kind === 'account' && 'amount' in wish.request ? wish.request : undefined;
    const isRedemption = asked !== undefined && asked.type !== 'AdjustCredit' && own.length > 0;
    if (isRedemption && redeemedBy(own) !== asked.amount)
      return [`accepted, and ${redeemedBy(own)} are redeemed: ${body}`];
    if (key === undefined && own.length < ending.events)
      return [`accepted with ${ending.events} events, and there is ${there}: ${body}`];
    return [];
  });
}

/**
 * @param other the request before it that took effect under this key. @param effects when the
 * commands of the key took effect.
 */
function unexplainedKey(
  sent: Sent,
  other: Sent | undefined,
  effects: readonly (readonly [command: string, at: number])[],
): string[] {
  const { body, sentAt } = sent;
  const broken: string[] = [];
  const isTaken = other !== undefined && sentAt - other.sentAt < KEY_LIVES_MS;
  if (hasEffect(sent) && isTaken && other.body !== body)
    broken.push(`accepted under the key of ${other.body}: ${body}`);
  const times = effects.map(([, at]) => at);
  if (isKeyUsedTwice(times))
    broken.push(`${times.length} commands took effect under one key: ${body}`);
  if (hasEffect(sent) && times.length === 0)
    broken.push(`accepted with its key, and nothing is there: ${body}`);
  return broken;
}

/** @param times of the effects of one key. */
export function isKeyUsedTwice(times: readonly number[]): boolean {
  const inOrder = [...times].sort((a, b) => a - b);
  return inOrder.some((at, index) => at - (inOrder[index - 1] ?? -Infinity) < KEY_LIVES_MS);
}

const streamOf = (accountId: string, { scope, names }: LogFacts): string =>
  names.accountStream(scope, accountRefIn(accountId, scope, names));

const keyParts = (key: string, { scope }: LogFacts) =>
  ['idempotency-key', scope.tenant, scope.mode, key] as const;

/** Without its kept answers a key is known only to the stream that it changed. */
const keyName = (key: string, stream: string, { areAnswersLost }: LogFacts): string =>
  areAnswersLost ? `${key} ${stream}` : key;

const hasEffect = ({ tries }: Sent): boolean =>
  tries.some(({ ending }) => ending?.kind === 'accepted' && ending.events > 0);
