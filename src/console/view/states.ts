/** A state as pages show it: a word with a colour and an icon. */
export interface StateView {
  readonly words: string;
  readonly tone: 'good' | 'wait' | 'bad' | 'calm';
  readonly icon: string;
}

type Look = Pick<StateView, 'tone' | 'icon'>;

const GOOD: Look = { tone: 'good', icon: 'good' };
const WAIT: Look = { tone: 'wait', icon: 'wait' };
const BAD: Look = { tone: 'bad', icon: 'bad' };
const CALM: Look = { tone: 'calm', icon: 'off' };

const all = (look: Look, ...states: readonly string[]) =>
  states.map((words) => [words, look] as const);

/** Of all states of the console that do not look calm. */
const LOOKS: ReadonlyMap<string, Look> = new Map([
  ...all(GOOD, 'Available', 'Converted', 'Approved', 'Paid', 'Active', 'Done', 'Delivered'),
  ...all(GOOD, 'Sent', 'Ready', 'Up to date', 'Closed'),
  ...all(WAIT, 'Pending', 'Started', 'Waiting', 'Trial', 'Failing', 'Running', 'Retrying'),
  ...all(WAIT, 'Not known whether it was sent', 'Catching up', 'Open'),
  ...all(BAD, 'Cancelled', 'Denied', 'Rejected', 'Blocked', 'Disabled', 'Suspended', 'Failed'),
  ...all(BAD, 'Parked streams'),
  ['Partly redeemed', { tone: 'good', icon: 'part' }],
  ['Differences found', { tone: 'wait', icon: 'bad' }],
]);

/** @param words of a state, as the specification of the console names it. */
export const stateView = (words: string): StateView => ({
  words,
  ...(LOOKS.get(words) ?? CALM),
});
