import { ownMember } from '../own-member.js';
export interface MailSettings {
  /** Switch-on time of each type, epoch milliseconds; types that are off are missing. */
  readonly types: Readonly<Record<string, number>>;
  /** Encrypted recipients of test mode; null: none. */
  readonly testTo: SealedAddresses | null;
  /** Domains that senders of mails may have, in lower case, sorted. */
  readonly domains: readonly string[];
}

/** A list encrypted as a whole. Equal digests mean equal lists. */
export interface SealedAddresses {
  readonly sealed: string;
  readonly digest: string;
}

/** All settings after the change. */
export interface MailSettingsChanged {
  readonly type: 'MailSettingsChanged';
  readonly at: number;
  readonly types: readonly string[];
  readonly testTo: SealedAddresses | null;
  /** Missing: none. */
  readonly domains?: readonly string[];
}

/** Missing members keep their value. */
export interface ChangeMailSettings {
  readonly type: 'ChangeMailSettings';
  readonly types?: readonly string[];
  readonly testTo?: SealedAddresses | null;
  readonly domains?: readonly string[];
  readonly now: number;
}

export const NO_MAILS: MailSettings = { types: {}, testTo: null, domains: [] };

/** A type that stays on keeps its time. */
export const mailSettingsAfter = (
  { types: before }: MailSettings,
  { types, testTo, domains = [], at }: MailSettingsChanged,
): MailSettings => ({
  types: Object.fromEntries(types.map((type) => [type, ownMember(before, type) ?? at])),
  testTo,
  domains,
});

export function changeMailSettings(
  settings: MailSettings,
  { types, testTo, domains: named, now: at }: ChangeMailSettings,
): readonly MailSettingsChanged[] {
  const before = Object.keys(settings.types).sort();
  const after = types === undefined ? before : [...new Set(types)].sort();
  const list = testTo === undefined ? settings.testTo : testTo;
  const domains =
    named === undefined
      ? settings.domains
      : [...new Set(named.map((domain) => domain.toLowerCase()))].sort();
  const isSame =
    after.join() === before.join() &&
    list?.digest === settings.testTo?.digest &&
    domains.join() === settings.domains.join();
  const some = domains.length > 0 ? { domains } : {};
  return isSame ? [] : [{ type: 'MailSettingsChanged', at, types: after, testTo: list, ...some }];
}
