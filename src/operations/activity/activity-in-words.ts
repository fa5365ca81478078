import { plainAmount, type AmountText } from '../accounts/words-of-rewards.js';
import { SESSION_OPERATIONS } from './activity-kinds.js';

/** What an operator did, as people read it, by the recorded name of the operation. */
const SENTENCES: ReadonlyMap<string, string> = new Map([
  [SESSION_OPERATIONS.signedIn, 'Signed in'],
  [SESSION_OPERATIONS.signedOut, 'Signed out'],
  [SESSION_OPERATIONS.refused, 'Was refused a page of another role'],
  ['console account', 'Opened an account'],
  ['console search', 'Searched for customers'],
  ['console users', 'Listed users'],
  ['console accounts', 'Listed accounts'],
  ['console referrals', 'Listed referrals'],
  ['console rewards', 'Listed rewards'],
  ['console balances', 'Listed balances'],
  ['console moderation', 'Listed referrals to decide on'],
  ['console import', 'Read rows of an import'],
  ['console delivery', 'Opened a webhook delivery'],
  ['console forecast', 'Read the accounts of a forecast'],
  ['user block', 'Blocked a user'],
  ['user unblock', 'Unblocked a user'],
  ['user edit', 'Edited a user'],
  ['user forget', 'Forgot a user'],
  ['reward grant', 'Granted a reward'],
  ['reward cancel', 'Cancelled a reward'],
  ['referral moderate', 'Decided on referrals'],
  ['referral undo', 'Undid a decision on a referral'],
  ['ledger statement', "Read an account's statement"],
  ['ledger tenant-statement', "Read the tenant's statement"],
  ['ledger balances', 'Listed balances'],
  ['ledger replay', 'Replayed the ledger'],
  ['ledger reconcile', 'Reconciled the ledger'],
  ['ledger digest', "Made the ledger's digest"],
  ['ledger verify', 'Verified the ledger'],
  ['ledger export', 'Exported the ledger'],
  ['ledger acknowledge-loss', 'Acknowledged a loss of the log'],
  ['ledger adjust', 'Corrected a balance'],
  ['ledger propose', 'Proposed a correction'],
  ['ledger approve', 'Approved a correction'],
  ['ledger reject', 'Rejected a correction'],
  ['ledger withdraw', 'Withdrew a correction'],
  ['ledger proposals', 'Listed corrections'],
  ['ledger close', 'Closed a month'],
  ['ledger reopen', 'Reopened a month'],
  ['webhook add', 'Added a webhook endpoint'],
  ['webhook subscribe', 'Added a webhook endpoint'],
  ['webhook change-types', 'Changed the event types of an endpoint'],
  ['webhook unsubscribe', 'Removed a webhook endpoint'],
  ['webhook remove', 'Removed a webhook endpoint'],
  ['webhook enable', 'Enabled a webhook endpoint'],
  ['webhook test', 'Tested a webhook endpoint'],
  ['webhook trigger', 'Sent a sample webhook'],
  ['webhook resend', 'Sent webhooks again'],
  ['webhook rotate-secret', 'Rotated the secret of an endpoint'],
  ['webhook rotate-signing-key', 'Rotated the key that signs webhooks'],
  ['mail resend', 'Sent a mail again'],
  ['payment connect', 'Connected a payment provider'],
  ['payment disconnect', 'Disconnected a payment provider'],
  ['payment retry', 'Retried a payment'],
  ['payment sync', 'Synchronised with the payment provider'],
  ['payment reconcile', 'Reconciled with the payment provider'],
  ['export run', 'Requested an export'],
  ['export cancel', 'Cancelled an export'],
  ['export download', 'Downloaded an export'],
  ['import users', 'Imported users'],
  ['import referrals', 'Imported referrals'],
  ['import rewards', 'Imported rewards'],
  ['program apply', 'Published a program'],
  ['theme put', 'Published a theme'],
  ['theme rollback', 'Rolled a theme back'],
  ['tenant create', 'Created the tenant'],
  ['tenant update', 'Changed the settings'],
  ['tenant units', 'Changed how amounts are shown'],
  ['tenant clock', 'Moved the test clock'],
  ['tenant rotate-key', 'Rotated the API key'],
  ['tenant rotate-secret', 'Rotated the signing secret'],
  ['tenant suspend', 'Suspended the tenant'],
  ['tenant resume', 'Resumed the tenant'],
  ['projection rebuild', 'Rebuilt a projection'],
  ['projection swap', 'Swapped a projection'],
  ['projection rollback', 'Rolled a projection back'],
  ['projection retry-parked', 'Retried parked streams'],
  ['projection skip', 'Skipped an event of a projection'],
  ['policy skip', 'Skipped a parked reaction'],
  ['key rotate', 'Replaced the master key'],
  ['log accept-clock', 'Accepted the clock of the log'],
  ['privacy replay-erasures', 'Repeated the erasures'],
  ['release confirm', 'Confirmed a release'],
]);

/** What of an operation's parameters its sentence names. */
type Named = Readonly<Record<string, string>>;

/**
 * An unknown operation is named as it is recorded.
 * @param amountText writes an amount of a unit for people.
 */
export function activityInWords(
  operation: string,
  named: Named = {},
  amountText: AmountText = plainAmount,
): string {
  const [, of = '', file = ''] = /^(.*?)( file)?$/.exec(operation) ?? [];
  const isProposed = operation === 'reward grant' && named['proposal'] !== undefined;
  const sentence = isProposed
    ? 'Proposed a grant above the limit'
    : (SENTENCES.get(of) ?? `Ran ${of}`);
  const details = detailsOf(named, amountText);
  return `${sentence}${file && ' as a file'}${details && `: ${details}`}`;
}

/** `$12.50`, `October 2026`, `2026-10-01 to 2026-10-31`; empty: none. */
function detailsOf(
  { amount, unit, percent, period, from, to }: Named,
  amountText: AmountText,
): string {
  const isAmount = amount !== undefined && unit !== undefined;
  return [
    isAmount ? amountText(Number(amount), unit) : '',
    percent === undefined ? '' : `${percent}%`,
    period === undefined ? '' : monthText(period),
    [from, to].every((day) => DAY.test(day ?? '')) ? `${from} to ${to}` : '',
  ]
    .filter((one) => one !== '')
    .join(', ');
}

const DAY = /^\d{4}-\d\d-\d\d$/;
const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
const monthText = (period: string): string =>
  /^\d{4}-(?:0[1-9]|1[0-2])$/.test(period) ? MONTH.format(Date.parse(period)) : period;

const CHANNELS = { console: 'Console', cli: 'Command line', http: 'HTTP' } as const;
export const channelInWords = (channel: keyof typeof CHANNELS): string => CHANNELS[channel];
