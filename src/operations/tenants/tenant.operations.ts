import { modeOf } from '../../domain/scope.js';
import * as z from 'zod';
import { COUNTED_CALLS, PUBLIC_USERS, type CountedCall } from '../../domain/tenant/open-rules.js';
import { DEFAULT_PROGRAM } from '../../domain/tenant/program-document.js';
import { shownFormats, type UnitFormat } from '../../domain/tenant/unit-settings.js';
import { MAIL_TYPES } from '../../themes/theme-instance.js';
import { auditedOn } from '../audited.js';
import { duration, given, help, msOf, text } from '../registry/members.js';
import {
  type Operation,
  recordedOperation,
  recordedTenantOperation,
  serviceOperation,
  tenantOperation,
} from '../registry/operation.js';
import { get, put } from '../registry/routes.js';
import { programOf } from './apply-program.js';
import { clockOperations } from './clock.operations.js';
import { tenantNamed } from './tenant-operation.js';
import { OF_CREDIT, printTenant, settingsDocument, tenantDocument } from './tenant-document.js';
import {
  changedUnits,
  changeFormats,
  formatList,
  formatWords,
  grantLimitWords,
} from './unit-settings.js';
import {
  changeSettings,
  digestOfSettings,
  isOrigin,
  rotateWithAudit,
  settingsOf,
  suspendWithAudit,
  type TenantSettings,
} from './tenant-settings.js';
import { decided, notDone } from '../outcome.js';

const grace = help(duration.default('24h'), 'how long the one before stays valid; 0 ends it now');
const flag = (text: string) => help(z.boolean().optional(), text);
const list = (item: z.ZodType<string>, text: string, placeholder: string) =>
  given(z.array(item).optional(), { help: text, placeholder });

const origin = z
  .string()
  .refine(
    (value) => value === '*' || isOrigin(value),
    'takes origins such as https://shop.example, or * alone',
  );
const callLimit = z
  .string()
  .refine(
    (value) => limitIn(value) !== undefined,
    `takes call=number, with a call of ${COUNTED_CALLS.join(', ')}`,
  );

const UNITS = { name: 'tenant units', examples: ['tenant units acme --set CENTS=USD:2'] } as const;

