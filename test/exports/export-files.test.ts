// Over 5 s: 84 files of a history of 600 steps, read back.
import { randomInt } from 'node:crypto';
import fc from 'fast-check';
import { stringify } from 'csv-stringify/sync';
import {
  EXPORT_FORMATS,
  EXPORT_TYPES,
  type ExportFilters,
  type ExportType,
} from '../../src/exports/export-order.js';
import {
  accountOpened,
  anAccount,
  credit,
  partyOf,
  referralCodeAssigned,
  referralStarted,
  rewardGranted,
  userIdentified,
} from '../support/account-events.js';
import { AccountHistory, historyStepWithErasures } from '../support/account-history.js';
import { ProjectedLedger } from '../support/projected-ledger.js';
import { expectedRows } from './support/expected-rows.js';
import {
  onlyEntry,
  partsOf,
  PUBLIC_URL,
  readCsv,
  readSheets,
  sha256,
  writtenFile,
} from './support/written-file.js';
import { openOnce } from '../support/opened.js';

/**
 * Files of every type, filter and format against the rows of the read models, by code that what
 * writes them shares nothing with.
 */

const RUN = 'acme';
const scope = { tenant: RUN, mode: 'live' } as const;
const projected = openOnce(() => ProjectedLedger.open(), 'close');
const parts = openOnce(() => partsOf(projected, projected.startRunner()));

const TEXTS = [
  '=1+1',
  '+1',
  '-1',
  '@sum',
  '\tx',
  '\rx',
  '\u{FF1D}1',
  '\u{FF0B}1',
  '\u{FF0D}1',
  '\u{FF20}1',
  'a,b',
  'a"b',
  '"',
  "'",
  'a\nb\r\nc\rd\n\ne',
  '\n',
  ' padded ',
  '\u202Eright to left\u200F',
  '😀👩‍👩‍👧',
  'é\u0301',
  '\\.',
  '\\N',
  '\u001F\u0007',
  '_x0041_',
  '\uFFFE',
  '<&>',
  'null',
  '007',
  '1e5',
  'x'.repeat(65_536),
  '-7',
  '-7.50',
  '-7 000',
  '-7\n',
  `${'x'.repeat(32_766)}😀`,
] as const;

const HEADERS: Readonly<Record<string, readonly string[]>> = {
  USER: 'id accountId email firstName lastName imageUrl firstSeenIP lastSeenIP dateCreated emailHash referralSource locale shareLink facebookShareLink twitterShareLink emailShareLink linkedinShareLink referralCode segments'.split(
    ' ',
  ),
  REFERRAL:
    'id programId referredUser referredAccount referredReward referredModerationStatus referrerUser referrerAccount referrerReward referrerModerationStatus dateReferralStarted dateConverted dateReferralPaid dateReferralEnded dateModerated'.split(
      ' ',
    ),
  USER_REWARD_BALANCE: ['userId', 'accountId', 'type', 'amount', 'unit'],
  REWARD_BALANCE: ['userId', 'accountId', 'type', 'amount', 'unit', 'pending'],
  REWARD:
    'id type userId accountId unit amount rewardSource dateGiven dateExpires dateCancelled redeemedCredit availableCredit currency name programId dateScheduledFor'.split(
      ' ',
    ),
};

const headersOf = (type: ExportType): readonly string[] =>
  HEADERS[type] ?? HEADERS[type.replace('USER_', '')] ?? [];

beforeAll(async () => {
  const history = new AccountHistory(RUN);
  const seed = randomInt(2 ** 31);
  const steps = fc.sample(historyStepWithErasures, { numRuns: 600, seed });
  for (const step of steps) {
    const next = history.next(step);
    if (next) await projected.ledger.happened(...next);
  }
  for (const [place, text] of TEXTS.entries()) {
    const account = anAccount(place === 14 ? 'line' : `${text}-a`, { ...scope });
    const user = `${text}-u`;
    await projected.ledger.happened(
      account,
      accountOpened(account),
      userIdentified(
        account,
        user,
        {
          email: `${text}Ä@İx.example`,
          firstName: text,
          lastName: text,
          imageUrl: `https://x.example/${place}`,
          locale: 'en_US',
          firstSeenIP: '::1',
          lastSeenIP: '10.0.0.1',
          referralSource: text,
          segments: place % 2 === 0 ? [text, 'b'] : [],
          customFields: {
            [`field_${place % 7}`]: text,
            id: place,
            email: place % 2 === 0,
            negative: -(place + 1) / 10,
            large: place === 0 ? 1e21 : place === 1 ? -1.5e300 : 123_456_789_012_345_680_000,
            empty: '',
          },
        },
        50_000 + place,
      ),
      referralCodeAssigned(account, user, `CODE${place}`, 60_000 + place),
      referralCodeAssigned(account, user, `OTHER${place}`, 60_001 + place, 'other'),
      rewardGranted(
        `w-${place}`,
        partyOf(account, user),
        credit(2 ** 53 - 1 - place, text.slice(0, 64)),
        {
          at: 70_000,
          dateExpires: place === 0 ? 8.64e15 : place === 1 ? 1_798_356_496_107 : null,
          programId: place % 2 === 0 ? 'other' : 'default',
        },
      ),
      referralStarted(`f-${place}`, partyOf(account, user), partyOf(account, user), {
        at: 80_000,
        programId: place % 2 === 0 ? 'other' : 'default',
      }),
    );
  }
}, 120_000);

