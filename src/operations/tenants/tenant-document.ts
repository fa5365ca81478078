import { isoOrNull } from '../../foundation/instant.js';
import type { Core } from '../../stores/core.js';
import { CALL_WINDOWS, COUNTED_CALLS, publicUserOf } from '../../domain/tenant/open-rules.js';
import { ownMember } from '../../domain/own-member.js';
import { programsOf } from '../../domain/tenant/program-document.js';
import { shownFormats } from '../../domain/tenant/unit-settings.js';
import type { OpenTenant } from '../../domain/tenant/tenant.decider.js';
import type { Printer } from '../registry/printing.js';
import { clockDocument } from './clock.operations.js';

/** A tenant as operators see it: its settings, never a secret. */
export function tenantDocument(tenant: OpenTenant) {
  const { openRules, suspended } = tenant;
  return {
    alias: tenant.alias,
    createdAt: isoOrNull(tenant.createdAt),
    programType: tenant.programType,
    openEndpoints: tenant.openEndpoints,
    tokensMustExpire: openRules.tokensMustExpire,
    allowedOrigins: openRules.allowedOrigins,
    rateLimits: Object.fromEntries(
      COUNTED_CALLS.map((call) => [call, openRules.rateLimits[call] ?? CALL_WINDOWS[call].calls]),
    ),
    publicUser: publicUserOf(openRules),
    defaultProgram: tenant.defaultProgramId,
    programs: programsOf(tenant).map(({ id, version, isDefault }) => ({
      id,
      version,
      default: isDefault,
      document: ownMember(tenant.programs, id)?.document,
    })),
    suspended: suspended && { since: isoOrNull(suspended.since), reason: suspended.reason },
    tokensNotBefore: isoOrNull(tenant.tokensNotBefore),
    keys: tenant.keys.map(({ keyId, mode, validUntil }) => ({
      keyId,
      mode,
      validUntil: isoOrNull(validUntil),
    })),
    signingSecrets: tenant.signingSecrets.map(({ secretId, mode, validUntil }) => ({
      secretId,
      mode,
      validUntil: isoOrNull(validUntil),
    })),
  };
}

export type TenantSettingsDocument = Awaited<ReturnType<typeof settingsDocument>>;

/** With the settings of units and of mails, whose addresses are read with the service's key. */
export const settingsDocument = async (
  { mailTestAddresses }: Pick<Core, 'mailTestAddresses'>,
  tenant: OpenTenant,
) => ({
  ...tenantDocument(tenant),
  mail: {
    types: Object.keys(tenant.mails.types),
    testTo: await mailTestAddresses.of(tenant),
    domains: tenant.mails.domains,
  },
  units: shownFormats(tenant.units.formats),
  grantLimits: Object.fromEntries(
    tenant.units.grantLimits.map(({ unit, amount }) => [unit, amount]),
  ),
  ...clockDocument(tenant),
});

/** For people: a line for each setting. */
export const printTenant = (facts: TenantSettingsDocument, printer: Printer): void =>
  printer.table(
    [
      ['setting', ([name]) => name],
      ['value', ([, value]) => value],
    ],
    rowsOf(facts),
  );

const rowsOf = (facts: TenantSettingsDocument): readonly (readonly [string, string])[] => [
  ['alias', facts.alias],
  ['created', facts.createdAt ?? ''],
  ...(facts.suspended === null
    ? []
    : [['suspended', `since ${facts.suspended.since}: ${facts.suspended.reason ?? ''}`] as const]),
  ['program type', facts.programType],
  ['open endpoints', facts.openEndpoints ? 'on' : 'off'],
  ['user tokens must expire', facts.tokensMustExpire ? 'yes' : 'no'],
  ['user tokens not before', facts.tokensNotBefore ?? 'of any age'],
  ['allowed origins', facts.allowedOrigins.join(', ') || 'all'],
  ...Object.entries(facts.rateLimits).map(
    ([call, calls]) => ['rate limit', `${call}: ${calls}`] as const,
  ),
  ['public user', facts.publicUser],
  ['mails', facts.mail.types.join(', ') || 'none'],
  ['test mode sends to', facts.mail.testTo.join(', ') || 'none'],
  ['domains of senders', facts.mail.domains.join(', ') || 'none'],
  ...facts.units.map(
    ({ unit, currency, digits }) =>
      ['unit', `${unit}: ${currency ?? OF_CREDIT}, ${digits} digits`] as const,
  ),
  ...Object.entries(facts.grantLimits).map(
    ([unit, amount]) => ['grant limit', `${unit}: ${amount}`] as const,
  ),
  ['test clock', facts.testClock ?? 'none'],
  ...facts.programs.map(
    ({ id, version, default: isDefault }) =>
      ['program', `${id}, version ${version}${isDefault ? ', default' : ''}`] as const,
  ),
  ...facts.keys.map(({ keyId, validUntil }) => ['API key', withEnd(keyId, validUntil)] as const),
  ...facts.signingSecrets.map(
    ({ secretId, validUntil }) => ['signing secret', withEnd(secretId, validUntil)] as const,
  ),
];

/** In place of a currency. */
export const OF_CREDIT = 'the currency of the credit';

const withEnd = (id: string, validUntil: string | null): string =>
  validUntil === null ? id : `${id}, valid until ${validUntil}`;