export const operations: readonly Operation[] = [
  tenantOperation({
    name: 'tenant create',
    summary: 'creates a tenant; its keys are shown only now',
    members: {
      program: given(z.unknown().optional(), {
        file: 'json',
        help: 'a program file in place of the default program',
      }),
      paymentProvider: help(z.boolean().default(false), 'accounts come from a payment provider'),
      openEndpoints: help(z.boolean().default(false), 'switch the open endpoints on'),
    },
    examples: ['tenant create acme --program program.json'],
    isRecorded: true,
    run: ({ core, by, note, warn }, { tenant: alias, ...asked }) => {
      const scope = { tenant: alias, mode: 'live' } as const;
      return auditedOn(core, { scope, by, operation: 'tenant create', warn }, async (_, meta) => {
        const { program, paymentProvider, openEndpoints } = asked;
        const document = program === undefined ? DEFAULT_PROGRAM : programOf(program);
        const result = await core.tenantCommands.by(meta.actor).create({
          alias,
          programType: paymentProvider ? 'PAYMENT_PROVIDER' : 'API_ONLY',
          openEndpoints,
          program: document,
        });
        if ('refused' in result && result.refused === 'TENANT_EXISTS')
          throw notDone(`there is a tenant ${alias} already`);
        const keys = decided(result);
        note('These secrets are shown this once.');
        return { result: keys, parameters: {}, digest: 'secret', completed: `${alias} is created` };
      });
    },
  }),
  serviceOperation({
    name: 'tenant list',
    summary: 'all tenants',
    examples: ['tenant list --json'],
    run: async ({ core }) => (await core.tenantCommands.list()).map(tenantDocument),
    columns: [
      'alias',
      ['program type', 'programType'],
      ['open endpoints', ({ openEndpoints }) => (openEndpoints ? 'on' : 'off')],
      ['programs', ({ programs }) => programs.map(({ id }) => id).join(', ')],
    ],
  }),
  tenantOperation({
    name: 'tenant show',
    summary: 'the settings of a tenant, without secrets',
    examples: ['tenant show acme'],
    run: async ({ core }, { tenant }) => settingsDocument(core, await tenantNamed(core, tenant)),
    print: printTenant,
  }),
  recordedTenantOperation({
    name: 'tenant update',
    summary: 'changes the settings of a tenant',
    members: {
      openEndpoints: flag('the open endpoints'),
      paymentProvider: flag('accounts come from a payment provider'),
      tokensMustExpire: given(z.boolean().optional(), {
        option: 'token-expiry',
        help: 'user tokens must have exp',
      }),
      allowedOrigins: given(
        list(origin, 'the only origins whose pages may read open endpoints; * for all', 'origin'),
        { option: 'allow-origin' },
      ),
      rateLimits: given(
        list(
          callLimit,
          `calls of a client in a window: ${COUNTED_CALLS.join(', ')}`,
          'call=number',
        ),
        { option: 'rate-limit' },
      ),
      tokensNotBefore: help(
        text.optional(),
        'refuse user tokens that were issued before; none for tokens of any age',
      ),
      publicUser: help(
        z.enum(PUBLIC_USERS).optional(),
        'the fields of GET /open/user; minimal: without e-mail and last name',
      ),
      mail: list(
        z.enum([...MAIL_TYPES, 'none']),
        `the mails that go out: ${MAIL_TYPES.join(', ')}; none for none`,
        'type',
      ),
      mailTestTo: list(z.string(), 'the only addresses of the test mode; none for none', 'address'),
      mailDomains: list(
        z.string(),
        'the domains that mails may name as their sender; none for none',
        'domain',
      ),
      grantLimits: given(grantLimitWords.optional(), {
        option: 'grant-limit',
        help: 'what one operator of support may grant to an account in 24 hours; unit=none for the default: 100.00 of a unit with a currency, otherwise 10,000',
        placeholder: 'unit=n',
      }),
    },
    rules: [
      {
        check: (request) =>
          Object.keys(request).every((name) => name === 'tenant')
            ? 'nothing to change was named: see tenant update --help'
            : undefined,
      },
    ],
    examples: [
      'tenant update acme --open-endpoints',
      'tenant update acme --allow-origin https://shop.example',
    ],
    record: async ({ core, meta }, { tenant: alias, ...changes }) => {
      const tenant = await tenantNamed(core, alias);
      const before = await settingsOf(core, tenant);
      const settings = changed(before, changes);
      const done = await changeSettings(core, meta, { settings, seen: digestOfSettings(before) });
      const after = (await core.tenants.read(alias)) ?? tenant;
      return { ...done, result: await settingsDocument(core, after) };
    },
    print: printTenant,
  }),
  rotation('rotate-key', 'API key'),
  rotation('rotate-secret', 'signing secret'),
  recordedTenantOperation({
    name: 'tenant suspend',
    summary: 'refuses every request of a tenant; the data stay',
    members: { reason: help(text, 'why') },
    examples: ['tenant suspend acme --reason "invoice 4711 is unpaid"'],
    record: ({ core, meta }, { reason }) => suspendWithAudit(core, meta, reason),
    print: printTenant,
  }),
  recordedTenantOperation({
    name: 'tenant resume',
    summary: 'ends the suspension of a tenant',
    examples: ['tenant resume acme'],
    record: ({ core, meta }) => suspendWithAudit(core, meta, null),
    print: printTenant,
  }),
  tenantOperation({
    ...UNITS,
    summary: 'how people see the amounts of each unit',
    members: {
      set: given(formatWords.optional(), {
        only: 'cli',
        help: 'the currency of a unit and its digits; unit=none for none',
        placeholder: 'unit=currency:digits',
      }),
    },
    roles: ['finance', 'support'],
    isRecorded: true,
    route: get('tenants/{tenant}/units'),
    run: async ({ core, by, warn }, { tenant: alias, set: changes }) => {
      const tenant = await tenantNamed(core, alias);
      if (changes === undefined) return shownFormats(tenant.units.formats);
      const scope = { tenant: alias, mode: 'live' } as const;
      return auditedOn(core, { scope, by, operation: UNITS.name, warn }, () =>
        changeFormats(core, tenant, changedUnits(tenant.units.formats, changes)),
      );
    },
    columns: ['unit', ['currency', ({ currency }) => currency ?? OF_CREDIT], 'digits'],
  }),
  recordedTenantOperation({
    ...UNITS,
    isRouteOnly: true,
    summary: 'replaces the formats of all units',
    members: { units: formatList },
    roles: ['support'],
    route: put('tenants/{tenant}/units'),
    record: async ({ core }, { tenant: alias, units: changes }) => {
      const tenant = await tenantNamed(core, alias);
      return changeFormats(core, tenant, changedUnits<UnitFormat>([], changes));
    },
    columns: [],
  }),
  ...clockOperations,
];

