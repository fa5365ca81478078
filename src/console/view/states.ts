/** A state as pages show it: a word with a colour and an icon. */
export interface StateView {
  readonly words: string;
  readonly tone: 'good' | 'wait' | 'bad' | 'calm';
  readonly icon: string;
}

type Look = Pick<StateView, 'tone' | 'icon'>;

const GOOD: Look = { tone: 'good', icon: 'good' };
const WAIT: Look = { tone: 'wait', icon: 'wait' };
const PART: Look = { tone: 'good', icon: 'part' };
const BAD: Look = { tone: 'bad', icon: 'bad' };
const CALM: Look = { tone: 'calm', icon: 'off' };

/** The words of all states of the console. */
const LOOKS: ReadonlyMap<string, Look> = new Map([
  // rewards
  ['Available', GOOD],
  ['Partly redeemed', PART],
  ['Redeemed', CALM],
  ['Pending', WAIT],
  ['Expired', CALM],
  ['Cancelled', BAD],
  // referrals, and their moderation
  ['Started', WAIT],
  ['Converted', GOOD],
  ['Ended', CALM],
  ['Waiting', WAIT],
  ['Approved', GOOD],
  ['Denied', BAD],
  ['Rejected', BAD],
  ['Withdrawn', CALM],
  ['Lapsed', CALM],
  // accounts
  ['Trial', WAIT],
  ['Paid', GOOD],
  ['Free', CALM],
  // users, endpoints, tenants
  ['Active', GOOD],
  ['Blocked', BAD],
  ['Forgotten', CALM],
  ['Failing', WAIT],
  ['Disabled', BAD],
  ['Suspended', BAD],
  // runs, deliveries, mails, exports
  ['Running', WAIT],
  ['Done', GOOD],
  ['Failed', BAD],
  ['Differences found', { tone: 'wait', icon: 'bad' }],
  ['Delivered', GOOD],
  ['Retrying', WAIT],
  ['Sent', GOOD],
  ['Not known whether it was sent', WAIT],
  ['Ready', GOOD],
  ['Up to date', GOOD],
  ['Catching up', WAIT],
  ['Parked streams', BAD],
  ['Open', WAIT],
  ['Closed', GOOD],
]);

/** @param words of a state, as the specification of the console names it. */
export const stateView = (words: string): StateView => ({
  words,
  ...(LOOKS.get(words) ?? CALM),
});
