/** Which mails of a tenant go out. */
import { ownMember } from '../own-member.js';
export interface MailSettings {
  /** Since when each type is switched on, epoch milliseconds; types that are off are missing. */
  readonly types: Readonly<Record<string, number>>;
  /** Where the test mode may send, encrypted; null: nowhere. */
  readonly testTo: SealedAddresses | null;
  /** The domains that mails may name as their sender, in lower case, sorted. */
  readonly domains: readonly string[];
}

/** A list of addresses, encrypted as a whole. Equal digests mean equal lists. */
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

/** Missing members stay as they are. */
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