function rotation(command: 'rotate-key' | 'rotate-secret', what: string): Operation {
  const isKey = command === 'rotate-key';
  return recordedOperation({
    name: `tenant ${command}`,
    summary: `a new ${what}; the one before stays valid for the grace period`,
    members: { grace },
    examples: [
      isKey
        ? 'tenant rotate-key acme --mode test --grace 24h'
        : 'tenant rotate-secret acme --grace 7d',
    ],
    record: async ({ core, meta, scope, note }, { grace: period }) => {
      const asked = { what: isKey ? 'key' : 'secret', graceMs: msOf(period) } as const;
      const done = await rotateWithAudit(core, meta, asked);
      note(`This ${what} is shown this once. The one before stays valid for ${period}.`);
      const member = `${modeOf(scope.mode)}${isKey ? 'ApiKey' : 'SigningSecret'}`;
      return { ...done, result: { alias: scope.tenant, [member]: done.result.secret } };
    },
  });
}

interface Changes extends Partial<Omit<TenantSettings, 'rateLimits' | 'grantLimits'>> {
  readonly rateLimits?: readonly string[];
  readonly grantLimits?: z.output<typeof grantLimitWords>;
}

/** `code=5`: a kind of call and its number; undefined: neither. */
function limitIn(text: string): readonly [CountedCall, string] | undefined {
  const [, name, calls] = /^([a-z-]+)=(\d{1,9})$/.exec(text) ?? [];
  const call = COUNTED_CALLS.find((known) => known === name);
  return call === undefined || calls === undefined ? undefined : [call, calls];
}

/** The settings with the changes of a command; `none` and `*` stand for the empty list. */
const changed = (
  before: TenantSettings,
  { rateLimits, grantLimits = [], ...changes }: Changes,
): TenantSettings => ({
  ...before,
  ...changes,
  rateLimits: {
    ...before.rateLimits,
    ...Object.fromEntries((rateLimits ?? []).map(limitIn).filter((limit) => limit !== undefined)),
  },
  grantLimits: changedUnits(before.grantLimits, grantLimits),
  allowedOrigins: listIn(changes.allowedOrigins ?? before.allowedOrigins, '*'),
  mail: listIn(changes.mail ?? before.mail, 'none'),
  mailTestTo: listIn(changes.mailTestTo ?? before.mailTestTo, 'none'),
  mailDomains: listIn(changes.mailDomains ?? before.mailDomains, 'none'),
  tokensNotBefore:
    changes.tokensNotBefore === 'none' ? '' : (changes.tokensNotBefore ?? before.tokensNotBefore),
});

const listIn = (values: readonly string[], empty: string): readonly string[] =>
  values.length === 1 && values[0] === empty ? [] : values;