const FILTERS: readonly ExportFilters[] = [
  {},
  { createdSince: 50_003 },
  { createdBefore: 50_003 },
  { createdSince: 2_000, createdBefore: 50_010 },
  { createdSince: 50_010, createdBefore: 50_000 },
  { updatedSince: 60_010 },
  { updatedBefore: 60_010 },
  { updatedSince: 2_000, updatedBefore: 60_005 },
  { createdOrUpdatedSince: 50_004, createdOrUpdatedBefore: 60_007 },
  { createdOrUpdatedBefore: 60_007 },
  { createdOrUpdatedSince: 70_000 },
  { programId: 'other' },
  { programId: `';--`, createdSince: 0 },
  { programId: 'default', updatedSince: 0, createdBefore: 75_000, createdOrUpdatedSince: 3_000 },
];

const LIKE_NUMBER = /^-?\d+(\.\d+)?$/;
const onOneLine = (text: string): string => text.replace(/\r\n|\r|\n/g, ' ');

async function expectedTable(type: ExportType, filters: ExportFilters) {
  const rows = await expectedRows(projected.pool, type, { scope, publicUrl: PUBLIC_URL }, filters);
  const fixed = headersOf(type);
  const names = new Set(rows.flatMap((row) => Object.keys(row)));
  for (const header of fixed) names.delete(header);
  const bare = (name: string): string => name.replace('customFields.', '');
  const custom = [...names].sort((a, b) => (bare(a) < bare(b) ? -1 : 1));
  const headers = [...fixed, ...custom];
  return { headers, rows: rows.map((row) => headers.map((header) => row[header] ?? null)) };
}

describe.each(EXPORT_TYPES)('a file of %s', (type) => {
  test.each(FILTERS)('as CSV has the bytes that the reference writes, by %j', async (filters) => {
    const notBefore = await projected.log.head();
    const order = { scope, type, format: 'CSV', filters } as const;
    const { bytes, written, progress } = await writtenFile(parts, order, { notBefore });
    const { headers, rows } = await expectedTable(type, filters);
    const cells = rows.map((row) =>
      row.map((cell) => (typeof cell === 'string' ? onOneLine(cell) : cell)),
    );
    const plain = (value: string) => ({ value, escape_formulas: false });
    const reference = stringify([[...headers], ...cells], {
      escape_formulas: true,
      cast: { string: (cell) => (LIKE_NUMBER.test(cell) ? plain(cell) : cell) },
    });
    expect(bytes.toString()).toBe(reference);
    expect(written).toEqual({
      position: notBefore,
      rows: rows.length,
      bytes: bytes.length,
      sha256: sha256(bytes),
    });
    expect(progress.at(-1)).toEqual([rows.length, rows.length]);
  });

  test.each([{}, { createdSince: 50_003, programId: 'other' }])(
    'as XLSX holds the same cells, by %j',
    async (filters) => {
      const notBefore = await projected.log.head();
      const order = { scope, type, format: 'XLSX', filters } as const;
      const { bytes, written, chunkMax } = await writtenFile(parts, order, { notBefore });
      const { headers, rows } = await expectedTable(type, filters);
      expect(chunkMax).toBeLessThanOrEqual(256 * 1024);
      expect(written).toEqual({
        position: notBefore,
        rows: rows.length,
        bytes: bytes.length,
        sha256: sha256(bytes),
      });
      expect(onlyEntry(bytes).name).toBe(`${type}.xlsx`);
      const [sheet, ...others] = await readSheets(bytes);
      expect(others).toEqual([]);
      const cells = rows.map((row) =>
        row.map((cell) => {
          if (typeof cell === 'number')
            return Math.abs(cell) > 999_999_999_999_999 ? String(cell) : cell;
          return cell === null || cell === ''
            ? null
            : onOneLine(cell)
                .replaceAll('\uFFFE', '\uFFFD')
                .slice(0, 32_767)
                .replace(/\uD83D$/, '');
        }),
      );
      expect(sheet?.data).toEqual([headers, ...cells]);
    },
  );

  test.each(EXPORT_FORMATS)(
    'as %s has dates in ISO 8601 where they are requested',
    async (format) => {
      const order = { scope, type, format, filters: {}, dates: 'ISO_8601' } as const;
      const { bytes } = await writtenFile(parts, order, { notBefore: await projected.log.head() });
      const { headers, rows } = await expectedTable(type, {});
      const dates = rows.map((row) =>
        headers.flatMap((header, place) => {
          const cell = row[place];
          if (!header.startsWith('date')) return [];
          return [typeof cell === 'number' ? new Date(cell).toISOString() : null];
        }),
      );
      const [head = [], ...found] =
        format === 'CSV' ? readCsv(bytes) : ((await readSheets(bytes))[0]?.data ?? []);
      const ofDates = (row: readonly unknown[]) =>
        row.filter((_, place) => String(head[place]).startsWith('date'));
      expect(found.map((row) => ofDates(row).map((cell) => (cell === '' ? null : cell)))).toEqual(
        dates,
      );
    },
  );

  test.each(EXPORT_FORMATS)('as %s is the same bytes for the same state', async (format) => {
    const order = { scope, type, format, filters: {} };
    const notBefore = await projected.log.head();
    const first = await writtenFile(parts, order, { notBefore });
    const second = await writtenFile(parts, order);
    expect(second.bytes.equals(first.bytes)).toBe(true);
    expect(second.written).toEqual(first.written);
  });
});
