import type { Decoded } from '../../event-log/codec.js';
import { shownName, type Actor } from '../../event-log/envelope.js';

const POLICIES = new Map([
  ['grant-referrer-reward-when-earned', 'Reward rule: referrer reward on conversion'],
  ['grant-referrer-reward-earned-by-event', 'Reward rule: referrer reward for an event'],
  ['settle-rewards-on-their-dates', 'Reward rule: dates of rewards'],
  ['list-redeemed-rewards', 'Redemption of many rewards'],
  ['flag-referrals-made-too-fast', 'Fraud check: referrals within a short time'],
  ['pay-rewards-by-provider', 'Payment of rewards'],
  ['apply-provider-events', 'Payment provider'],
  ['finish-abandoned-moderations', 'Unfinished moderation'],
  ['finish-abandoned-erasures', 'Unfinished erasure'],
]);

const JOBS = new Map([
  ['settle-reward', 'Reward rule: dates of rewards'],
  ['finish-moderation', 'Unfinished moderation'],
  ['finish-erasure', 'Unfinished erasure'],
]);

const SYSTEM = new Map([
  ['payment-provider', 'Payment provider'],
  ['command-line', 'Command line'],
  ['clock', 'Reward rule: dates of rewards'],
]);

/** The actor of an event, for people. Of a correction its proposer. */
export function actorInWords({ event, envelope }: Omit<Decoded, 'recorded'>): string {
  const by = 'adjustment' in event ? event.adjustment?.by : undefined;
  const { actor } = envelope;
  return by === undefined || by.subject === actor.id ? actorText(actor) : shownName(by);
}

/** Of a text that names an actor: `policy:…`, `operator:sam`. */
export function namedActorInWords(text: string): string {
  const [, kind, id = ''] = /^([a-z-]+):(.*)$/s.exec(text) ?? [];
  return kind === undefined ? text : (actorText({ kind: kind as Actor['kind'], id }) ?? text);
}

function actorText({ kind, id, name }: Actor): string {
  const named = name === undefined ? id : shownName(name);
  switch (kind) {
    case 'api-key':
      return 'Client';
    case 'user-token':
      return 'User';
    case 'anyone':
      return 'Visitor';
    case 'policy':
      return POLICIES.get(id) ?? 'Reward rule';
    case 'job':
      return JOBS.get(id) ?? 'Scheduled work';
    case 'operator':
      return named;
    case 'cli':
      return `${named}, command line`;
    case 'system':
      return SYSTEM.get(id) ?? 'Service';
  }
}
