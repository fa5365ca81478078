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

/**
 * Whether every answer is explained by the log: what was accepted is there, what was refused is
 * not, and a key took effect once at most.
 */
export function unexplained(
  requests: readonly Sent[],
  log: readonly Decoded[],
  { scope, names }: { readonly scope: Scope; readonly names: KeyedNames },
): string[] {
  const broken: string[] = [];
  const byCall = new Map<string, Decoded[]>();
  const effects = new Map<string, Map<string, number>>();
  for (const decoded of log) {
    if (accountRefOf(decoded.recorded.stream) === undefined || isBeside(decoded)) continue;
    const { correlationId, commandId, idempotency } = decoded.envelope;
    byCall.set(correlationId, [...(byCall.get(correlationId) ?? []), decoded]);
    if (idempotency === null) continue;
    const commands = effects.get(idempotency.key) ?? new Map<string, number>();
    effects.set(idempotency.key, commands.set(commandId, decoded.recorded.recordedAt));
  }
  const accepted = new Map<string, Pick<Sent, 'body' | 'sentAt'>>();
  for (const { wish, key, body, tries, sentAt } of requests) {
    if (wish.kind === 'moderation') continue;
    const stream = names.accountStream(scope, accountRefIn(wish.accountId, scope, names));
    for (const { callId, ending } of tries) {
      const own = (byCall.get(callId) ?? []).filter(({ recorded }) => recorded.stream === stream);
      const there = own.map(({ event }) => event.type).join(', ') || 'nothing';
      if (ending?.kind === 'refused' && own.length > 0)
        broken.push(`refused with ${ending.code}, and there is ${there}: ${body}`);
      if (ending?.kind === 'accepted' && key === undefined && own.length < ending.events)
        broken.push(`accepted with ${ending.events} events, and there is ${there}: ${body}`);
    }
    if (key === undefined) continue;
    const other = accepted.get(key);
    if (
      hasEffect(tries) &&
      other !== undefined &&
      isStillTaken(other, sentAt) &&
      other.body !== body
    )
      broken.push(`accepted under the key of ${other.body}: ${body}`);
    if (hasEffect(tries)) accepted.set(key, { body, sentAt });
    const name = names.digest('idempotency-key', scope.tenant, scope.mode, key);
    const times = [...(effects.get(name)?.values() ?? [])].sort((a, b) => a - b);
    if (times.some((at, index) => at - (times[index - 1] ?? -Infinity) < KEY_LIVES_MS))
      broken.push(`${times.length} commands took effect under one key: ${body}`);
    if (hasEffect(tries) && times.length === 0)
      broken.push(`accepted with its key, and nothing is there: ${body}`);
  }
  return broken;
}

const hasEffect = (tries: Sent['tries']): boolean =>
  tries.some(({ ending }) => ending?.kind === 'accepted' && ending.events > 0);

const isStillTaken = (by: Pick<Sent, 'sentAt'>, at: number): boolean =>
  at - by.sentAt < KEY_LIVES_MS;
