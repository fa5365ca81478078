import type { FraudSignal } from '../../domain/account/account.events.js';

const SENTENCES: ReadonlyMap<string, string> = new Map([
  ['name', 'Both people have the same first and last name, maybe in swapped order'],
  [
    'email',
    'Both people have the same e-mail address apart from +tag and dots, or the same name before the @',
  ],
  ['ip', 'Both people were seen at the same IP address'],
  ['rate', 'The referrer made more referrals in a short time than the program expects'],
]);

/** A signal as people read it; one that this release does not know has its recorded message. */
export const signalInWords = (name: string, { message }: Pick<FraudSignal, 'message'>): string =>
  SENTENCES.get(name) ?? message;
