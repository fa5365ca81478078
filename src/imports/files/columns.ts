import type { ImportKind } from '../rows/import-rows.js';
import { FileFault } from './file-blocks.js';

/** The type of a column's values. */
export type ColumnType = 'text' | 'date' | 'integer' | 'boolean' | 'segments' | 'fields';

const typed = (type: ColumnType, names: string): readonly (readonly [string, ColumnType])[] =>
  names.split(' ').map((name) => [name, type] as const);

const COLUMNS: Readonly<Record<ImportKind, ReadonlyMap<string, ColumnType>>> = {
  users: new Map([
    ...typed('text', 'id accountId email firstName lastName locale countryCode imageUrl'),
    ...typed('text', 'referralCode paymentProviderId accountStatus accountCurrency'),
    ...typed('date', 'dateCreated'),
    ...typed('segments', 'segments'),
    ...typed('boolean', 'blocked'),
  ]),
  referrals: new Map([
    ...typed('text', 'referredAccount referredUser referrerAccount referrerUser id programId'),
    ...typed('text', 'referralCodeUsed referredModerationStatus referrerModerationStatus'),
    ...typed('text', 'referredReward referrerReward'),
    ...typed('date', 'dateReferralStarted dateReferralPaid dateReferralEnded'),
  ]),
  rewards: new Map([
    ...typed('text', 'type accountId userId id unit currency fuelTankCode fuelTankType name'),
    ...typed('text', 'rewardSource programId'),
    ...typed('integer', 'amount redeemed discountPercent'),
    ...typed('date', 'dateGiven dateScheduledFor dateExpires dateCancelled'),
    ...typed('boolean', 'cancellable'),
  ]),
};

/** Fields that a column must become. */
export const REQUIRED: Readonly<Record<ImportKind, readonly string[]>> = {
  users: ['id', 'accountId'],
  referrals: ['referredAccount', 'referredUser', 'referrerAccount', 'referrerUser'],
  rewards: ['type', 'accountId', 'userId'],
};

export const fieldsOfKind = (kind: ImportKind): readonly string[] => [...COLUMNS[kind].keys()];

/** Columns with a value in each row; those of a deleted referrer are empty. */
export const filledColumns = (kind: ImportKind): readonly string[] =>
  REQUIRED[kind].filter((name) => !name.startsWith('referrer'));

/** Columns of exports that are not imported. */
const SKIPPED: ReadonlySet<string> = new Set(
  (
    'shareLink facebookShareLink twitterShareLink emailShareLink linkedinShareLink emailHash ' +
    'firstSeenIP lastSeenIP referralSource dateConverted dateModerated availableCredit'
  ).split(' '),
);

/** The header of a USER export; later columns are custom fields. */
const USER_EXPORT = (
  'id accountId email firstName lastName imageUrl firstSeenIP lastSeenIP dateCreated emailHash ' +
  'referralSource locale shareLink facebookShareLink twitterShareLink emailShareLink ' +
  'linkedinShareLink referralCode segments'
).split(' ');

export const CUSTOM = 'customFields.';

/** Columns that are listed in one line. */
const SHOWN_MAX = 20;

/** Maps the columns of a file to fields. */
export class Columns {
  /** Columns without a field. */
  private readonly unknown = new Set<string>();
  private readonly seen = new Set<string>();

  /** @param map the operator's columns and fields. @throws {FileFault} for an unknown field. */
  constructor(
    readonly kind: ImportKind,
    private readonly map: ReadonlyMap<string, string>,
  ) {
    for (const [column, field] of map)
      if (this.typeOf(field) === undefined)
        throw new FileFault(
          `${column} cannot be ${field}: the fields of ${kind} are ${[...COLUMNS[kind].keys()].join(', ')}${kind === 'users' ? ` and ${CUSTOM}<name>` : ''}`,
        );
  }

  /** Undefined: unknown field. */
  typeOf(field: string): ColumnType | undefined {
    if (this.kind !== 'users' || !field.startsWith('customFields'))
      return COLUMNS[this.kind].get(field);
    return field === 'customFields' ? 'fields' : field.startsWith(CUSTOM) ? 'text' : undefined;
  }

  /**
   * The field of each column; undefined: ignored.
   * @throws {FileFault} for a missing required column, and a repeated column or field.
   */
  ofHeader(header: readonly string[]): readonly (string | undefined)[] {
    const isUserExport =
      this.kind === 'users' && USER_EXPORT.every((name, place) => header[place] === name);
    const fields = header.map((column, place) => {
      const field = this.fieldOf(column, isUserExport && place >= USER_EXPORT.length);
      if (field !== 'customFields') return field;
      // An object, which a cell cannot contain.
      this.note(this.unknown, column);
      return undefined;
    });
    const named = header.filter((column) => column !== '');
    const twice = firstTwice(named) ?? firstTwice(fields.filter((field) => field !== undefined));
    if (twice !== undefined) throw new FileFault(`the header has ${JSON.stringify(twice)} twice`);
    this.checkSeen();
    return fields;
  }

  /** Undefined: the column is ignored. */
  fieldOf(column: string, isCustom = false): string | undefined {
    this.note(this.seen, column);
    const mapped = this.map.get(column);
    if (mapped !== undefined) return mapped;
    if (isCustom) return column.startsWith(CUSTOM) ? column : `${CUSTOM}${column}`;
    if (this.kind === 'rewards' && column === 'redeemedCredit') return 'redeemed';
    if (this.typeOf(column) !== undefined) return column;
    if (column !== '' && !SKIPPED.has(column)) this.note(this.unknown, column);
    return undefined;
  }

  /** Checks the columns of the header, or of the rows without one. @throws {FileFault} */
  checkSeen(): void {
    const lacking = [...this.map.keys()].find((column) => !this.seen.has(column));
    if (lacking !== undefined)
      throw new FileFault(`the file has no column ${JSON.stringify(lacking)} to map`);
  }

  /** @throws {FileFault} for a header without a required column. */
  checkRequired(fields: readonly (string | undefined)[]): void {
    const missing = REQUIRED[this.kind].filter((name) => !fields.includes(name));
    if (missing.length > 0)
      throw new FileFault(`the header has no column ${missing.join(', ')}; --map names another`);
  }

  /** Whether a column has the field. */
  has(field: string): boolean {
    return [...this.seen].some((column) => this.fieldOf(column) === field);
  }

  /** The ignored columns in one line; undefined: none. */
  ignored(): string | undefined {
    const names = [...this.unknown];
    if (names.length === 0) return undefined;
    const more = names.length > SHOWN_MAX ? ` and ${names.length - SHOWN_MAX} more` : '';
    return `ignored columns: ${names.slice(0, SHOWN_MAX).join(', ')}${more}`;
  }

  /** Bounded, because JSON lines may contain ever new members. */
  private note(names: Set<string>, name: string): void {
    if (names.size < NAMES_MAX) names.add(name);
  }
}

const NAMES_MAX = 10_000;

const firstTwice = (names: readonly string[]): string | undefined =>
  names.find((name, place) => names.indexOf(name) !== place);
