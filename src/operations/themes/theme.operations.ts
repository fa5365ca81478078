import * as z from 'zod';
import { MAIL_TYPES } from '../../themes/theme-instance.js';
import { LOCALE } from '../../themes/theme-locale.js';
import { THEME_DOCUMENT, THEME_VALUES } from '../../themes/theme-schema.js';
import { given, help, text, wholeNumber } from '../registry/members.js';
import { ledgerOperation, type Operation, recordedOperation } from '../registry/operation.js';
import { get, post, put } from '../registry/routes.js';
import {
  HISTORY_MAX,
  putTheme,
  rollBackTheme,
  showTheme,
  showThemeHistory,
} from './theme-commands.js';
import { previewTheme } from './theme-preview.js';

const locale = help(
  text
    .meta({ pattern: `^${LOCALE}$` })
    .nullable()
    .default(null),
  'such as fr or fr_CA; without one: the default',
);
const version = wholeNumber(Number.MAX_SAFE_INTEGER);
/** The theme checks them, with a line for each fault. */
const values = z
  .unknown()
  .refine((value) => value !== undefined)
  .meta(THEME_DOCUMENT);

const saidOf = ({ version: current, changed }: { version: number; changed: boolean }): string =>
  changed ? `version ${current}` : `nothing changed: version ${current} has these values`;

export const operations: readonly Operation[] = [
  ledgerOperation({
    name: 'theme get',
    summary: 'the theme as it is shown (always JSON)',
    members: { locale, version: help(version.optional(), 'the own values of a version instead') },
    roles: ['support'],
    route: { ...get('themes/{tenant}', 'THEME_NOT_FOUND'), schema: THEME_VALUES },
    examples: ['theme get acme --locale de > theme.json'],
    run: ({ core, scope }, request) => showTheme(core, scope, request),
  }),
  recordedOperation({
    name: 'theme put',
    summary: 'replaces the values',
    members: {
      locale,
      values: given(values, {
        option: 'file',
        placeholder: 'file',
        file: 'json',
        help: 'a JSON document with the values',
      }),
    },
    roles: ['support'],
    route: { ...put('themes/{tenant}', 'THEME_INVALID'), body: 'values' },
    examples: ['theme put acme --locale de --file theme.json'],
    record: ({ core, meta }, request) => putTheme(core, meta, request),
    said: saidOf,
  }),
  ledgerOperation({
    name: 'theme history',
    summary: 'versions, newest first',
    members: {
      locale,
      limit: help(wholeNumber(HISTORY_MAX).default(100), `entries to show, up to ${HISTORY_MAX}`),
    },
    roles: ['support'],
    route: get('themes/{tenant}/history'),
    examples: ['theme history acme --limit 5'],
    run: ({ core, scope }, request) => showThemeHistory(core, scope, request),
    columns: [
      ['version', 'version', 'amount'],
      'created',
      'by',
      [
        'what',
        ({ removed, restores }) =>
          removed ? 'removed' : restores === null ? 'published' : `version ${restores} again`,
      ],
    ],
  }),
  recordedOperation({
    name: 'theme rollback',
    summary: "makes a version's values current again, as a new version",
    members: { locale, version: help(version, 'as `theme history` shows it') },
    roles: ['support'],
    route: post('themes/{tenant}/rollback', 'THEME_NOT_FOUND', 'THEME_INVALID'),
    examples: ['theme rollback acme --version 2'],
    record: ({ core, meta }, request) => rollBackTheme(core, meta, request),
    said: saidOf,
  }),
  ledgerOperation({
    name: 'theme preview',
    summary: 'a mail with sample values, as HTML',
    members: {
      type: help(z.enum(MAIL_TYPES), MAIL_TYPES.join(', ')),
      locale,
      out: given(text.default('-'), {
        placeholder: 'file',
        help: 'where to; - is standard output',
      }),
    },
    roles: ['support'],
    examples: ['theme preview acme --type REWARD_EARNED --out mail.html'],
    run: previewTheme,
    print: ({ html }, printer) => html !== null && printer.line(html.trimEnd()),
  }),
];
