import type { WebhookEnvelope } from '../../webhooks/signing/signed-webhook.js';

const LINE_CHARACTERS_MAX = 200;
/** Terminals obey these, and a line has no breaks. */
const CONTROL = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;

/** An event for people: time, type, id, account, user and amount, as far as it has them. */
export function lineOf({ id, type, created, data }: WebhookEnvelope): string {
  const party = (data['referred'] ?? data['referrer'] ?? {}) as Readonly<Record<string, unknown>>;
  const facts = {
    account: data['accountId'] ?? party['accountId'],
    user: data['userId'] ?? party['id'] ?? (type === 'user.created' ? data['id'] : undefined),
    amount:
      data['availableValue'] ?? data['assignedCredit'] ?? data['discountPercent'] ?? data['amount'],
  };
  const named = Object.entries(facts).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${value as string | number}`],
  );
  const unit = facts.amount === undefined ? [] : [(data['unit'] ?? '') as string];
  const words = [new Date(created).toISOString(), type, id, ...named, ...unit];
  const line = [...words.join(' ').trimEnd().replace(CONTROL, '\ufffd')];
  return line.length <= LINE_CHARACTERS_MAX
    ? line.join('')
    : `${line.slice(0, LINE_CHARACTERS_MAX - 1).join('')}…`;
}
