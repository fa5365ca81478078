import { usersProjector } from '../../../projections/users/projector.js';
import { ShareLinks } from '../../presenting/share-links.js';
import type { ExportDates } from '../export-order.js';
import {
  dateColumn,
  type ExportColumn,
  type ExportedRows,
  type ExportedTenant,
} from './exported-rows.js';

/** Placeholder for a code in a link; the rest of the link does not contain it. */
const ANY_CODE = 'ANY0CODE0';

/** The white space that JavaScript's `trim` removes. */
const WHITE_SPACE = `U&'\\0009\\000A\\000B\\000C\\000D\\0020\\00A0\\1680\\2000\\2001\\2002\\2003\\2004\\2005\\2006\\2007\\2008\\2009\\200A\\2028\\2029\\202F\\205F\\3000\\FEFF'`;

const SEPARATOR = `U&'\\001F'`;

/**
 * The address in lower case. `lower` depends on the database's locale except for ASCII in collation
 * C; other addresses are the first part of the lower-case search text.
 */
const LOWER_EMAIL = `case when octet_length(r.email) = char_length(r.email) then lower(r.email collate "C")
  else array_to_string((string_to_array(r.searched, ${SEPARATOR}))[1:cardinality(string_to_array(r.email, ${SEPARATOR}))], ${SEPARATOR}) end`;

const profile = (member: string): ExportColumn => ({
  header: member,
  kind: 'text',
  value: `r.fields ->> '${member}'`,
});

/** The segments separated by spaces; without escapes, the array's text is used, which is faster. */
const SEGMENTS = `case when strpos(r.fields ->> 'segments', E'\\\\') = 0
  then replace(left(right(r.fields ->> 'segments', -2), -2), '", "', ' ')
  else (select string_agg(segment, ' ' order by place) from jsonb_array_elements_text(r.fields -> 'segments') with ordinality s (segment, place)) end`;

const LINKS = [
  'shareLink',
  'facebookShareLink',
  'twitterShareLink',
  'emailShareLink',
  'linkedinShareLink',
] as const;

/** For example `shareLink` to `share_link`. */
const nameOf = (link: string): string => link.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);

const fixed = (dates: ExportDates): readonly ExportColumn[] => [
  { header: 'id', kind: 'text', value: 'r.user_id' },
  { header: 'accountId', kind: 'text', value: 'r.account_id' },
  { header: 'email', kind: 'text', value: 'r.email' },
  { header: 'firstName', kind: 'text', value: 'r.first_name' },
  { header: 'lastName', kind: 'text', value: 'r.last_name' },
  profile('imageUrl'),
  profile('firstSeenIP'),
  profile('lastSeenIP'),
  dateColumn('dateCreated', 'r.date_created', dates),
  { header: 'emailHash', kind: 'plain', value: `md5(btrim(${LOWER_EMAIL}, ${WHITE_SPACE}))` },
  profile('referralSource'),
  profile('locale'),
  ...LINKS.map((link): ExportColumn => ({
    header: link,
    kind: 'plain',
    value: `r.before_code || r.code || r.after_${nameOf(link)}`,
  })),
  { header: 'referralCode', kind: 'plain', value: 'r.code' },
  {
    header: 'segments',
    kind: 'text',
    value: SEGMENTS,
  },
];

const FIXED_HEADERS: ReadonlySet<string> = new Set(fixed('EPOCH_MS').map(({ header }) => header));

/** A row per user, with a column per custom field. */
export function userRows(
  { scope, defaultProgramId, publicUrl }: ExportedTenant,
  dates: ExportDates,
): ExportedRows {
  return {
    readModel: usersProjector,
    persons: ['r.person'],
    columns: fixed(dates),
    // Merging with an empty object decompresses a profile once for all columns.
    select: ({ table, isGone, given }) => `select r.*, a.account_id, r.profile || '{}' as fields,
      r.primary_codes ->> ${given(defaultProgramId)} as code,
      ${linkParts(new ShareLinks(publicUrl, scope))
        .map(([name, part]) => `${given(part)} as ${name}`)
        .join(', ')}
      from ${table('users')} r left join ${table('user_accounts')} a on a.account_ref = r.account_ref
      where not ${isGone('r.person')}`,
    created: 'r.date_created',
    changed: 'r.date_changed',
    order: 'r.date_created, r.person collate "C"',
    fields: {
      names: `jsonb_object_keys(r.profile -> 'customFields')`,
      values: `r.fields -> 'customFields'`,
      header: (name) => (FIXED_HEADERS.has(name) ? `customFields.${name}` : name),
    },
  };
}

/** The parts of links before and after the code, by column. */
function linkParts(links: ShareLinks): readonly (readonly [column: string, part: string])[] {
  const flat = links.flat(ANY_CODE);
  const place = flat.shareLink.lastIndexOf(ANY_CODE);
  return [
    ['before_code', flat.shareLink.slice(0, place)],
    ...LINKS.map((link) => {
      const [, after = ''] = flat[link].split(ANY_CODE);
      return [`after_${nameOf(link)}`, after] as const;
    }),
  ];
}
